// What every ObjectStore does, whatever lies behind it. Reports are numbered as in the thread list
// that these cases come from: G1 is the family of clients that signed another path than they sent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "airfreight/coordinate.h"
#include "conformance/matchers.h"
#include "conformance/stores.h"

namespace airfreight::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, testing::ValuesIn(AllStores()), NameOf);

Result<ObjectInfo> Write(ObjectStore& store, std::string_view key, std::string_view text,
                         Condition condition = {}, Metadata metadata = {}) {
  PutOptions options;
  options.condition = std::move(condition);
  options.metadata = std::move(metadata);
  return store.Put(key, Body(text), options, {});
}

// The object's text; the error's code in brackets when it cannot be read.
std::string Read(ObjectStore& store, std::string_view key, const GetOptions& options = {}) {
  const auto result = store.Get(key, options, {});
  if (!result) return "<" + std::string(ErrorCodeName(result.error().code)) + ">";
  return std::string(AsText(result->body.view()));
}

std::vector<std::string> ListAll(ObjectStore& store, std::string_view prefix, int limit) {
  std::vector<std::string> keys;
  std::string token;
  do {
    const auto page = store.List(prefix, token, limit, {});
    EXPECT_TRUE(IsOk(page));
    if (!page) break;
    EXPECT_LE(page->objects.size(), static_cast<size_t>(limit));
    for (const ObjectInfo& object : page->objects) keys.push_back(object.key);
    token = page->next_token;
  } while (!token.empty());
  return keys;
}

GetOptions RangeOf(uint64_t offset, std::optional<uint64_t> length) {
  GetOptions options;
  options.offset = offset;
  options.length = length;
  return options;
}

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 131 + i / 251) & 0xff);
  return text;
}

// Where nothing is, on stores that have conditions; on the others wherever.
Condition AbsentOn(const ObjectStore& store) {
  return store.capabilities().conditional_put ? Condition::Absent() : Condition::None();
}

TEST_P(StoreTest, WhatIsPutIsGot) {
  const auto put = Write(store(), "dag/run/task/map_-1/key.bin", "value");
  ASSERT_TRUE(IsOk(put));
  EXPECT_FALSE(put->version.empty());
  const auto got = store().Get("dag/run/task/map_-1/key.bin", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "value");
  EXPECT_EQ(got->info.size, 5u);
  EXPECT_EQ(got->info.version, put->version);
  EXPECT_EQ(got->info.key, "dag/run/task/map_-1/key.bin");
}

TEST_P(StoreTest, AnotherStoreObjectOfTheSamePlaceSeesTheObject) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "value")));
  const auto other = Reopen();
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(Read(*other, "a/b"), "value");
}

TEST_P(StoreTest, PrefixesThatBeginAlikeDoNotMix) {
  const auto neighbour = OpenNeighbour();
  ASSERT_NE(neighbour, nullptr);
  ASSERT_TRUE(IsOk(Write(*neighbour, "a", "theirs")));
  EXPECT_EQ(Read(store(), "a"), "<NotFound>");
  EXPECT_THAT(ListAll(store(), "", 100), IsEmpty());
  EXPECT_TRUE(IsOk(neighbour->Remove("a", Condition::None(), {})));
}

TEST_P(StoreTest, EmptyObjectIsAnObject) {
  ASSERT_TRUE(IsOk(Write(store(), "a/empty", "", {}, {{"af-write", "w"}})));
  const auto got = store().Get("a/empty", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(got->body.size(), 0u);
  EXPECT_EQ(got->info.size, 0u);
  EXPECT_EQ(got->info.metadata.at("af-write"), "w");
}

TEST_P(StoreTest, BodyOfManySegmentsArrivesInOrder) {
  // More segments than one writev takes, and sizes around its limits.
  const std::string text = Pattern(9'000'000);
  Body body;
  size_t at = 0;
  for (size_t step = 1; at < text.size(); step = step * 5 % 60'013) {
    const size_t length = std::min(step, text.size() - at);
    body.Append(AsBytes(std::string_view(text).substr(at, length)));
    at += length;
  }
  ASSERT_GT(body.segments().size(), 300u);
  ASSERT_TRUE(IsOk(store().Put("a/many", body, {}, {})));
  EXPECT_TRUE(Read(store(), "a/many") == text);
}

TEST_P(StoreTest, WrongHintOfTheSizeChangesNothing) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "0123456789")));
  for (const uint64_t hint : {uint64_t{0}, uint64_t{3}, uint64_t{10}, uint64_t{11}, UINT64_MAX}) {
    GetOptions options;
    options.expected_size = hint;
    EXPECT_EQ(Read(store(), "a/b", options), "0123456789") << hint;
  }
}

