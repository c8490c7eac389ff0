// Values that are there as a whole: by how many requests they go to a store.

#include "freight/push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "base/digest.h"
#include "conformance/matchers.h"
#include "freight/test_freight.h"

namespace airfreight {
namespace {

using testing::IsEmpty;

class PushTest : public PartsFixture {};

TEST_F(PushTest, BodyUpToTwoPartsIsOnePutAndALargerOneGoesInParts) {
  const auto freight = Process();
  const auto put = [&](std::string_view text) {
    return freight->Put(coordinate_, Body(text), info_, {1, kNoon}, {});
  };
  const std::string text = Pattern(5 * kPart + 3);
  ASSERT_TRUE(IsOk(put(std::string_view(text).substr(0, 2 * kPart))));
  EXPECT_EQ(Requests(), (std::map<std::string, int>{{"PUT", 1}}));
  const auto reference = put(text);
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(Requests(), (std::map<std::string, int>{{"CREATE", 1}, {"PART", 6}, {"COMPLETE", 1}}));
  EXPECT_TRUE(Stored(*reference) == text);
  EXPECT_EQ(reference->digest, DigestOf(DigestKind::kCrc32c, Body(text)));
}

TEST_F(PushTest, BodyGoesInOnePutWherePartsAreNoFasterAndInPartsWhereItMust) {
  faulty_->declared.parallel = false;
  const auto freight = Process();
  const std::string text = Pattern(20 * kPart);
  ASSERT_TRUE(IsOk(freight->Put(coordinate_, Body(text), info_, {1, kNoon}, {})));
  EXPECT_EQ(Requests(), (std::map<std::string, int>{{"PUT", 1}}));
  faulty_->declared.max_put_bytes = 10 * kPart;
  const auto reference = freight->Put(coordinate_, Body(text), info_, {1, kNoon}, {});
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(Requests()["PART"], 20);
  EXPECT_TRUE(Stored(*reference) == text);
}

TEST_F(PushTest, BodyOfManySegmentsIsCutWithoutACopy) {
  Decision decision;
  decision.digest = DigestKind::kSha256;
  const std::string text = Pattern(9 * kPart + 1);
  Body body;
  for (size_t at = 0, step = 1; at < text.size(); at += step, step = step * 7 % 401) {
    body.Append(AsBytes(std::string_view(text).substr(at, step)));
  }
  const auto freight = Process(decision);
  const auto reference = freight->Put(coordinate_, body, info_, {1, kNoon}, {});
  ASSERT_TRUE(IsOk(reference));
  EXPECT_TRUE(Stored(*reference) == text);
  EXPECT_EQ(reference->digest, DigestOf(DigestKind::kSha256, body));
}

TEST_F(PushTest, StoreThatOneConnectionFillsIsSentALargeBodyAtOnce) {
  FreightState state("prod", transfer_);
  const std::vector<NamedStore> stores = {{"default", counting_}};
  const Decision decision;
  const std::string text = Pattern(9 * kPart);
  for (const bool fast : {true, false}) {
    state.ledger.NoteFast("default", fast);
    Push push(stores, decision, state, coordinate_, info_);
    ASSERT_TRUE(IsOk(push.Prepare({1, kNoon}, text.size())));
    const auto reference = PutBody(push, Body(text), 3, {});
    ASSERT_TRUE(IsOk(reference));
    EXPECT_TRUE(Stored(*reference) == text);
    EXPECT_EQ(Requests()["PUT"], fast ? 1 : 0);
  }
}

TEST_F(PushTest, StoreSaysHowManyPartsOnePutCarries) {
  faulty_->declared.parts_in_one_put = 8;
  const auto freight = Process();
  for (const size_t parts : {size_t{8}, size_t{9}}) {
    const std::string text = Pattern(parts * kPart);
    const auto reference = freight->Put(coordinate_, Body(text), info_, {1, kNoon}, {});
    ASSERT_TRUE(IsOk(reference));
    EXPECT_TRUE(Stored(*reference) == text);
    EXPECT_EQ(Requests()["PUT"], parts == 8 ? 1 : 0);
  }
}

TEST_F(PushTest, WhereAnUploadBeginsWithoutARequestNoPartWaitsForATrial) {
  faulty_->declared.start_is_request = false;
  transfer_.part_bytes = size_t{4} << 20;
  FreightState state("prod", transfer_);
  const std::vector<NamedStore> stores = {{"default", counting_}};
  Push push(stores, Decision(), state, coordinate_, info_);
  const std::string text = Pattern(3 * transfer_.part_bytes);
  ASSERT_TRUE(IsOk(push.Prepare({1, kNoon}, text.size())));
  ASSERT_TRUE(IsOk(PutBody(push, Body(text), 3, {})));
  EXPECT_TRUE(push.TakeTrial());  // Nobody has.
}

TEST_F(PushTest, SpeedOfAConnectionIsOfTheLastLargeRequest) {
  FreightState state("prod", transfer_);
  const std::vector<NamedStore> stores = {{"default", counting_}};
  const Decision decision;
  Push push(stores, decision, state, coordinate_, info_);
  ASSERT_TRUE(IsOk(push.Prepare({1, kNoon}, 1)));
  push.NoteConnection(1000, std::chrono::nanoseconds(1));  // Too little to tell.
  EXPECT_FALSE(push.IsFast());
  push.NoteConnection(200'000'000, std::chrono::seconds(1));
  EXPECT_TRUE(push.IsFast());
  push.NoteConnection(1000, std::chrono::seconds(1));
  EXPECT_TRUE(push.IsFast());
  push.NoteConnection(90'000'000, std::chrono::seconds(1));
  EXPECT_FALSE(push.IsFast());
  EXPECT_TRUE(push.TakeTrial());
  EXPECT_FALSE(push.TakeTrial());
}

TEST_F(PushTest, BodysFailedPartAborts) {
  faulty_->upload.before_part = [](int number, uint64_t, const Context&) -> Status {
    if (number == 4) return Fail(ErrorCode::kDenied, "no");
    return {};
  };
  const std::string text = Pattern(9 * kPart);
  EXPECT_TRUE(
      IsError(Process()->Put(coordinate_, Body(text), info_, {1, kNoon}, {}), ErrorCode::kDenied));
  EXPECT_EQ(Requests()["ABORT"], 1);
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(PushTest, PutManyGivesResultsInOrderAndOneFailureStopsNoOther) {
  const auto freight = Process();
  std::vector<std::string> texts;
  std::vector<Freight::Item> items;
  for (int i = 0; i < 20; ++i) texts.push_back(Pattern(static_cast<size_t>(i) * 10));
  for (int64_t i = 0; i < 20; ++i) {
    Freight::Item item{coordinate_, Body(texts[static_cast<size_t>(i)]), info_, {1, kNoon}};
    item.coordinate.instance = Instance::Map(i);
    if (i == 7) item.info.extension = "../x";
    items.push_back(std::move(item));
  }
  const auto results = freight->PutMany(items, {});
  ASSERT_EQ(results.size(), 20U);
  for (size_t i = 0; i < 20; ++i) {
    if (i == 7) {
      EXPECT_TRUE(IsError(results[i], ErrorCode::kInvalid));
    } else {
      ASSERT_TRUE(IsOk(results[i]));
      EXPECT_EQ(Stored(*results[i]), texts[i]);
    }
  }
  Context context;
  context.cancelled = [] { return true; };
  for (const auto& result : freight->PutMany(items, context)) {
    EXPECT_TRUE(IsError(result, ErrorCode::kCancelled));
  }
  EXPECT_THAT(freight->PutMany({}, {}), IsEmpty());
}

}  // namespace
}  // namespace airfreight
