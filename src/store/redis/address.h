#pragma once

/// \file
/// \brief Where a server of Redis' listens. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace airfreight::redis {

inline constexpr uint16_t kDefaultPort = 6379;
/// redis.io/docs/latest/operate/oss_and_stack/management/sentinel
inline constexpr uint16_t kDefaultSentinelPort = 26379;

struct Address {
  std::string host;
  uint16_t port = 0;

  /// "host:port", with brackets around an address that has colons.
  std::string ToString() const;
  bool operator==(const Address&) const = default;
};

/// "host", "host:port" or "[::1]:port"; nothing for what is none of these.
std::optional<Address> ParseAddress(std::string_view text, uint16_t default_port);

}  // namespace airfreight::redis