TEST_P(StoreTest, RangesAreOfTheBytesAskedFor) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "0123456789")));
  EXPECT_EQ(Read(store(), "a/b", RangeOf(0, 3)), "012");
  EXPECT_EQ(Read(store(), "a/b", RangeOf(4, 2)), "45");
  EXPECT_EQ(Read(store(), "a/b", RangeOf(7, std::nullopt)), "789");
  EXPECT_EQ(Read(store(), "a/b", RangeOf(7, 3)), "789");
  EXPECT_EQ(Read(store(), "a/b", RangeOf(9, 1)), "9");
}

TEST_P(StoreTest, RangeTellsTheSizeOfTheWholeObject) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "0123456789")));
  const auto got = store().Get("a/b", RangeOf(4, 2), {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(got->info.size, 10u);
  EXPECT_EQ(got->body.size(), 2u);
}

TEST_P(StoreTest, RangeThatEndsBeyondTheObjectIsCutAndOneThatBeginsThereIsRefused) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "0123456789")));
  EXPECT_EQ(Read(store(), "a/b", RangeOf(8, 100)), "89");
  EXPECT_EQ(Read(store(), "a/b", RangeOf(10, std::nullopt)), "<Invalid>");
  EXPECT_EQ(Read(store(), "a/b", RangeOf(11, 1)), "<Invalid>");
}

TEST_P(StoreTest, MetadataComesBackFromGetAndHead) {
  // Every printable character, `%` and quotes among them, and two blanks in a row.
  std::string printable;
  for (char c = '!'; c < 0x7f; ++c) printable += c;
  const Metadata metadata = {
      {"af-write", "0123456789abcdef"}, {"af-owner", "prod eu"}, {"x-9", printable}};
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "value", {}, metadata)));
  const auto head = store().Head("a/b", {});
  ASSERT_TRUE(IsOk(head));
  EXPECT_EQ(head->metadata, metadata);
  EXPECT_EQ(head->size, 5u);
  const auto got = store().Get("a/b", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(got->info.metadata, metadata);
}

// Ten entries of so many bytes together, names included.
Metadata MetadataOf(size_t bytes) {
  Metadata metadata;
  for (size_t i = 0; i < 10; ++i) {
    const std::string name = "entry-" + std::to_string(i);
    metadata[name] = std::string(bytes / 10 - name.size(), static_cast<char>('a' + i));
  }
  return metadata;
}

TEST_P(StoreTest, TwoThousandBytesOfMetadataFit) {
  Metadata metadata = MetadataOf(2000);
  if (Lacks("2000-bytes-of-metadata")) {
    // Refused before anything is written, and told from a fault that may be tried again.
    EXPECT_TRUE(IsError(Write(store(), "a/b", "value", {}, metadata), ErrorCode::kInvalid));
    EXPECT_EQ(Read(store(), "a/b"), "<NotFound>");
    metadata = MetadataOf(1900);
  }
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "value", {}, metadata)));
  const auto head = store().Head("a/b", {});
  ASSERT_TRUE(IsOk(head));
  EXPECT_EQ(head->metadata, metadata);
}

