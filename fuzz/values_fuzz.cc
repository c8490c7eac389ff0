// The input as each of the small values that servers and databases write: times, numbers,
// percent-encoded text. What is read is written and read as the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/percent.h"
#include "base/time.h"
#include "check.h"
#include "http/headers.h"
#include "input.h"
#include "store/s3/credentials/documents.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace airfreight;  // NOLINT(google-build-using-namespace): its values, one by one.
  const std::string_view text = FuzzText(data, size);

  if (const auto time = ParseHttpDate(text)) {
    AIRFREIGHT_FUZZ_CHECK(ParseHttpDate(FormatHttpDate(*time)) == time);
  }
  if (const auto time = ParseIso8601(text)) {
    AIRFREIGHT_FUZZ_CHECK(ParseIso8601(FormatIso8601(*time)) == time);
    // Another reader of the same form.
    AIRFREIGHT_FUZZ_CHECK(s3::ParseExpiration(text) == time);
  }
  if (const auto time = s3::ParseExpiration(text)) {
    constexpr int64_t kDay = 86400;
    const auto local = ParseIso8601(std::string(text.substr(0, 19)) + "Z");
    AIRFREIGHT_FUZZ_CHECK(local && *time > *local - kDay && *time < *local + kDay);
  }
  if (const auto number = ParseDecimal(text)) {
    AIRFREIGHT_FUZZ_CHECK(ParseDecimal(std::to_string(*number)) == number);
    AIRFREIGHT_FUZZ_CHECK(text.find_first_not_of("0123456789") == std::string_view::npos);
  }
  if (const auto number = ExactInteger(text)) {
    AIRFREIGHT_FUZZ_CHECK(ExactInteger(std::to_string(*number)) == number);
  }
  if (const auto decoded = PercentDecode(text)) {
    AIRFREIGHT_FUZZ_CHECK(PercentDecode(PercentEncode(*decoded, kUriPath)) == decoded);
  }
  AIRFREIGHT_FUZZ_CHECK(PercentDecode(PercentEncode(text, kUriUnreserved)) == text);
  std::string json;
  AppendJsonString(text, &json);
  for (const char c : json) AIRFREIGHT_FUZZ_CHECK(c >= 0x20 && c < 0x7f);
  return 0;
}
