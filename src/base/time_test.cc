#include "base/time.h"

#include <gtest/gtest.h>

#include <ctime>

namespace airfreight {
namespace {

TEST(TimeTest, FormsAreThoseOfTheirSpecifications) {
  constexpr int64_t kMoment = 1767225791;
  EXPECT_EQ(FormatIso8601(kMoment), "2026-01-01T00:03:11Z");
  EXPECT_EQ(FormatBasicIso8601(kMoment), "20260101T000311Z");
  EXPECT_EQ(FormatHttpDate(kMoment), "Thu, 01 Jan 2026 00:03:11 GMT");
  // The example of RFC 9110, section 5.6.7.
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(FormatHttpDate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(TimeTest, AgreesWithTheSystemOverFiveCenturies) {
  // A step that is a multiple of neither a day nor a week.
  for (int64_t moment = -6000000000; moment < 12000000000; moment += 9999991) {
    const time_t seconds = moment;
    tm fields{};
    ASSERT_NE(gmtime_r(&seconds, &fields), nullptr);
    char expected[64];
    strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%SZ", &fields);
    ASSERT_EQ(FormatIso8601(moment), expected);
    ASSERT_EQ(ParseIso8601(expected), moment);
    strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &fields);
    ASSERT_EQ(FormatHttpDate(moment), expected);
    ASSERT_EQ(ParseHttpDate(expected), moment);
  }
}

TEST(TimeTest, FractionIsDropped) {
  EXPECT_EQ(ParseIso8601("2026-01-01T00:03:11.999Z"), 1767225791);
}

TEST(TimeTest, LeapDayAndLeapSecondAreRead) {
  EXPECT_EQ(ParseIso8601("2024-02-29T00:00:00Z"), 1709164800);
  EXPECT_EQ(ParseIso8601("2016-12-31T23:59:60Z"), ParseIso8601("2016-12-31T23:59:59Z"));
}

TEST(TimeTest, OtherFormsAndImpossibleMomentsAreRefused) {
  for (const char* wrong : {"", "2026-01-01", "2026-01-01T00:03:11", "2026-01-01T00:03:11+00:00",
                            "2026-01-01 00:03:11Z", "2026-01-01T00:03:11.Z",
                            "2026-01-01T00:03:11.xZ", "2026-02-29T00:00:00Z",
                            "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
                            "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z",
                            "20-6-01-01T00:00:00Z", "x026-01-01T00:00:00Z", "20260101T000311Z"}) {
    EXPECT_FALSE(ParseIso8601(wrong)) << wrong;
  }
  for (const char* wrong : {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                            "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
                            "Sun, 06 Nov 1994 08:49:37 UTC"}) {
    EXPECT_FALSE(ParseHttpDate(wrong)) << wrong;
  }
}

TEST(TimeTest, YearsBeyondFourDigitsAreHeldAtTheEnd) {
  EXPECT_EQ(FormatIso8601(INT64_MAX), "9999-12-31T23:59:59Z");
  EXPECT_EQ(FormatIso8601(INT64_MIN), "0000-01-01T00:00:00Z");
}

}  // namespace
}  // namespace airfreight
