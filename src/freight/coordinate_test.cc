#include "airfreight/coordinate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "airfreight/store.h"
namespace airfreight {
namespace {

Coordinate Plain() { return {"d", "r", "t", Instance::Map(-1), "k", std::nullopt}; }

Coordinate ByHand(std::string name) {
  Coordinate coordinate = Plain();
  coordinate.key.clear();
  coordinate.put_name = std::move(name);
  return coordinate;
}

std::string KeyOf(const Coordinate& coordinate, std::string_view extension = "json") {
  Result<std::string> key = coordinate.ObjectKey(extension);
  EXPECT_TRUE(key) << key.error().ToString();
  return key.value_or("");
}

std::string Repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

// All texts over the alphabet, of up to `length` characters.
std::vector<std::string> AllTexts(size_t length) {
  const std::vector<std::string> alphabet = {"a", ".", "/", "%", "_", ":", "-", "é"};
  std::vector<std::string> texts = {""};
  for (size_t begin = 0, i = 0; i < length; ++i) {
    const size_t end = texts.size();
    for (size_t t = begin; t < end; ++t) {
      for (const std::string& c : alphabet) texts.push_back(texts[t] + c);
    }
    begin = end;
  }
  return texts;
}

using KeyFunction = std::function<std::string(const Coordinate&)>;

/// Two coordinates to which `key_of` gives one key, described; nothing when all are told apart.
class DistinctnessCheck {
 public:
  explicit DistinctnessCheck(KeyFunction key_of) : key_of_(std::move(key_of)) {}

  void Add(const Coordinate& coordinate) {
    ++count_;
    const auto [entry, fresh] = seen_.try_emplace(key_of_(coordinate), coordinate);
    if (!fresh && entry->second != coordinate && !collision_) {
      collision_ = fmt::format("{} and {} share {}", entry->second.ToString(),
                               coordinate.ToString(), entry->first);
    }
  }
  const std::optional<std::string>& collision() const { return collision_; }
  size_t count() const { return count_; }

