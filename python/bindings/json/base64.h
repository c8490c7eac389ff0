#pragma once

/// \file
/// \brief Base64 with padding: RFC 4648, section 4 (https://www.rfc-editor.org/rfc/rfc4648).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace airfreight::json {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes the form of some bytes. `out` has `Append(std::string_view)`.
template <typename Out>
void SpellBase64(std::string_view data, Out* out) {
  const auto byte = [](char c) { return static_cast<uint32_t>(static_cast<unsigned char>(c)); };
  const auto letter = [](uint32_t bits) { return kBase64[bits & 63]; };
  std::array<char, 4096> text;
  while (!data.empty()) {
    size_t size = 0;
    for (; data.size() >= 3 && size + 4 <= text.size(); data.remove_prefix(3), size += 4) {
      const uint32_t bits = byte(data[0]) << 16 | byte(data[1]) << 8 | byte(data[2]);
      text[size] = letter(bits >> 18);
      text[size + 1] = letter(bits >> 12);
      text[size + 2] = letter(bits >> 6);
      text[size + 3] = letter(bits);
    }
    if (!data.empty() && data.size() < 3 && size + 4 <= text.size()) {
      const bool two = data.size() == 2;
      const uint32_t bits = byte(data[0]) << 16 | (two ? byte(data[1]) << 8 : 0);
      text[size] = letter(bits >> 18);
      text[size + 1] = letter(bits >> 12);
      text[size + 2] = two ? letter(bits >> 6) : '=';
      text[size + 3] = '=';
      size += 4;
      data = {};
    }
    out->Append({text.data(), size});
  }
}

/// How many bytes a text stands for that has nothing in it but this alphabet, in whole groups;
/// `kNoBase64` for any other text.
constexpr size_t kNoBase64 = static_cast<size_t>(-1);

/// Reads a text into `bytes`, which has room for three for each four characters of it.
inline size_t ReadBase64(std::string_view text, char* bytes) {
  static constexpr auto kValues = [] {
    std::array<uint8_t, 256> values = {};
    values.fill(64);
    for (size_t i = 0; i < kBase64.size(); ++i) {
      values[static_cast<unsigned char>(kBase64[i])] = static_cast<uint8_t>(i);
    }
    return values;
  }();
  if (text.size() % 4 != 0) return kNoBase64;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  char* at = bytes;
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 4; ++j) {
      const uint32_t value =
          j >= text.size() - padding ? 0 : kValues[static_cast<unsigned char>(text[j])];
      if (value > 63) return kNoBase64;
      bits = bits << 6 | value;
    }
    *at++ = static_cast<char>(bits >> 16);
    *at++ = static_cast<char>(bits >> 8 & 0xFF);
    *at++ = static_cast<char>(bits & 0xFF);
  }
  return static_cast<size_t>(at - bytes) - padding;
}

}  // namespace airfreight::json
