#include "store/marker.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/percent.h"
#include "store/checks.h"

namespace airfreight {
namespace {

// Between the key, in which it is encoded, and the id.
constexpr char kBetween = '?';

}  // namespace

std::string PrintMarker(const Marker& marker) {
  if (marker.key.empty() && marker.id.empty()) return {};
  return fmt::format("{}{}{}", PercentEncode(marker.key, kUriPath), kBetween,
                     PercentEncode(marker.id, kUriUnreserved));
}

Result<Marker> ParseMarker(std::string_view token) {
  if (token.empty()) return Marker{};
  const size_t between = token.find(kBetween);
  std::optional<std::string> key;
  std::optional<std::string> id;
  if (between != std::string_view::npos) {
    key = PercentDecode(token.substr(0, between));
    id = PercentDecode(token.substr(between + 1));
  }
  if (!key || !id) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} is no place at which a list goes on", Quoted(token)));
  }
  return Marker{*std::move(key), *std::move(id)};
}

}  // namespace airfreight
