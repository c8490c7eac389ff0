#include "base/utf8.h"

#include "base/hex.h"

namespace airfreight {
namespace {

unsigned ByteAt(std::string_view text, size_t pos) { return static_cast<unsigned char>(text[pos]); }

bool IsContinuation(std::string_view text, size_t pos) {
  return pos < text.size() && (ByteAt(text, pos) & 0xC0) == 0x80;
}

}  // namespace

size_t Utf8LengthAt(std::string_view text, size_t pos) {
  if (pos >= text.size()) return 0;
  const unsigned lead = ByteAt(text, pos);
  if (lead < 0x80) return 1;
  // C0 and C1 would be overlong, F5 and above beyond U+10FFFF.
  if (lead < 0xC2 || lead > 0xF4 || !IsContinuation(text, pos + 1)) return 0;
  if (lead < 0xE0) return 2;
  if (!IsContinuation(text, pos + 2)) return 0;
  const unsigned second = ByteAt(text, pos + 1);
  if (lead < 0xF0) {
    if (lead == 0xE0 && second < 0xA0) return 0;   // Overlong.
    if (lead == 0xED && second >= 0xA0) return 0;  // U+D800 to U+DFFF: surrogates.
    return 3;
  }
  if (!IsContinuation(text, pos + 3)) return 0;
  if (lead == 0xF0 && second < 0x90) return 0;   // Overlong.
  if (lead == 0xF4 && second >= 0x90) return 0;  // Above U+10FFFF.
  return 4;
}

char32_t Utf8CodePointAt(std::string_view text, size_t pos, size_t length) {
  const unsigned lead = ByteAt(text, pos);
  if (length == 1) return lead;
  char32_t code = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = (code << 6) | (ByteAt(text, pos + i) & 0x3F);
  return code;
}

bool IsUtf8(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const size_t length = Utf8LengthAt(text, pos);
    if (length == 0) return false;
    pos += length;
  }
  return true;
}

std::string VisibleText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const size_t length = Utf8LengthAt(text, pos);
    const unsigned first = ByteAt(text, pos);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      out += "\\x";
      out += HexEncode(AsBytes(text.substr(pos, 1)));
      ++pos;
      continue;
    }
    out += text.substr(pos, length);
    pos += length;
  }
  return out;
}

}  // namespace airfreight
