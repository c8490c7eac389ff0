#include "store/cloud/answers.h"

#include <algorithm>

#include "base/time.h"
#include "http/headers.h"
#include "store/checks.h"

namespace airfreight {
namespace {

// A server that asks for more is down, not busy; the retry layer has a budget of its own.
constexpr double kMaxRetryAfter = 300;

}  // namespace

double RetryAfterSeconds(std::string_view text, int64_t now) {
  if (const auto seconds = ParseDecimal(text)) {
    return std::min(kMaxRetryAfter, static_cast<double>(*seconds));
  }
  if (const auto date = ParseHttpDate(text)) {
    return std::clamp(static_cast<double>(*date - now), 0.0, kMaxRetryAfter);
  }
  return 0;
}

std::string ServersWords(std::string_view text) {
  std::string quoted = Quoted(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace airfreight