TEST_P(StoreTest, MetadataThatCouldNotComeBackIsRefused) {
  EXPECT_TRUE(IsError(Write(store(), "a/b", "v", {}, {{"Name", "x"}}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(Write(store(), "a/b", "v", {}, {{"n", "x "}}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(Write(store(), "a/b", "v", {}, {{"n", "a\nb"}}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(Write(store(), "a/b", "v", {}, {{"n", "é"}}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(Write(store(), "a/b", "v", {}, {{"n", std::string(2000, 'x')}}),
                      ErrorCode::kInvalid));
  EXPECT_EQ(Read(store(), "a/b"), "<NotFound>");
}

TEST_P(StoreTest, EncryptionKeyThatWouldNotBeUsedIsRefused) {
  if (store().capabilities().encryption_key) return;  // tests/faults/cases/ has the headers.
  PutOptions options;
  options.encryption_key = "key-1";
  EXPECT_TRUE(IsError(store().Put("k", Body("value"), options, {}), ErrorCode::kUnsupported));
  EXPECT_EQ(Read(store(), "k"), "<NotFound>");
}

TEST_P(StoreTest, OverwrittenObjectIsTheNewOneWithItsOwnMetadata) {
  const auto first = Write(store(), "a/b", "first", {}, {{"n", "1"}, {"old", "x"}});
  ASSERT_TRUE(IsOk(first));
  const auto second = Write(store(), "a/b", "2nd", {}, {{"n", "2"}});
  ASSERT_TRUE(IsOk(second));
  EXPECT_NE(first->version, second->version);
  const auto got = store().Get("a/b", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "2nd");
  EXPECT_EQ(got->info.metadata, (Metadata{{"n", "2"}}));
  EXPECT_THAT(ListAll(store(), "", 100), ElementsAre("a/b"));
}

TEST_P(StoreTest, HeadOfWhatIsNotThereIsNotFoundAndNamesThePlace) {
  const auto head = store().Head("no/such/key", {});
  ASSERT_TRUE(IsError(head, ErrorCode::kNotFound));
  EXPECT_EQ(head.error().store, store().root());
  EXPECT_EQ(head.error().key, "no/such/key");
  EXPECT_EQ(Read(store(), "no/such/key"), "<NotFound>");
}

TEST_P(StoreTest, ADirectoryIsNoObject) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b/c", "value")));
  EXPECT_EQ(Read(store(), "a/b"), "<NotFound>");
  EXPECT_EQ(Read(store(), "a"), "<NotFound>");
  EXPECT_EQ(Read(store(), "a/b/c/d"), "<NotFound>");
}

TEST_P(StoreTest, RemovedObjectIsGoneAndRemovingItAgainSucceeds) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "value")));
  EXPECT_TRUE(IsOk(store().Remove("a/b", Condition::None(), {})));
  EXPECT_EQ(Read(store(), "a/b"), "<NotFound>");
  EXPECT_THAT(ListAll(store(), "", 100), IsEmpty());
  EXPECT_TRUE(IsOk(store().Remove("a/b", Condition::None(), {})));
  EXPECT_TRUE(IsOk(store().Remove("never/was/there", Condition::None(), {})));
}

TEST_P(StoreTest, RemovingOneLeavesItsNeighbours) {
  for (const char* key : {"a/b", "a/b.x", "a/bc", "a/B", "b"}) {
    ASSERT_TRUE(IsOk(Write(store(), key, key)));
  }
  EXPECT_TRUE(IsOk(store().Remove("a/b", Condition::None(), {})));
  EXPECT_THAT(ListAll(store(), "", 100), ElementsAre("a/B", "a/b.x", "a/bc", "b"));
  EXPECT_EQ(Read(store(), "a/bc"), "a/bc");
}

TEST_P(StoreTest, ObjectCanBePutAgainAfterItWasRemoved) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b/c/d", "first")));
  ASSERT_TRUE(IsOk(store().Remove("a/b/c/d", Condition::None(), {})));
  ASSERT_TRUE(IsOk(Write(store(), "a/b/c/d", "second", AbsentOn(store()))));
  EXPECT_EQ(Read(store(), "a/b/c/d"), "second");
}

TEST_P(StoreTest, ConditionAbsentHoldsOnlyWhereNothingIs) {
  if (!store().capabilities().conditional_put) GTEST_SKIP() << "declares that it has none";
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "first", Condition::Absent())));
  EXPECT_TRUE(
      IsError(Write(store(), "a/b", "second", Condition::Absent()), ErrorCode::kConditionFailed));
  EXPECT_EQ(Read(store(), "a/b"), "first");
}

TEST_P(StoreTest, ConditionVersionHoldsOnlyForThatWrite) {
  if (!store().capabilities().conditional_put) GTEST_SKIP() << "declares that it has none";
  const auto first = Write(store(), "a/b", "first");
  ASSERT_TRUE(IsOk(first));
  const auto second = Write(store(), "a/b", "other", Condition::Version(first->version));
  ASSERT_TRUE(IsOk(second));
  EXPECT_TRUE(IsError(Write(store(), "a/b", "third", Condition::Version(first->version)),
                      ErrorCode::kConditionFailed));
  EXPECT_EQ(Read(store(), "a/b"), "other");
  const auto head = store().Head("a/b", {});
  ASSERT_TRUE(IsOk(head));
  EXPECT_TRUE(IsOk(Write(store(), "a/b", "third", Condition::Version(head->version))));
}

