#pragma once

/// \file
/// \brief UTF-8 (RFC 3629: https://www.rfc-editor.org/rfc/rfc3629): is it, and how to show what is
/// not.

#include <cstddef>
#include <string>
#include <string_view>

namespace airfreight {

/// The number of bytes (1–4) of the well-formed character at `pos`, 0 when there is none: a stray
/// or missing continuation byte, an overlong form, a surrogate, a code point above U+10FFFF, the
/// end.
size_t Utf8LengthAt(std::string_view text, size_t pos);

/// The code point of the well-formed character of `length` bytes at `pos`.
char32_t Utf8CodePointAt(std::string_view text, size_t pos, size_t length);

/// Whether all of `text` is well-formed.
bool IsUtf8(std::string_view text);

/// `text` as a person may safely see it on one line: control characters (NUL among them) and bytes
/// that are not UTF-8 as `\xNN`, the rest as it is. Always well-formed UTF-8; doing it twice
/// changes nothing. Not meant to be undone.
std::string VisibleText(std::string_view text);

}  // namespace airfreight
