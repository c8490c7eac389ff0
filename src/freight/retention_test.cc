#include "freight/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "conformance/matchers.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kHour = 60 * 60;
constexpr int64_t kDay = 24 * kHour;

TEST(RetentionTest, ClassIsTheShortestThatKeepsAnObjectLongEnough) {
  EXPECT_EQ(RetentionClass(1), "1d");
  EXPECT_EQ(RetentionClass(kDay), "1d");
  EXPECT_EQ(RetentionClass(kDay + 1), "2d");
  EXPECT_EQ(RetentionClass(36 * kHour), "2d");
  EXPECT_EQ(RetentionClass(4 * kDay), "7d");
  EXPECT_EQ(RetentionClass(7 * kDay), "7d");
  EXPECT_EQ(RetentionClass(3650 * kDay), "3650d");
  EXPECT_EQ(RetentionClass(3651 * kDay), "");
}

TEST(RetentionTest, ReferenceExpiresInTheSecondThatItNames) {
  Reference reference;
  reference.written = "2026-01-01T00:00:00Z";
  const int64_t end = *ParseIso8601("2026-01-08T00:00:00Z");
  EXPECT_TRUE(IsOk(CheckRetention(reference, end)));
  reference.expires = "2026-01-08T00:00:00Z";
  EXPECT_TRUE(IsOk(CheckRetention(reference, end - 1)));
  const Status over = CheckRetention(reference, end);
  ASSERT_TRUE(IsError(over, ErrorCode::kExpired));
  EXPECT_THAT(over.error().message, AllOf(HasSubstr("written 2026-01-01T00:00:00Z"),
                                          HasSubstr("kept until 2026-01-08T00:00:00Z")));
}

}  // namespace
}  // namespace airfreight