TEST_P(StoreTest, ConditionVersionFailsWhereNothingIs) {
  if (!store().capabilities().conditional_put) GTEST_SKIP() << "declares that it has none";
  const auto first = Write(store(), "a/b", "first");
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk(store().Remove("a/b", Condition::None(), {})));
  // S3 says 404, NoSuchKey, to If-Match on a missing key
  // (docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
  EXPECT_TRUE(IsError(Write(store(), "a/b", "second", Condition::Version(first->version)),
                      ErrorCode::kConditionFailed));
  EXPECT_EQ(Read(store(), "a/b"), "<NotFound>");
}

TEST_P(StoreTest, ConditionalRemovalTakesOnlyThatWrite) {
  if (!store().capabilities().conditional_remove) GTEST_SKIP() << "declares that it has none";
  const auto first = Write(store(), "a/b", "first");
  ASSERT_TRUE(IsOk(first));
  const auto second = Write(store(), "a/b", "second");
  ASSERT_TRUE(IsOk(second));
  if (Lacks("conditional-remove")) {
    EXPECT_TRUE(IsOk(store().Remove("a/b", Condition::Version(first->version), {})));
    return;
  }
  EXPECT_TRUE(IsError(store().Remove("a/b", Condition::Version(first->version), {}),
                      ErrorCode::kConditionFailed));
  EXPECT_EQ(Read(store(), "a/b"), "second");
  EXPECT_TRUE(IsOk(store().Remove("a/b", Condition::Version(second->version), {})));
  EXPECT_EQ(Read(store(), "a/b"), "<NotFound>");
  const auto gone = store().Remove("a/b", Condition::Version(second->version), {});
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.error().code == ErrorCode::kConditionFailed ||
              gone.error().code == ErrorCode::kNotFound)
      << gone.error().ToString();
}

TEST_P(StoreTest, GetOnAVersionRefusesAnother) {
  const auto first = Write(store(), "a/b", "first");
  ASSERT_TRUE(IsOk(first));
  GetOptions options;
  options.if_version = first->version;
  EXPECT_EQ(Read(store(), "a/b", options), "first");
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "second")));
  EXPECT_EQ(Read(store(), "a/b", options), "<ConditionFailed>");
}

TEST_P(StoreTest, OfManyWritersOnConditionAbsentOneWins) {
  if (!store().capabilities().conditional_put) GTEST_SKIP() << "declares that it has none";
  for (int round = 0; round < 10; ++round) {
    const std::string key = "race/" + std::to_string(round);
    std::atomic<int> won{0};
    std::atomic<int> lost{0};
    std::atomic<int> winner{-1};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const auto put = Write(store(), key, std::to_string(i), Condition::Absent());
        if (put) {
          ++won;
          winner = i;
        } else if (put.error().code == ErrorCode::kConditionFailed) {
          ++lost;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
    EXPECT_EQ(lost, 7);
    EXPECT_EQ(Read(store(), key), std::to_string(winner));
  }
}

TEST_P(StoreTest, CountingUpOnVersionsLosesNoStep) {
  if (!store().capabilities().conditional_put) GTEST_SKIP() << "declares that it has none";
  constexpr int kThreads = 4;
  constexpr int kSteps = 10;
  ASSERT_TRUE(IsOk(Write(store(), "a/count", "0")));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < kSteps;) {
        const auto got = store().Get("a/count", {}, {});
        ASSERT_TRUE(IsOk(got));
        const int next = std::stoi(std::string(AsText(got->body.view()))) + 1;
        const auto put =
            Write(store(), "a/count", std::to_string(next), Condition::Version(got->info.version));
        if (put)
          ++step;
        else
          ASSERT_TRUE(IsError(put, ErrorCode::kConditionFailed));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Read(store(), "a/count"), std::to_string(kThreads * kSteps));
}

