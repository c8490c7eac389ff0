#pragma once

/// \file
/// \brief The two small things that writing and reading JSON (RFC 8259:
/// https://www.rfc-editor.org/rfc/rfc8259) needs beside a parser.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace airfreight {

/// Appends `text` as a JSON string of ASCII characters only. `text` is UTF-8; a byte that is not
/// comes out as U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

/// The integer that a JSON number spells, whatever form it is in: `100`, `100.0` and `1E+2` are the
/// same to a database. Nothing when it has a fraction, does not fit, or is no number.
std::optional<int64_t> ExactInteger(std::string_view number);

}  // namespace airfreight
