#pragma once

/// \file
/// \brief Where a list goes on whose entries are not told apart by their key alone.

#include <string>
#include <string_view>

#include "airfreight/result.h"

namespace airfreight {

/// The last entry of a page: one of those of a key. Entries are in the order of these.
struct Marker {
  std::string key;
  std::string id;  ///< Empty: all entries of the key.

  auto operator<=>(const Marker&) const = default;
};

/// A marker as a token: one line of printable ASCII; empty for one without key and id.
std::string PrintMarker(const Marker& marker);
/// Its inverse. Invalid for what is none.
Result<Marker> ParseMarker(std::string_view token);

}  // namespace airfreight
