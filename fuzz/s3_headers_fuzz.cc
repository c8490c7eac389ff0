// The input, split at its line ends, as the head of an answer: parsed within its limit, and read as
// what an object's head says.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check.h"
#include "http/headers.h"
#include "store/s3/decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using airfreight::HeadParser;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  HeadParser parser;
  bool complete = false;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1);
    const auto progress = parser.Feed(rest.substr(0, end + 1));
    rest.remove_prefix(end + 1);
    if (progress == HeadParser::Progress::kTooLarge) return 0;
    complete = complete || progress == HeadParser::Progress::kComplete;
  }
  AIRFREIGHT_FUZZ_CHECK(!complete || parser.status() >= 200);
  size_t bytes = 0;
  for (const auto& [name, value] : parser.headers()) {
    AIRFREIGHT_FUZZ_CHECK(!name.empty() || value.find('\n') == std::string_view::npos);
    AIRFREIGHT_FUZZ_CHECK(value.find('\n') == std::string_view::npos);
    AIRFREIGHT_FUZZ_CHECK(parser.headers().Find(name).has_value());
    bytes += name.size() + value.size();
  }
  AIRFREIGHT_FUZZ_CHECK(bytes <= 2 * HeadParser::kMaxBytes);

  airfreight::HttpResponse response;
  response.status = parser.status();
  response.headers = parser.headers();
  response.content_length = parser.content_length();
  const auto info = airfreight::s3::DecodeInfo("k", response);
  AIRFREIGHT_FUZZ_CHECK(!info || !info->version.empty());
  return 0;
}
