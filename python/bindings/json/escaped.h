#pragma once

/// \file
/// \brief Documents in ASCII.

#include <cstdint>
#include <string>
#include <string_view>

namespace airfreight::json {

/// The text of a document with everything but ASCII escaped, by which a set is ordered: as
/// `json.dumps` has it, but for spaces, which change no order.
inline std::string Escaped(std::string_view text) {
  std::string escaped;
  const auto append = [&escaped](uint32_t unit) {
    constexpr std::string_view kHex = "0123456789abcdef";
    escaped += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) escaped += kHex[unit >> shift & 15];
  };
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) {
      return static_cast<uint32_t>(static_cast<unsigned char>(text[at]));
    };
    const uint32_t lead = byte(i);
    if (lead < 0x7F) {
      escaped += text[i++];
    } else if (lead == 0x7F) {  // `json.dumps` escapes it, too.
      append(lead);
      ++i;
    } else if (lead < 0xE0) {
      append((lead & 0x1F) << 6 | (byte(i + 1) & 0x3F));
      i += 2;
    } else if (lead < 0xF0) {
      append((lead & 0x0F) << 12 | (byte(i + 1) & 0x3F) << 6 | (byte(i + 2) & 0x3F));
      i += 3;
    } else {
      const uint32_t code = ((lead & 0x07) << 18 | (byte(i + 1) & 0x3F) << 12 |
                             (byte(i + 2) & 0x3F) << 6 | (byte(i + 3) & 0x3F)) -
                            0x10000;
      append(0xD800 + (code >> 10));
      append(0xDC00 + (code & 0x3FF));
      i += 4;
    }
  }
  return escaped;
}

}  // namespace airfreight::json
