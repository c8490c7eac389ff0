#include "transfer/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kTiB = uint64_t{1} << 40;

// docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
Capabilities S3() {
  Capabilities limits;
  limits.parts = true;
  limits.max_put_bytes = 5 * kGiB;
  limits.min_part_bytes = 5 * kMiB;
  limits.max_part_bytes = 5 * kGiB;
  limits.max_parts = 10'000;
  limits.max_object_bytes = 5 * kTiB;
  return limits;
}

// That the parts of an object of `size` bytes tile it and keep to the limits.
void ExpectTiles(const PartPlan& plan, uint64_t size, const Capabilities& limits) {
  const int count = plan.CountFor(size);
  ASSERT_GE(count, 1);
  ASSERT_LE(count, limits.max_parts) << size;
  uint64_t offset = 0;
  for (int number = 1; number <= count; ++number) {
    ASSERT_EQ(plan.Offset(number), offset) << size << " " << number;
    const uint64_t bytes = std::min(plan.PartBytes(number), size - offset);
    ASSERT_LE(bytes, limits.max_part_bytes);
    if (number < count) {
      ASSERT_GE(bytes, limits.min_part_bytes);
      ASSERT_EQ(bytes, plan.PartBytes(number));
    }
    ASSERT_TRUE(bytes > 0 || size == 0) << size << " " << number;
    offset += bytes;
  }
  ASSERT_EQ(offset, size);
}

TEST(PartPlanTest, KnownSizesUpToFiveTebibytesTakeAtMostTenThousandParts) {
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{1}, 8 * kMiB, 8 * kMiB + 1, 100 * kMiB + 3, 5 * kGiB, 5 * kGiB + 1,
        80'000 * kMiB, 80'000 * kMiB + 1, kTiB, 5 * kTiB - 1, 5 * kTiB}) {
    const auto plan = PartPlan::ForSize(size, 8 * kMiB, S3());
    ASSERT_TRUE(IsOk(plan));
    ExpectTiles(*plan, size, S3());
  }
}

TEST(PartPlanTest, KnownSizeKeepsTheWantedPartsAsLongAsThereAreEnoughNumbers) {
  EXPECT_EQ(PartPlan::ForSize(80'000 * kMiB, 8 * kMiB, S3())->PartBytes(1), 8 * kMiB);
  EXPECT_EQ(PartPlan::ForSize(80'000 * kMiB + 1, 8 * kMiB, S3())->PartBytes(1), 9 * kMiB);
  EXPECT_EQ(PartPlan::ForSize(5 * kTiB, 8 * kMiB, S3())->PartBytes(1), 525 * kMiB);
}

TEST(PartPlanTest, WantedPartIsMadeOneThatTheStoreTakes) {
  EXPECT_EQ(PartPlan::ForSize(kGiB, 1, S3())->PartBytes(1), 5 * kMiB);
  EXPECT_EQ(PartPlan::ForSize(kGiB, 100 * kGiB, S3())->PartBytes(1), 5 * kGiB);
  EXPECT_EQ(PartPlan::ForStream(0, S3()).PartBytes(1), 5 * kMiB);
  EXPECT_EQ(PartPlan::ForStream(UINT64_MAX, S3()).PartBytes(1), 5 * kGiB);
  EXPECT_EQ(PartPlan::ForSize(10, 0, Capabilities())->PartBytes(1), 1U);
}

TEST(PartPlanTest, ObjectLargerThanTheStoreTakesIsRefusedWithItsLimit) {
  const auto refused = PartPlan::ForSize(5 * kTiB + 1, 8 * kMiB, S3());
  ASSERT_TRUE(IsError(refused, ErrorCode::kTooLarge));
  EXPECT_NE(refused.error().message.find("5497558138880"), std::string::npos);
  Capabilities few = S3();
  few.max_parts = 3;
  EXPECT_TRUE(IsOk(PartPlan::ForSize(15 * kGiB, 8 * kMiB, few)));
  EXPECT_TRUE(IsError(PartPlan::ForSize(15 * kGiB + 1, 8 * kMiB, few), ErrorCode::kTooLarge));
}

TEST(PartPlanTest, StreamOfUnknownSizeReachesTheLargestObject) {
  const PartPlan plan = PartPlan::ForStream(8 * kMiB, S3());
  EXPECT_EQ(plan.MostBytes(), 5 * kTiB);
  for (const uint64_t size :
       {uint64_t{1}, 8 * kMiB, 8 * kMiB + 1, 10 * kGiB, kTiB + 12345, 5 * kTiB}) {
    ExpectTiles(plan, size, S3());
  }
}

TEST(PartPlanTest, PublishedScheduleOfAStreamNeverChangesUnderAWriter) {
  const PartPlan plan = PartPlan::ForStream(8 * kMiB, S3());
  EXPECT_EQ(plan.PartBytes(1), 8 * kMiB);
  EXPECT_EQ(plan.PartBytes(1000), 8 * kMiB);
  EXPECT_EQ(plan.PartBytes(1001), 16 * kMiB);
  EXPECT_EQ(plan.PartBytes(3001), 64 * kMiB);
  EXPECT_EQ(plan.PartBytes(10'000), 4096 * kMiB);
  EXPECT_EQ(plan.Offset(1), 0U);
  EXPECT_EQ(plan.Offset(1001), 8'000 * kMiB);
  EXPECT_EQ(plan.Offset(10'000) + plan.PartBytes(10'000), 8'184'000 * kMiB);
}

TEST(PartPlanTest, StreamsPartsNeverExceedTheStoresLargest) {
  Capabilities limits = S3();
  limits.max_part_bytes = 20 * kMiB;
  limits.max_parts = 100;
  const PartPlan plan = PartPlan::ForStream(8 * kMiB, limits);
  EXPECT_EQ(plan.PartBytes(11), 16 * kMiB);
  EXPECT_EQ(plan.PartBytes(21), 20 * kMiB);
  EXPECT_EQ(plan.PartBytes(100), 20 * kMiB);
  EXPECT_EQ(plan.MostBytes(), (80 + 160 + 80 * 20) * kMiB);
  ExpectTiles(plan, plan.MostBytes(), limits);
}

TEST(PartPlanTest, StoreWithoutLimitsOverflowsNothing) {
  Capabilities limits;
  limits.max_parts = 3;
  const PartPlan plan = PartPlan::ForStream(uint64_t{1} << 63, limits);
  EXPECT_EQ(plan.MostBytes(), UINT64_MAX);
  EXPECT_EQ(plan.Offset(3), UINT64_MAX);
  EXPECT_EQ(plan.CountFor(UINT64_MAX), 2);
}

}  // namespace
}  // namespace airfreight
