#include "base/percent.h"

#include "base/hex.h"

namespace airfreight {

void AppendPercentEncoded(char byte, const ByteSet& keep, std::string* out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (keep.Contains(byte)) {
    *out += byte;
    return;
  }
  const auto value = static_cast<unsigned char>(byte);
  *out += '%';
  *out += kDigits[value >> 4];
  *out += kDigits[value & 15];
}

std::string PercentEncode(std::string_view text, const ByteSet& keep) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) AppendPercentEncoded(c, keep, &out);
  return out;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const std::optional<std::string> byte = HexDecode(text.substr(i + 1, 2));
    if (!byte) return std::nullopt;
    out += *byte;
    i += 2;
  }
  return out;
}

}  // namespace airfreight
