#pragma once

/// \file
/// \brief A server's base URL, as settings and variables name it.

#include <string>
#include <string_view>

#include "airfreight/result.h"

namespace airfreight {

/// A server's base URL in its parts.
struct Endpoint {
  bool tls = true;
  std::string host;  ///< Lower case; with a port where it is not the scheme's own.
  std::string path;  ///< Encoded, without a slash at its end; empty in most cases.

  bool operator==(const Endpoint&) const = default;
};

/// What a message about a wrong URL says of right ones.
struct EndpointWords {
  std::string_view example;  ///< A right URL.
  std::string_view keys;     ///< Where keys belong: "… belong into <this>".
};

/// Invalid when `url` is not `http[s]://host[:port][/path]`, naming `source` (a setting or a
/// variable); a URL that holds a user or a password is not quoted.
Result<Endpoint> ParseEndpoint(std::string_view url, std::string_view source,
                               const EndpointWords& words);

/// Whether the host is this machine by its name: what is sent there crosses no network.
bool IsLoopback(const Endpoint& endpoint);

}  // namespace airfreight
