#include "store/redis/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace airfreight::redis {

std::string Address::ToString() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

std::optional<Address> ParseAddress(std::string_view text, uint16_t default_port) {
  Address address{{}, default_port};
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    const bool legal = std::all_of(address.host.begin(), address.host.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
             c == ':' || c == '.';
    });
    if (!legal || address.host.find(':') == std::string::npos) return std::nullopt;
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    address.host = text.substr(0, end);
    port = text.substr(end);
    const bool legal = std::all_of(address.host.begin(), address.host.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c == '-' || c == '_' || c == '.';
    });
    if (!legal || address.host.empty()) return std::nullopt;
  }
  if (port.empty()) return address;
  if (port.front() != ':') return std::nullopt;
  port.remove_prefix(1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port == 0) {
    return std::nullopt;
  }
  return address;
}

}  // namespace airfreight::redis