TEST_P(StoreTest, ReadersOfAnObjectThatIsReplacedSeeBytesAndMetadataOfOneWrite) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", std::string(10'000, '0'), {}, {{"n", "0"}})));
  std::atomic<bool> done{false};
  std::jthread writer([&] {  // Joins also where an assertion below ends the test.
    for (int i = 1; i <= 40; ++i) {
      const char digit = static_cast<char>('0' + i % 10);
      ASSERT_TRUE(IsOk(
          Write(store(), "a/b", std::string(10'000, digit), {}, {{"n", std::string(1, digit)}})));
    }
    done = true;
  });
  while (!done) {
    const auto got = store().Get("a/b", {}, {});
    ASSERT_TRUE(IsOk(got));
    ASSERT_EQ(got->info.metadata.count("n"), 1u);
    ASSERT_EQ(AsText(got->body.view()), std::string(10'000, got->info.metadata.at("n")[0]));
  }
}

TEST_P(StoreTest, PutsAndRemovalsInOneFolderDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::string key = "d/r/t/map_-1/" + std::to_string(i);
      for (int step = 0; step < 15; ++step) {
        auto written = Write(store(), key, key);
        for (int again = 0; !written && again < 100 && Lacks("puts-beside-removals"); ++again) {
          // Its own race of folders that come and go: named, and nothing is written.
          ASSERT_TRUE(IsError(written, ErrorCode::kDenied));
          ASSERT_EQ(Read(store(), key), "<NotFound>");
          written = Write(store(), key, key);
        }
        ASSERT_TRUE(IsOk(written));
        ASSERT_EQ(Read(store(), key), key);
        ASSERT_TRUE(IsOk(store().Remove(key, Condition::None(), {})));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ListAll(store(), "", 100), IsEmpty());
}

TEST_P(StoreTest, ListGivesAllPagesInOrder) {
  // '-' and '.' sort before '/', '0' after it: an order by directories would be another one.
  const std::vector<std::string> keys = {"a-b/x", "a.b/x", "a/b", "a/b-/x", "a/b/c",
                                         "a/c",   "a0/x",  "ab",  "b"};
  for (const std::string& key : keys) {
    if (key == "a/b/c" || key == "ab") continue;  // A directory cannot hold a/b and a/b/c.
    ASSERT_TRUE(IsOk(Write(store(), key, key)));
  }
  const std::vector<std::string> expected = {"a-b/x", "a.b/x", "a/b", "a/b-/x", "a/c", "a0/x", "b"};
  for (const int limit : {1, 2, 3, 6, 7, 8, 1000}) {
    EXPECT_EQ(ListAll(store(), "", limit), expected) << limit;
  }
}

TEST_P(StoreTest, ListTellsSizeAndVersion) {
  const auto put = Write(store(), "a/b", "value");
  ASSERT_TRUE(IsOk(put));
  const auto page = store().List("", "", 10, {});
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->objects.size(), 1u);
  EXPECT_EQ(page->objects[0].size, 5u);
  EXPECT_EQ(page->objects[0].version, put->version);
  EXPECT_GT(page->objects[0].modified_unix, 1'700'000'000);
}

TEST_P(StoreTest, ListOfAPrefixIsOfNothingElse) {
  for (const char* key : {"a/b", "a/bc/d", "a/c", "ab/c", "b"}) {
    ASSERT_TRUE(IsOk(Write(store(), key, "v")));
  }
  EXPECT_THAT(ListAll(store(), "a/", 2), ElementsAre("a/b", "a/bc/d", "a/c"));
  EXPECT_THAT(ListAll(store(), "a/b", 2), ElementsAre("a/b", "a/bc/d"));
  EXPECT_THAT(ListAll(store(), "a", 2), ElementsAre("a/b", "a/bc/d", "a/c", "ab/c"));
  EXPECT_THAT(ListAll(store(), "a/bc/", 2), ElementsAre("a/bc/d"));
  EXPECT_THAT(ListAll(store(), "z", 2), IsEmpty());
}

TEST_P(StoreTest, ListOfMoreThanAPageThatTheStoreWouldGive) {
  if (GetParam().name == "s3") GTEST_SKIP() << "1,100 requests more; paging is tested above";
  for (int i = 0; i < 1100; ++i) {
    ASSERT_TRUE(IsOk(Write(store(), "d/r/t/map_" + std::to_string(i) + "/k", "v")));
  }
  const auto page = store().List("", "", 1000, {});
  ASSERT_TRUE(IsOk(page));
  EXPECT_EQ(page->objects.size(), 1000u);
  EXPECT_FALSE(page->next_token.empty());
  EXPECT_EQ(ListAll(store(), "d/", 1000).size(), 1100u);
}

TEST_P(StoreTest, ListRefusesPagesOfImpossibleSize) {
  EXPECT_TRUE(IsError(store().List("", "", 0, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(store().List("", "", 1001, {}), ErrorCode::kInvalid));
}

TEST_P(StoreTest, HostileCharactersInKeysReachTheSameObjectByEveryVerb) {  // aws/aws-sdk-js-v3#283
  const std::vector<std::string> parts = {
      ":",   "+",      "space in it", "%",       "%2F", "%3A%", "=",
      "a&b", "'",      "(x)",         "~",       "é",   "日",   "a,b;c",
      "$!*", "[x]{y}", "<>",          "a|b^c`d", "\"",  "\\",   "manual__2026-01-01T00:00:00+00:00",
      "\x7f"};
  for (const std::string& part : parts) {
    const std::string key = "dag/" + part + "/task/k-" + part;
    const auto put = Write(store(), key, part, AbsentOn(store()));
    if (part == "\\" && Lacks("backslashes-in-keys")) {
      EXPECT_TRUE(IsError(put, ErrorCode::kInvalid));
      continue;
    }
    ASSERT_TRUE(IsOk(put)) << key;
    EXPECT_EQ(Read(store(), key), part) << key;
    const auto head = store().Head(key, {});
    ASSERT_TRUE(IsOk(head)) << key;
    EXPECT_EQ(head->version, put->version) << key;
    EXPECT_THAT(ListAll(store(), key, 10), ElementsAre(key));
    EXPECT_THAT(ListAll(store(), "dag/", 1000), ElementsAre(key));
    EXPECT_TRUE(IsOk(store().Remove(key, Condition::None(), {}))) << key;
    EXPECT_EQ(Read(store(), key), "<NotFound>") << key;
  }
}

TEST_P(StoreTest, KeysThatDifferInOneEncodedCharacterAreTwoObjects) {
  const std::vector<std::string> keys = {"a b", "a+b", "a%20b", "a%2Bb", "a%2520b"};
  for (const std::string& key : keys) ASSERT_TRUE(IsOk(Write(store(), key, key)));
  for (const std::string& key : keys) EXPECT_EQ(Read(store(), key), key);
}

TEST_P(StoreTest, KeysThatCouldLeaveThePrefixAreRefused) {
  for (const std::string_view key :
       {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b"}) {
    EXPECT_TRUE(IsError(Write(store(), key, "v"), ErrorCode::kInvalid)) << key;
    EXPECT_TRUE(IsError(store().Get(key, {}, {}), ErrorCode::kInvalid)) << key;
    EXPECT_TRUE(IsError(store().Head(key, {}), ErrorCode::kInvalid)) << key;
    EXPECT_TRUE(IsError(store().Remove(key, Condition::None(), {}), ErrorCode::kInvalid)) << key;
  }
  EXPECT_TRUE(IsError(Write(store(), std::string_view("a\0b", 3), "v"), ErrorCode::kInvalid));
}

TEST_P(StoreTest, LongestRunIdsAndKeysOfAirflowAreStored) {
  // Airflow's columns: run_id of 250 characters, key of 512 (and a task id of 250).
  std::vector<Coordinate> coordinates;
  coordinates.push_back({std::string(250, 'd'), std::string(250, 'r'), std::string(250, 't'),
                         Instance::Map(-1), std::string(512, 'k'), std::nullopt});
  coordinates.push_back({"dag", std::string(250, ':'), "task", Instance::Map(123456),
                         std::string(512, '/'), std::nullopt});
  Coordinate by_hand = coordinates[0];
  by_hand.key.clear();
  by_hand.put_name = std::string(512, 'n');
  coordinates.push_back(by_hand);
  for (const Coordinate& coordinate : coordinates) {
    const auto key = coordinate.ObjectKey("parquet");
    ASSERT_TRUE(IsOk(key));
    ASSERT_TRUE(IsOk(Write(store(), *key, "value", AbsentOn(store()), {{"n", "1"}})));
    EXPECT_EQ(Read(store(), *key), "value");
    const auto head = store().Head(*key, {});
    ASSERT_TRUE(IsOk(head));
    EXPECT_EQ(head->metadata, (Metadata{{"n", "1"}}));
    EXPECT_THAT(ListAll(store(), *key, 10), ElementsAre(*key));
    EXPECT_TRUE(IsOk(store().Remove(*key, Condition::None(), {})));
  }
}

TEST_P(StoreTest, KeyOfTheGreatestLengthIsStoredAndALongerOneRefused) {
  // What the store's own prefix leaves of 1,024 bytes; "scheme://bucket/" is not part of it.
  const std::string& root = store().root();
  size_t path = root.find('/', root.find("://") + 3);
  if (GetParam().name.starts_with("redis")) path = root.find('/', path + 1);  // After the database.
  const size_t prefix = GetParam().directory ? 0 : root.size() - path;
  std::string key;
  while (key.size() + prefix < kMaxKeyBytes) key += key.size() % 100 == 99 ? '/' : 'k';
  if (key.back() == '/') key.back() = 'k';
  ASSERT_TRUE(IsOk(Write(store(), key, "value")));
  EXPECT_EQ(Read(store(), key), "value");
  EXPECT_TRUE(IsError(Write(store(), key + "k", "value"), ErrorCode::kInvalid));
  EXPECT_TRUE(IsOk(store().Remove(key, Condition::None(), {})));
}

TEST_P(StoreTest, CancelledCallChangesNothing) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "first")));
  Context context;
  context.cancelled = [] { return true; };
  EXPECT_TRUE(IsError(store().Put("a/b", Body("second"), {}, context), ErrorCode::kCancelled));
  EXPECT_TRUE(IsError(store().Put("a/c", Body("second"), {}, context), ErrorCode::kCancelled));
  EXPECT_TRUE(IsError(store().Get("a/b", {}, context), ErrorCode::kCancelled));
  EXPECT_TRUE(IsError(store().Head("a/b", context), ErrorCode::kCancelled));
  EXPECT_TRUE(IsError(store().Remove("a/b", Condition::None(), context), ErrorCode::kCancelled));
  EXPECT_TRUE(IsError(store().List("", "", 10, context), ErrorCode::kCancelled));
  EXPECT_EQ(Read(store(), "a/b"), "first");
  EXPECT_THAT(ListAll(store(), "", 100), ElementsAre("a/b"));
}

TEST_P(StoreTest, CancellingInTheMiddleOfALargePutLeavesNoPartOfIt) {
  ASSERT_TRUE(IsOk(Write(store(), "a/b", "first")));
  const std::string large = Pattern(64 << 20);
  Context context;
  int polls = 0;
  context.cancelled = [&] { return ++polls > 3; };
  const auto put = store().Put("a/b", Body(large), {}, context);
  // A store that was faster than three polls has written all of it.
  if (put) {
    EXPECT_TRUE(Read(store(), "a/b") == large);
  } else {
    EXPECT_TRUE(IsError(put, ErrorCode::kCancelled));
    // One that had all bytes when it was told to stop may have written them.
    const std::string there = Read(store(), "a/b");
    EXPECT_TRUE(there == "first" || there == large);
  }
  EXPECT_THAT(ListAll(store(), "", 100), ElementsAre("a/b"));
}

TEST_P(StoreTest, NoCallStartsAfterTheDeadline) {
  Context context;
  context.deadline = Context::Clock::now() - std::chrono::seconds(1);
  EXPECT_TRUE(IsError(store().Put("a/b", Body("v"), {}, context), ErrorCode::kTimeout));
  EXPECT_TRUE(IsError(store().Get("a/b", {}, context), ErrorCode::kTimeout));
  EXPECT_TRUE(IsError(store().List("", "", 10, context), ErrorCode::kTimeout));
  EXPECT_EQ(Read(store(), "a/b"), "<NotFound>");
}

TEST_P(StoreTest, RootIsTheUriWithoutItsConnection) {
  EXPECT_TRUE(store().root().starts_with(std::string(store().scheme()) + "://")) << store().root();
  const Registration& kind = GetParam();
  EXPECT_EQ(store().scheme(), kind.scheme.empty() ? kind.name : kind.scheme);
  EXPECT_FALSE(store().root().ends_with('/'));
}

}  // namespace
}  // namespace airfreight::conformance
