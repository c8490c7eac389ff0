#pragma once

/// \file
/// \brief The bytes of a fuzzer's input, as text and as fields.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace airfreight {

inline std::string_view FuzzText(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Takes the text up to the next 0xFF, which is in no UTF-8 text, or all of it.
inline std::string TakeField(std::string_view& text) {
  const size_t end = std::min(text.find('\xFF'), text.size());
  std::string field(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

/// Whether `text` can stand in a log: one line, without control characters.
inline bool IsOneLine(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

}  // namespace airfreight
