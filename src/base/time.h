#pragma once

/// \file
/// \brief Wall-clock time in UTC and its texts. Pure, but for the two functions that read the
/// clock.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace airfreight {

/// The system clock, in seconds and in microseconds since 1970.
int64_t UnixSecondsNow();
int64_t UnixMicrosNow();

/// `2026-01-01T00:03:11Z` (RFC 3339). Years outside 0–9999 are held at the nearest end.
std::string FormatIso8601(int64_t unix_seconds);
/// `20260101T000311Z`, the basic form, as AWS signs it
/// (docs.aws.amazon.com/IAM/latest/UserGuide/signing-elements.html).
std::string FormatBasicIso8601(int64_t unix_seconds);
/// `Thu, 01 Jan 2026 00:03:11 GMT`, the only form that HTTP may write
/// (https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7).
std::string FormatHttpDate(int64_t unix_seconds);

/// Seconds since 1970 of `2026-01-01T00:03:11Z`, with or without a fraction (which is dropped).
/// Nothing for any other form, and for a date or time of day that does not exist.
std::optional<int64_t> ParseIso8601(std::string_view text);
/// Seconds since 1970 of the form that FormatHttpDate writes. The name of the day is not checked.
std::optional<int64_t> ParseHttpDate(std::string_view text);

}  // namespace airfreight
