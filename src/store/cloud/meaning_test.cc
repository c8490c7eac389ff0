#include "store/cloud/meaning.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace airfreight {
namespace {

TEST(MeaningTest, WhatMayPassIsTriedAgainAndNothingElse) {
  struct Case {
    int status;
    ErrorCode code;
    bool retryable;
  };
  for (const Case& c : std::vector<Case>{
           {200, ErrorCode::kInternal, false},
           {304, ErrorCode::kConditionFailed, false},
           {307, ErrorCode::kInvalid, false},
           {400, ErrorCode::kInvalid, false},
           {401, ErrorCode::kDenied, false},
           {403, ErrorCode::kDenied, false},
           {404, ErrorCode::kNotFound, false},
           {407, ErrorCode::kUnavailable, false},
           {408, ErrorCode::kUnavailable, true},
           {409, ErrorCode::kUnavailable, true},
           {412, ErrorCode::kConditionFailed, false},
           {413, ErrorCode::kTooLarge, false},
           {416, ErrorCode::kInvalid, false},
           {429, ErrorCode::kThrottled, true},
           {500, ErrorCode::kUnavailable, true},
           {501, ErrorCode::kUnsupported, false},
           {503, ErrorCode::kUnavailable, true},
       }) {
    const Meaning meaning = MeaningOfStatus(c.status, "elsewhere");
    EXPECT_EQ(meaning.code, c.code) << c.status;
    EXPECT_EQ(meaning.retryable, c.retryable) << c.status;
    EXPECT_EQ(meaning.advice == "elsewhere", c.status == 307) << c.status;
  }
}

TEST(MeaningTest, ACodeThatIsNotInTheTableSaysNothing) {
  constexpr auto kCodes = std::to_array<KnownCode>({{"Busy", ErrorCode::kThrottled, true, "wait"}});
  const auto busy = FindMeaning(kCodes, "Busy");
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->code, ErrorCode::kThrottled);
  EXPECT_TRUE(busy->retryable);
  EXPECT_EQ(busy->advice, "wait");
  EXPECT_FALSE(FindMeaning(kCodes, "busy"));
  EXPECT_FALSE(FindMeaning(kCodes, ""));
}

TEST(MeaningTest, OnlyWhatIsTriedAgainWaitsAndNoServersWordBreaksALine) {
  const Headers headers{{"Retry-After", "7"}};
  const std::string code(65, 'c');
  const std::string id = "id\n" + std::string(200, 'i');
  const Error passes = ErrorOf({ErrorCode::kThrottled, true}, {503, &headers, code, id}, 0);
  EXPECT_EQ(passes.retry_after_seconds, 7);
  EXPECT_EQ(passes.http_status, 503);
  EXPECT_EQ(passes.service_code.size(), 64u);
  EXPECT_EQ(passes.request_id.size(), 128u);
  EXPECT_EQ(passes.request_id.find('\n'), std::string::npos);
  EXPECT_EQ(ErrorOf({ErrorCode::kDenied}, {403, &headers, "", ""}, 0).retry_after_seconds, 0);
}

TEST(MeaningTest, AMessageHasWordsWhereTheStoreHasNone) {
  EXPECT_EQ(MessageOf(ErrorCode::kDenied, "no", "ask"), "no: ask");
  EXPECT_EQ(MessageOf(ErrorCode::kDenied, "no", ""), "no");
  EXPECT_EQ(MessageOf(ErrorCode::kNotFound, "", ""), "no such object");
  EXPECT_EQ(MessageOf(ErrorCode::kConditionFailed, "", ""),
            "the condition of the request does not hold");
  // Its advice is the whole sentence.
  EXPECT_EQ(MessageOf(ErrorCode::kNotFoundOrDenied, "", "one or the other"), "one or the other");
  EXPECT_EQ(MessageOf(ErrorCode::kInternal, "", "ask"),
            "the store answered without an explanation: ask");
}

}  // namespace
}  // namespace airfreight
