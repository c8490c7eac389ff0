#include "freight/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/time.h"
#include "base/utf8.h"

namespace airfreight {
namespace {

constexpr int64_t kDay = 86'400;
constexpr std::array<int64_t, 13> kClassDays = {1,  2,   3,   7,   14,   30,  60,
                                                90, 180, 365, 730, 1825, 3650};

}  // namespace

std::string RetentionClass(int64_t seconds) {
  const auto found = std::find_if(kClassDays.begin(), kClassDays.end(),
                                  [&](int64_t days) { return days * kDay >= seconds; });
  return found == kClassDays.end() ? std::string() : fmt::format("{}d", *found);
}

Status CheckRetention(const Reference& reference, int64_t now_unix) {
  if (reference.expires.empty()) return {};
  const std::optional<int64_t> expires = ParseIso8601(reference.expires);
  if (!expires || now_unix < *expires) return {};
  return Fail(ErrorCode::kExpired,
              fmt::format("the retention of this XCom has passed: it was written {} and kept until "
                          "{}, as its retention had it",
                          VisibleText(reference.written), VisibleText(reference.expires)));
}

}  // namespace airfreight
