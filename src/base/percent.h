#pragma once

/// \file
/// \brief Percent-encoding (RFC 3986, section 2.1:
/// https://www.rfc-editor.org/rfc/rfc3986#section-2.1) with a set of bytes that stay as they are.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace airfreight {

/// \brief A set of byte values, made at compile time.
class ByteSet {
 public:
  /// The ASCII letters and digits, and the bytes of `others`.
  static constexpr ByteSet AlphanumericAnd(std::string_view others) {
    ByteSet set;
    for (unsigned c = '0'; c <= '9'; ++c) set.in_[c] = true;
    for (unsigned c = 'A'; c <= 'Z'; ++c) set.in_[c] = true;
    for (unsigned c = 'a'; c <= 'z'; ++c) set.in_[c] = true;
    for (char c : others) set.in_[static_cast<unsigned char>(c)] = true;
    return set;
  }
  constexpr bool Contains(char c) const { return in_[static_cast<unsigned char>(c)]; }

 private:
  std::array<bool, 256> in_{};
};

/// What never needs encoding in a URI (RFC 3986, section 2.3), and what AWS leaves as it is in a
/// canonical query (docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html).
inline constexpr ByteSet kUriUnreserved = ByteSet::AlphanumericAnd("-._~");
/// The same with `/`: a path whose segments are already separated.
inline constexpr ByteSet kUriPath = ByteSet::AlphanumericAnd("-._~/");

/// `text` with each byte outside `keep` as `%XX`, digits in upper case.
std::string PercentEncode(std::string_view text, const ByteSet& keep);

/// Appends the encoding of one byte to `out`.
void AppendPercentEncoded(char byte, const ByteSet& keep, std::string* out);

/// The bytes that `text` spells. Strict: nothing for a `%` without two hexadecimal digits (of
/// either case) behind it; `+` is a plus.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace airfreight
