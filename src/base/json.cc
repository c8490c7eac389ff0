#include "base/json.h"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.h"

namespace airfreight {
namespace {

void AppendUnit(unsigned unit, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "\\u{:04x}", unit);
}

// Of ASCII; most names are nothing else.
bool StandsForItself(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits that `text` begins with off it.
std::string_view TakeDigits(std::string_view* text) {
  size_t count = 0;
  while (count < text->size() && IsDigit((*text)[count])) ++count;
  const std::string_view digits = text->substr(0, count);
  text->remove_prefix(count);
  return digits;
}

bool TakeOne(char c, std::string_view* text) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (size_t pos = 0; pos < text.size();) {
    size_t end = pos;
    while (end < text.size() && StandsForItself(text[end])) ++end;
    out->append(text, pos, end - pos);
    pos = end;
    if (pos == text.size()) break;
    const size_t length = Utf8LengthAt(text, pos);
    const char32_t code = length == 0 ? U'\uFFFD' : Utf8CodePointAt(text, pos, length);
    pos += length == 0 ? 1 : length;
    switch (code) {
      case U'"':
        *out += "\\\"";
        continue;
      case U'\\':
        *out += "\\\\";
        continue;
      case U'\b':
        *out += "\\b";
        continue;
      case U'\f':
        *out += "\\f";
        continue;
      case U'\n':
        *out += "\\n";
        continue;
      case U'\r':
        *out += "\\r";
        continue;
      case U'\t':
        *out += "\\t";
        continue;
      default:
        break;
    }
    if (code < 0x10000) {
      AppendUnit(static_cast<unsigned>(code), out);
    } else {
      const auto offset = static_cast<unsigned>(code) - 0x10000;
      AppendUnit(0xD800 + (offset >> 10), out);
      AppendUnit(0xDC00 + (offset & 0x3FF), out);
    }
  }
  *out += '"';
}

std::optional<int64_t> ExactInteger(std::string_view number) {
  const bool negative = TakeOne('-', &number);
  const std::string_view whole = TakeDigits(&number);
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return std::nullopt;
  std::string_view fraction;
  if (TakeOne('.', &number)) {
    fraction = TakeDigits(&number);
    if (fraction.empty()) return std::nullopt;
  }
  int64_t exponent = 0;
  if (TakeOne('e', &number) || TakeOne('E', &number)) {
    const bool down = TakeOne('-', &number);
    if (!down) TakeOne('+', &number);
    const std::string_view digits = TakeDigits(&number);
    if (digits.empty()) return std::nullopt;
    for (char c : digits) {
      // Held well above the length of any text that comes here and well below overflow.
      if (exponent < 1'000'000'000) exponent = exponent * 10 + (c - '0');
    }
    if (down) exponent = -exponent;
  }
  if (!number.empty()) return std::nullopt;

  // The value is `digits` with the decimal point `point` places from their left.
  std::string digits(whole);
  digits += fraction;
  int64_t point = static_cast<int64_t>(whole.size()) + exponent;
  const size_t leading = digits.find_first_not_of('0');
  if (leading == std::string::npos) return 0;
  digits.erase(0, leading);
  point -= static_cast<int64_t>(leading);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (point < static_cast<int64_t>(digits.size())) return std::nullopt;  // A fraction is left.
  if (point > 19) return std::nullopt;                                   // 2^63 has 19 digits.
  digits.append(static_cast<size_t>(point) - digits.size(), '0');

  // Ten to the power of 19 fits into 64 bits without a sign.
  uint64_t magnitude = 0;
  for (char c : digits) magnitude = magnitude * 10 + static_cast<uint64_t>(c - '0');
  const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
  if (magnitude > limit) return std::nullopt;
  return static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude);
}

}  // namespace airfreight
