#include "store/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ChecksTest, BooleansAreReadAsAirflowReadsThem) {
  for (const char* text : {"true", "True", "TRUE", "t", "1", "yes", "on"}) {
    StoreSettings settings = {{"fsync", text}};
    EXPECT_TRUE(TakeBool(settings, "file", "fsync", false).value()) << text;
    EXPECT_TRUE(settings.empty());
  }
  for (const char* text : {"false", "False", "f", "0", "no", "off"}) {
    StoreSettings settings = {{"fsync", text}};
    EXPECT_FALSE(TakeBool(settings, "file", "fsync", true).value()) << text;
  }
  StoreSettings none;
  EXPECT_TRUE(TakeBool(none, "file", "fsync", true).value());
}

TEST(ChecksTest, WrongSettingIsNamedQuotedAndShownRight) {
  StoreSettings settings = {{"fsync", "maybe"}, {"retry_timeout", "1m"}, {"max_attempts", "0"}};
  EXPECT_THAT(TakeBool(settings, "file", "fsync", true).error().message,
              AllOf(HasSubstr("[airfreight] file_fsync"), HasSubstr("'maybe'"),
                    HasSubstr("'true' or 'false'")));
  EXPECT_THAT(TakeSeconds(settings, "file", "retry_timeout", 60).error().message,
              AllOf(HasSubstr("[airfreight] timeout"), HasSubstr("'1m'"), HasSubstr("'60'")));
  EXPECT_THAT(TakeInt(settings, "file", "max_attempts", 10, 1, 100).error().message,
              AllOf(HasSubstr("max_attempts"), HasSubstr("'0'"), HasSubstr("1 to 100")));
}

TEST(ChecksTest, SecondsAreFiniteAndNotNegative) {
  for (const char* text : {"-1", "nan", "inf", "1e99", "", " 1", "1 ", "0x10", "1,5"}) {
    StoreSettings settings = {{"s", text}};
    EXPECT_TRUE(IsError(TakeSeconds(settings, "file", "s", 1), ErrorCode::kInvalid)) << text;
  }
  StoreSettings settings = {{"s", "0.5"}};
  EXPECT_EQ(TakeSeconds(settings, "file", "s", 1).value(), 0.5);
}

TEST(ChecksTest, UnknownSettingIsNamedAndItsValueIsNotShown) {
  const auto status = RefuseUnknown({{"aws_secret", "hush"}}, "file", {"fsync", "shared"});
  ASSERT_TRUE(IsError(status, ErrorCode::kInvalid));
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("'aws_secret'"), HasSubstr("fsync, shared"), Not(HasSubstr("hush"))));
}

TEST(ChecksTest, SettingsHaveTheNamesThatUsersKnow) {
  EXPECT_EQ(SettingName("s3", "region"), "[airfreight] s3_region");
  EXPECT_EQ(SettingName("file", "fsync"), "[airfreight] file_fsync");
  EXPECT_EQ(SettingName("file", "shared"), "[airfreight] file_store_shared");
  EXPECT_EQ(SettingName("s3", "retry_timeout"), "[airfreight] timeout");
}

TEST(ChecksTest, QuotedTextIsOneShortPrintableLine) {
  EXPECT_EQ(Quoted("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(Quoted("é"), "'é'");
  EXPECT_LT(Quoted(std::string(100'000, 'x')).size(), 300u);
}

TEST(ChecksTest, PartsBecomeAnObjectOnlyWhereTheyTileIt) {
  const UploadedPart first{1, 0, 5, 0, "a"};
  const UploadedPart second{2, 5, 3, 0, "b"};
  EXPECT_EQ(SizeOf({first, second}).value(), 8u);
  EXPECT_TRUE(IsError(SizeOf({}), ErrorCode::kInternal));
  EXPECT_TRUE(IsError(SizeOf({second}), ErrorCode::kInternal));
  EXPECT_TRUE(IsError(SizeOf({second, first}), ErrorCode::kInternal));
  EXPECT_TRUE(IsError(SizeOf({first, UploadedPart{2, 6, 3, 0, "b"}}), ErrorCode::kInternal));
}

TEST(ChecksTest, ClippedRangeLiesWithinTheObject) {
  const auto clip = [](uint64_t offset, std::optional<uint64_t> length, uint64_t size) {
    GetOptions options;
    options.offset = offset;
    options.length = length;
    return ClipRange(options, size);
  };
  EXPECT_EQ(clip(0, std::nullopt, 0).value().length, 0u);
  EXPECT_EQ(clip(3, UINT64_MAX, 10).value().length, 7u);
  EXPECT_EQ(clip(3, 0, 10).value().length, 0u);
  EXPECT_TRUE(IsError(clip(10, 1, 10), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(clip(UINT64_MAX, UINT64_MAX, 10), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(clip(0, 1, 0), ErrorCode::kInvalid));
}

}  // namespace
}  // namespace airfreight
