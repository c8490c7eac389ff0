#pragma once

/// \file
/// \brief Bytes as lower-case hexadecimal text and back.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/bytes.h"

namespace airfreight {

/// Two lower-case digits for each byte.
std::string HexEncode(ByteView bytes);

/// The bytes (as a string) that `hex` spells, in either case; nothing for an odd length or any
/// other character.
std::optional<std::string> HexDecode(std::string_view hex);

/// Whether `text` is exactly `digits` digits of lower-case hexadecimal.
bool IsLowerHex(std::string_view text, size_t digits);

}  // namespace airfreight
