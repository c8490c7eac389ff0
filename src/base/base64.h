#pragma once

/// \file
/// \brief Base64 (www.rfc-editor.org/rfc/rfc4648#section-4) and its form for URLs (section 5).

#include <optional>
#include <string>
#include <string_view>

#include "airfreight/bytes.h"

namespace airfreight {

/// With padding, in one line.
std::string Base64Encode(ByteView bytes);
/// With `-` and `_` in place of `+` and `/`, without padding, as tokens have it
/// (www.rfc-editor.org/rfc/rfc7515#section-2).
std::string Base64UrlEncode(ByteView bytes);

/// The bytes (as a string) that `text` spells. Strict: nothing for another character, for padding
/// that is missing or too much, and for bits that belong to no byte.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace airfreight
