#include "airfreight/result.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Fail(ErrorCode::kInvalid, "odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const int half, Half(number));
  return Half(half);
}

TEST(ResultTest, AssignOrReturnPassesTheErrorOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(7).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Quarter(6).error().message, "odd");
}

TEST(ErrorTest, ToStringNamesCodePlaceStatusAndRequest) {
  Error error{.code = ErrorCode::kDenied,
              .message = "the store refused the action",
              .store = "s3://bucket/xcom",
              .key = "d/r/t/map_-1/k.json",
              .http_status = 403,
              .service_code = "AccessDenied",
              .request_id = "REQ1"};
  EXPECT_EQ(error.ToString(),
            "Denied: the store refused the action [s3://bucket/xcom/d/r/t/map_-1/k.json] "
            "(HTTP 403, AccessDenied) request id REQ1");
}

}  // namespace
}  // namespace airfreight
