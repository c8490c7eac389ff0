#pragma once

/// \file
/// \brief What the answers of all services have in common.

#include <cstdint>
#include <string>
#include <string_view>

namespace airfreight {

/// The seconds of a `Retry-After`, which is a number or a date (RFC 9110, 10.2.3), at most five
/// minutes; 0 when there is none. `now`: seconds since 1970.
double RetryAfterSeconds(std::string_view text, int64_t now);

/// The text of a server's error for a message, without what could break a log line. Quotes go: it
/// is a sentence.
std::string ServersWords(std::string_view text);

}  // namespace airfreight
