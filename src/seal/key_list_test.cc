#include "seal/key_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr KeyListWords kWords{"a setting: ", "<id>:<x>", "b:<x>,a:<x>"};

struct Key {
  std::string id;
};

Result<std::vector<Key>> Parse(std::string_view text) {
  return ParseKeyList<Key>(
      kWords, text,
      [](std::string_view entry, size_t number) -> Result<Key> {
        if (!IsKeyId(entry)) return WrongKey(kWords, number, {}, "is wrong");
        return Key{std::string(entry)};
      },
      [](const Key& one, const Key& other) { return one.id == other.id; });
}

TEST(KeyListTest, CommasAndWhiteSpaceSeparateHoweverManyThereAre) {
  std::string_view list = ", a:1,b:2 \t\n\r\f\v,c:3,";
  std::vector<std::string_view> taken;
  for (std::string_view key = TakeKey(&list); !key.empty(); key = TakeKey(&list)) {
    taken.push_back(key);
  }
  EXPECT_THAT(taken, ElementsAre("a:1", "b:2", "c:3"));
  std::string_view none = " ,\n";
  EXPECT_EQ(TakeKey(&none), "");
  EXPECT_EQ(TakeKey(&none), "");
}

TEST(KeyListTest, AnIdIsWhatBothFormatsHaveRoomFor) {
  EXPECT_TRUE(IsKeyId("aZ09._-"));
  EXPECT_TRUE(IsKeyId(std::string(64, 'k')));
  EXPECT_FALSE(IsKeyId(std::string(65, 'k')));
  for (const char* const wrong : {"", "a b", "a:b", "a@b", "a,b", "k\xc3\xa9"}) {
    EXPECT_FALSE(IsKeyId(wrong)) << wrong;
  }
}

TEST(KeyListTest, BothAlphabetsOfBase64AreReadPaddedOrNot) {
  for (const char* const text : {"+/+/", "-_-_", "+_-/"}) {
    ASSERT_TRUE(DecodeKeyBytes(text)) << text;
    EXPECT_EQ(DecodeKeyBytes(text)->Reveal(), "\xfb\xff\xbf") << text;
  }
  for (const char* const text : {"_w==", "/w==", "_w=", "_w", "/w"}) {
    ASSERT_TRUE(DecodeKeyBytes(text)) << text;
    EXPECT_EQ(DecodeKeyBytes(text)->Reveal(), "\xff") << text;
  }
  EXPECT_TRUE(DecodeKeyBytes("")->empty());
  for (const char* const wrong : {"_", "_w===", "/x", "a b=", "%%%%"}) {
    EXPECT_FALSE(DecodeKeyBytes(wrong)) << wrong;
  }
}

TEST(KeyListTest, AMessageHasNoIdThatIsLongEnoughToBeASecret) {
  EXPECT_EQ(WrongKey(kWords, 2, "k", "is wrong").value().message,
            "a setting: key 2, \"k\", is wrong; right is <id>:<x>");
  const std::string longest(31, 'k');
  EXPECT_THAT(WrongKey(kWords, 2, longest, "is wrong").value().message, HasSubstr(longest));
  EXPECT_THAT(WrongKey(kWords, 2, longest + "k", "is wrong").value().message,
              Not(HasSubstr(longest)));
}

TEST(KeyListTest, AListEndsAtTheFirstEntryThatIsWrong) {
  const auto keys = Parse("b, a");
  ASSERT_TRUE(IsOk(keys));
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys->front().id, "b");
  EXPECT_TRUE(Parse("")->empty());

  EXPECT_EQ(Parse("a,?,b,b").error().message, "a setting: key 2 is wrong; right is <id>:<x>");
  EXPECT_EQ(Parse("a,b,b,?").error().message,
            "key 3 has the id \"b\" of another; give each key an id of its own, as in b:<x>,a:<x>");
  std::string many;
  for (size_t i = 0; i < kMaxListedKeys; ++i) many += "k" + std::to_string(i) + " ";
  EXPECT_TRUE(IsOk(Parse(many)));
  EXPECT_EQ(Parse(many + "more").error().message, "there are more than 256 keys");
}

}  // namespace
}  // namespace airfreight