 private:
  KeyFunction key_of_;
  std::unordered_map<std::string, Coordinate> seen_;
  std::optional<std::string> collision_;
  size_t count_ = 0;
};

/// Each field through all 585 texts of up to three characters while the others stand still, all
/// pairs of neighbours through texts of up to two, and all fields at once through up to one.
std::optional<std::string> FindCollision(const KeyFunction& key_of) {
  using Setter = void (*)(Coordinate&, const std::string&);
  const std::vector<Setter> setters = {
      [](Coordinate& c, const std::string& text) { c.dag = text; },
      [](Coordinate& c, const std::string& text) { c.run = text; },
      [](Coordinate& c, const std::string& text) { c.task = text; },
      [](Coordinate& c, const std::string& text) { c.instance = Instance::Ti(text); },
      [](Coordinate& c, const std::string& text) { c.instance = Instance::Write(text); },
      [](Coordinate& c, const std::string& text) { c.key = text; },
      [](Coordinate& c, const std::string& text) {
        c.key.clear();
        c.put_name = text;
      },
  };
  DistinctnessCheck check(key_of);
  const std::vector<std::string> up_to_three = AllTexts(3);
  const std::vector<std::string> up_to_two = AllTexts(2);
  const std::vector<std::string> up_to_one = AllTexts(1);
  EXPECT_EQ(up_to_three.size(), 585U);
  for (Setter set : setters) {
    for (const std::string& text : up_to_three) {
      Coordinate coordinate = Plain();
      set(coordinate, text);
      check.Add(coordinate);
    }
  }
  for (size_t i = 0; i + 1 < setters.size() && !check.collision(); ++i) {
    for (const std::string& left : up_to_two) {
      for (const std::string& right : up_to_two) {
        Coordinate coordinate = Plain();
        setters[i](coordinate, left);
        setters[i + 1](coordinate, right);
        check.Add(coordinate);
      }
    }
  }
  if (check.collision()) return check.collision();
  std::vector<Instance> instances = {Instance::Map(-1), Instance::Map(0), Instance::Map(10)};
  for (const std::string& id : up_to_one) {
    instances.push_back(Instance::Ti(id));
    instances.push_back(Instance::Write(id));
  }
  for (const std::string& dag : up_to_one) {
    for (const std::string& run : up_to_one) {
      for (const std::string& task : up_to_one) {
        for (const Instance& instance : instances) {
          for (const std::string& leaf : up_to_one) {
            check.Add({dag, run, task, instance, leaf, std::nullopt});
            check.Add({dag, run, task, instance, "", leaf});
          }
        }
      }
    }
  }
  EXPECT_GT(check.count(), 300'000U);
  return check.collision();
}

Coordinate WithReplaced(Coordinate coordinate, char from, char to) {
  for (std::string* field : {&coordinate.dag, &coordinate.run, &coordinate.task,
                             &coordinate.instance.id, &coordinate.key}) {
    std::replace(field->begin(), field->end(), from, to);
  }
  if (coordinate.put_name) {
    std::replace(coordinate.put_name->begin(), coordinate.put_name->end(), from, to);
  }
  return coordinate;
}

std::string JoinedUnencoded(const Coordinate& c) {
  return fmt::format("{}/{}/{}/map_{}{}/{}{}.json", c.dag, c.run, c.task, c.instance.map_index,
                     c.instance.id, c.put_name ? "_put/" : "", c.put_name.value_or(c.key));
}

TEST(CoordinateTest, AllSmallHostileCoordinatesHaveDistinctKeys) {
  const auto collision =
      FindCollision([](const Coordinate& c) { return c.ObjectKey("json").value(); });
  EXPECT_FALSE(collision) << *collision;
}

// What proves the claim for longer texts too: the parts are one-to-one and hold no separator, so
// that a key splits back into the parts that it was joined from.
TEST(CoordinateTest, PartsAreOneToOneAndHoldNoSeparator) {
  std::unordered_set<std::string> seen;
  for (const std::string& text : AllTexts(4)) {
    const std::string part = EncodePart(text);
    EXPECT_TRUE(seen.insert(part).second) << text;
    EXPECT_EQ(part.find('/'), std::string::npos) << text;
    EXPECT_NE(part, "") << text;
    EXPECT_NE(part, ".") << text;
    EXPECT_NE(part, "..") << text;
    Result<std::string> back = DecodePart(part);
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(*back, text);
  }
}

TEST(CoordinateTest, DistinctnessCheckCatchesColonReplacedByUnderscore) {
  EXPECT_TRUE(FindCollision(
      [](const Coordinate& c) { return WithReplaced(c, ':', '_').ObjectKey("json").value(); }));
}

TEST(CoordinateTest, DistinctnessCheckCatchesSlashReplacedByDash) {
  EXPECT_TRUE(FindCollision(
      [](const Coordinate& c) { return WithReplaced(c, '/', '-').ObjectKey("json").value(); }));
}

TEST(CoordinateTest, DistinctnessCheckCatchesFieldsJoinedUnencoded) {
  EXPECT_TRUE(FindCollision(JoinedUnencoded));
}

TEST(CoordinateTest, KeyReadsAsInTheDocumentation) {
  const Coordinate coordinate{"sales",        "manual__2026-01-01T00:00:00+00:00",
                              "extract",      Instance::Map(-1),
                              "return_value", std::nullopt};
  EXPECT_EQ(KeyOf(coordinate, "parquet"),
            "sales/manual__2026-01-01T00%3A00%3A00%2B00%3A00/extract/map_-1/return_value.parquet");
}

TEST(CoordinateTest, EachInstanceKindHasItsOwnForm) {
  Coordinate coordinate = Plain();
  coordinate.instance = Instance::Map(7);
  EXPECT_EQ(KeyOf(coordinate), "d/r/t/map_7/k.json");
  coordinate.instance = Instance::Ti("01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50");
  EXPECT_EQ(KeyOf(coordinate), "d/r/t/ti-01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50/k.json");
  coordinate.instance = Instance::Write("01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50");
  EXPECT_EQ(KeyOf(coordinate), "d/r/t/write-01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50/k.json");
}

TEST(CoordinateTest, ObjectPutByHandLiesUnderAFolderThatNoKeyCanReach) {
  EXPECT_EQ(KeyOf(ByHand("model")), "d/r/t/map_-1/_put/model.json");
  Coordinate imitation = Plain();
  imitation.key = "_put/model";
  EXPECT_EQ(KeyOf(imitation), "d/r/t/map_-1/_put%2Fmodel.json");
  imitation.key = "_put";
  EXPECT_EQ(KeyOf(imitation), "d/r/t/map_-1/_put.json");
}

// apache/airflow common-io joins parts as they are: run_id "../../evil" leaves the prefix.
TEST(CoordinateTest, DotPartsAndSlashesCannotClimb) {
  EXPECT_EQ(EncodePart("."), "%2E");
  EXPECT_EQ(EncodePart(".."), "%2E%2E");
  EXPECT_EQ(EncodePart("..."), "...");
  EXPECT_EQ(EncodePart("../../evil"), "..%2F..%2Fevil");
  EXPECT_EQ(EncodePart("a/b"), "a%2Fb");
}

TEST(CoordinateTest, EncodingIsPerByteInUpperCase) {
  EXPECT_EQ(EncodePart("a%2Fb"), "a%252Fb");
  EXPECT_EQ(EncodePart("a:b+c d~e"), "a%3Ab%2Bc%20d%7Ee");
  EXPECT_EQ(EncodePart("é漢🚢"), "%C3%A9%E6%BC%A2%F0%9F%9A%A2");
  EXPECT_EQ(EncodePart(""), "~");
  EXPECT_EQ(EncodePart("AZaz09._-"), "AZaz09._-");
}

TEST(CoordinateTest, PartOfExactlyTheLimitIsKeptAndOneMoreIsShortened) {
  const std::string longest(kMaxPartBytes, 'x');
  EXPECT_EQ(EncodePart(longest), longest);
  const std::string encoded = EncodePart(longest + "x");
  EXPECT_EQ(encoded.size(), 160U + 1 + 32);
  EXPECT_EQ(encoded.substr(0, 161), std::string(160, 'x') + "~");
}

TEST(CoordinateTest, ShortenedPartsThatDifferOnlyAtTheEndStayApart) {
  const std::string head(2000, 'x');
  EXPECT_NE(EncodePart(head + "a"), EncodePart(head + "b"));
}

TEST(CoordinateTest, ShortenedHeadEndsBetweenCharacters) {
  // 12 bytes a character: 13 of them are 156, and a 14th would cut it.
  const std::string ships = EncodePart(Repeat("🚢", 100));
  EXPECT_EQ(ships.find('~'), 156U);
  EXPECT_EQ(ships.substr(0, 156), Repeat("%F0%9F%9A%A2", 13));
  const std::string mixed = EncodePart("a" + Repeat("é", 200));
  EXPECT_EQ(mixed.find('~'), 1U + 26 * 6);
}

TEST(CoordinateTest, HashOfALongPartIsShaOfItsRawBytes) {
  // printf 'x%.0s' {1..201} | sha256sum
  EXPECT_EQ(EncodePart(std::string(201, 'x')).substr(161), "84a0678c90937f5dcf9994d5866668da");
}

TEST(CoordinateTest, UnhashedKeysDecodeBack) {
  const std::vector<std::string> hostile = {"",
                                            ".",
                                            "..",
                                            "/",
                                            "//",
                                            "../..",
                                            "a/../b",
                                            "%2F",
                                            "%",
                                            "%%",
                                            ":",
                                            "+",
                                            " ",
                                            "~",
                                            "~~",
                                            "\\",
                                            "\n",
                                            "é",
                                            "漢",
                                            "🚢",
                                            "a",
                                            ".a",
                                            "a.",
                                            "-1",
                                            "map_-1",
                                            "_put",
                                            "CON",
                                            "a.parquet",
                                            "scheduled__2026-01-01T00:00:00+00:00",
                                            std::string(66, ' '),
                                            std::string(200, 'q')};
  for (const std::string& text : hostile) {
    for (const Coordinate& coordinate : {
             Coordinate{text, "r", "t", Instance::Map(-1), "k", std::nullopt},
             Coordinate{"d", text, "t", Instance::Map(0), "k", std::nullopt},
             Coordinate{"d", "r", text, Instance::Map(INT64_MAX), "k", std::nullopt},
             Coordinate{"d", "r", "t", Instance::Map(-1), text, std::nullopt},
             Coordinate{"d", "r", "t", Instance::Ti(text.substr(0, 12)), "k", std::nullopt},
             Coordinate{"d", "r", "t", Instance::Write(text.substr(0, 12)), "k", std::nullopt},
             Coordinate{"d", "r", "t", Instance::Map(-1), "", text},
             Coordinate{text, text, text, Instance::Ti("i"), text, std::nullopt},
         }) {
      if (!coordinate.Validate()) continue;  // The cut of an id may fall into a character.
      std::string extension;
      Result<Coordinate> back = Coordinate::FromObjectKey(KeyOf(coordinate, "npy"), &extension);
      ASSERT_TRUE(back) << coordinate.ToString() << ": " << back.error().ToString();
      EXPECT_EQ(*back, coordinate) << coordinate.ToString();
      EXPECT_EQ(extension, "npy");
    }
  }
}

TEST(CoordinateTest, KeyWithAShortenedPartIsOursButNotReadable) {
  for (const Coordinate& coordinate :
       {Coordinate{"d", std::string(2000, 'r'), "t", Instance::Map(-1), "k", std::nullopt},
        Coordinate{"d", Repeat("%", 250), "t", Instance::Map(-1), "k", std::nullopt},
        Coordinate{"d", "r", "t", Instance::Ti(std::string(41, 'i')), "k", std::nullopt},
        Coordinate{"d", "r", "t", Instance::Map(-1), "", Repeat("é", 512)}}) {
    Result<Coordinate> back = Coordinate::FromObjectKey(KeyOf(coordinate));
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().code, ErrorCode::kNotFound) << coordinate.ToString();
  }
}

TEST(CoordinateTest, OnlyTheCanonicalSpellingDecodes) {
  const std::string hash(32, 'a');
  const std::vector<std::string> foreign = {
      "",
      "/",
      "k.json",
      "d/r/t/map_-1",
      "d/r/t/map_-1/k",
      "d/r/t/map_-1/.json",
      "d/r/t/map_-1/k.",
      "d/r/t/map_-1/k.JSON",
      "d/r/t/map_-1/k.jsonjsonjsonjsonj",
      "/d/r/t/map_-1/k.json",
      "d/r/t/map_-1/k.json/",
      "d//t/map_-1/k.json",
      "./r/t/map_-1/k.json",
      "../r/t/map_-1/k.json",
      "d/%2e/t/map_-1/k.json",
      "d/%41/t/map_-1/k.json",
      "d/%3a/t/map_-1/k.json",
      "d/:/t/map_-1/k.json",
      "d/%/t/map_-1/k.json",
      "d/%3/t/map_-1/k.json",
      "d/%00/t/map_-1/k.json",
      "d/%FF/t/map_-1/k.json",
      "d/%ED%A0%80/t/map_-1/k.json",
      "d/r/t/map_-01/k.json",
      "d/r/t/map_-0/k.json",
      "d/r/t/map_+1/k.json",
      "d/r/t/map_-2/k.json",
      "d/r/t/map_/k.json",
      "d/r/t/map_9223372036854775808/k.json",
      "d/r/t/ti-/k.json",
      "d/r/t/map-1/k.json",
      "d/r/t/map_-1/put/k.json",
      "d/r/t/map_-1/_put/a/k.json",
      "d/r/~~/map_-1/k.json",
      "d/r/a~/map_-1/k.json",
      "d/r/a~" + hash + "/map_-1/k.json",                              // Too short a head.
      "d/r/" + std::string(161, 'a') + "~" + hash + "/map_-1/k.json",  // Too long a head.
      "d/r/" + std::string(160, 'a') + "~" + hash + "a/map_-1/k.json",
      "d/r/" + std::string(160, 'a') + "~" + std::string(32, 'A') + "/map_-1/k.json",
      "d/" + std::string(201, 'a') + "/t/map_-1/k.json",
      "d/" + std::string(2000, 'a') + "~" + hash + "/t/map_-1/:.json",
  };
  for (const std::string& key : foreign) {
    Result<Coordinate> back = Coordinate::FromObjectKey(key);
    ASSERT_FALSE(back) << key;
    EXPECT_EQ(back.error().code, ErrorCode::kInvalid) << key;
  }
}

TEST(CoordinateTest, LongestKeyFitsEveryStoreUnderTheLongestPrefix) {
  const std::string worst = Repeat("🚢", 2000);
  for (size_t length : {16U, 17U, 66U, 67U, 200U, 201U, 250U, 512U, 2000U}) {
    for (const std::string& text :
         {worst.substr(0, length / 4 * 4), std::string(length, 'a'), std::string(length, ':')}) {
      for (const Instance& instance :
           {Instance::Map(INT64_MAX), Instance::Ti(text), Instance::Write(text)}) {
        const Coordinate coordinate{text, text, text, instance, "", text};
        const std::string key = KeyOf(coordinate, "abcdefghijklmnop");
        EXPECT_LE(kMaxPrefixBytes + 1 + key.size(), kMaxKeyBytes);
        for (size_t begin = 0; begin < key.size();) {
          const size_t end = std::min(key.find('/', begin), key.size());
          EXPECT_LE(end - begin, 217U) << "a file name of 255 bytes needs room for a suffix";
          begin = end + 1;
        }
      }
    }
  }
}

TEST(CoordinateTest, LongestKeyIsThatOfTheSpecification) {
  const std::string full(200, 'a');
  const Coordinate coordinate{full, full, full, Instance::Write(std::string(40, 'a')), "", full};
  EXPECT_EQ(KeyOf(coordinate, "abcdefghijklmnop").size(), 872U);
  EXPECT_LE(kMaxPrefixBytes + 1 + 872, kMaxKeyBytes);
}

TEST(CoordinateTest, WhatADatabaseCannotKeepIsRefusedByName) {
  const auto message = [](const Coordinate& coordinate) {
    Result<std::string> key = coordinate.ObjectKey("json");
    EXPECT_FALSE(key);
    if (key) return std::string();
    EXPECT_EQ(key.error().code, ErrorCode::kInvalid);
    return key.error().message;
  };
  Coordinate coordinate = Plain();
  coordinate.run = std::string("a\0b", 3);
  EXPECT_NE(message(coordinate).find("the run id holds a NUL"), std::string::npos);
  coordinate = Plain();
  coordinate.task = "\xED\xA0\x80";  // U+D800 as Python's "surrogatepass" writes it.
  EXPECT_NE(message(coordinate).find("the task id is not Unicode"), std::string::npos);
  coordinate = Plain();
  coordinate.key = "\xFF";
  EXPECT_NE(message(coordinate).find("the key is not Unicode"), std::string::npos);
}

TEST(CoordinateTest, ContradictoryCoordinateIsRefused) {
  Coordinate both = ByHand("name");
  both.key = "k";
  EXPECT_FALSE(both.Validate());
  Coordinate below = Plain();
  below.instance = Instance::Map(-2);
  EXPECT_FALSE(below.Validate());
  Coordinate mixed = Plain();
  mixed.instance.id = "x";
  EXPECT_FALSE(mixed.Validate());
  mixed.instance = Instance::Ti("x");
  mixed.instance.map_index = 3;
  EXPECT_FALSE(mixed.Validate());
}

TEST(CoordinateTest, ExtensionIsShortAndPlain) {
  for (const char* wrong : {"", "JSON", "tar.gz", "a/b", "..", "abcdefghijklmnopq", "é", " "}) {
    Result<std::string> key = Plain().ObjectKey(wrong);
    ASSERT_FALSE(key) << wrong;
    EXPECT_EQ(key.error().code, ErrorCode::kInvalid);
  }
}

TEST(CoordinateTest, HashTellsFieldsAndKindsApart) {
  std::unordered_set<std::string> seen;
  std::vector<Coordinate> coordinates = {
      Plain(), ByHand(""), ByHand("k"), {"dr", "", "t", Instance::Map(-1), "k", std::nullopt}};
  coordinates.push_back({"d", "rt", "", Instance::Map(-1), "k", std::nullopt});
  coordinates.push_back({"", "dr", "t", Instance::Map(-1), "k", std::nullopt});
  coordinates.push_back({"d", "r", "t", Instance::Map(0), "k", std::nullopt});
  coordinates.push_back({"d", "r", "t", Instance::Ti("0"), "k", std::nullopt});
  coordinates.push_back({"d", "r", "t", Instance::Write("0"), "k", std::nullopt});
  coordinates.push_back({"d", "r", "t", Instance::Map(-1), "", std::nullopt});
  for (const Coordinate& coordinate : coordinates) {
    const std::string hash = coordinate.Hash();
    EXPECT_EQ(hash.size(), 32U);
    EXPECT_TRUE(seen.insert(hash).second) << coordinate.ToString();
  }
}

TEST(CoordinateTest, MessageNamesEveryFieldOnOneLine) {
  EXPECT_EQ(Plain().ToString(), "dag 'd', run 'r', task 't', map index -1, key 'k'");
  Coordinate coordinate = ByHand("m");
  coordinate.dag = "a\nb";
  coordinate.instance = Instance::Ti("i");
  EXPECT_EQ(coordinate.ToString(), "dag 'a\\x0ab', run 'r', task 't', task instance 'i', put 'm'");
}

}  // namespace
}  // namespace airfreight
