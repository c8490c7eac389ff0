#pragma once

/// \file
/// \brief The spelling of JSON, byte for byte as Python's `json.dumps(..., ensure_ascii=False)` has
/// it.

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/json_reader.h"

namespace airfreight::json {

/// Room for any number that is spelt here.
using NumberText = std::array<char, 32>;

/// A finite double as `float.__repr__` spells it: the shortest digits that give the same double, an
/// exponent from 1e16 on and below 1e-4.
inline std::string_view SpellDouble(double value, NumberText* text) {
  // "-d.ddde±xx" has the digits and their place; Python writes the same where it writes an
  // exponent.
  std::array<char, 32> raw;
  const char* const raw_end =
      std::to_chars(raw.data(), raw.data() + raw.size(), value, std::chars_format::scientific).ptr;
  const char* mark = raw_end - 4;  // At least two digits after the sign.
  while (*mark != 'e') --mark;
  int exponent = 0;
  std::from_chars(mark + (mark[1] == '+' ? 2 : 1), raw_end, exponent);
  char* out = text->data();
  if (exponent < -4 || exponent >= 16) {
    const auto size = static_cast<size_t>(raw_end - raw.data());
    std::memcpy(out, raw.data(), size);
    return {out, size};
  }
  const char* digits = raw.data();
  if (*digits == '-') *out++ = *digits++;
  std::array<char, 20> packed;
  int count = 0;
  for (; digits != mark; ++digits) {
    if (*digits != '.') packed[static_cast<size_t>(count++)] = *digits;
  }
  const auto copy = [&](int from, int to) {
    for (int i = from; i < to; ++i) *out++ = i < count ? packed[static_cast<size_t>(i)] : '0';
  };
  if (exponent < 0) {
    *out++ = '0';
    *out++ = '.';
    for (int i = -1; i > exponent; --i) *out++ = '0';
    copy(0, count);
  } else {
    copy(0, exponent + 1);
    *out++ = '.';
    copy(exponent + 1, count > exponent + 1 ? count : exponent + 2);
  }
  return {text->data(), static_cast<size_t>(out - text->data())};
}

template <typename Integer>
std::string_view SpellInteger(Integer value, NumberText* text) {
  const char* const end = std::to_chars(text->data(), text->data() + text->size(), value).ptr;
  return {text->data(), static_cast<size_t>(end - text->data())};
}

/// Copies a text; false when it has a character that does not stand for itself.
inline bool CopyPlainText(std::string_view text, char* to) {
  bool high = false;
  std::memcpy(to, text.data(), text.size());
  const char* const end = text.data() + text.size();
  return SkipPlainCharacters(text.data(), end, &high) == end;
}

/// Writes a text in quotation marks. `out` has `Append(std::string_view)`.
template <typename Out>
void SpellText(std::string_view text, Out* out) {
  if constexpr (requires { out->Room(text.size()); }) {
    char* const at = out->Room(text.size() + 2);
    if (at != nullptr && CopyPlainText(text, at + 1)) {
      at[0] = at[text.size() + 1] = '"';
      out->Advance(text.size() + 2);
      return;
    }
  }
  out->Append("\"");
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    bool high = false;
    const char* const stop = SkipPlainCharacters(at, end, &high);
    out->Append({at, static_cast<size_t>(stop - at)});
    if (stop == end) break;
    const char special = *stop;
    switch (special) {
      case '"':
        out->Append("\\\"");
        break;
      case '\\':
        out->Append("\\\\");
        break;
      case '\n':
        out->Append("\\n");
        break;
      case '\r':
        out->Append("\\r");
        break;
      case '\t':
        out->Append("\\t");
        break;
      case '\f':
        out->Append("\\f");
        break;
      case '\b':
        out->Append("\\b");
        break;
      default: {
        constexpr std::string_view kHex = "0123456789abcdef";
        const auto code = static_cast<unsigned char>(special);
        const std::array<char, 6> escape = {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]};
        out->Append({escape.data(), escape.size()});
      }
    }
    at = stop + 1;
  }
  out->Append("\"");
}

}  // namespace airfreight::json
