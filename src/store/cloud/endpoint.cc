#include "store/cloud/endpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "http/headers.h"
#include "store/checks.h"

namespace airfreight {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsHostName(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return IsAlphanumeric(c) || c == '.' || c == '-' || c == '_';
  });
}

bool IsIpv6Literal(std::string_view host) {
  return host.size() > 2 && host.front() == '[' && host.back() == ']' &&
         host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
}

bool IsPath(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return IsAlphanumeric(c) || std::string_view("/-_.~%").find(c) != std::string_view::npos;
  });
}

}  // namespace

Result<Endpoint> ParseEndpoint(std::string_view url, std::string_view source,
                               const EndpointWords& words) {
  const auto refuse = [&](std::string_view why) {
    return Fail(ErrorCode::kInvalid, fmt::format("{} is {}: {}; right is e.g. '{}'", source,
                                                 Quoted(url), why, words.example));
  };
  if (url.find('@') != std::string_view::npos) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} holds a user or password (not shown); keys belong into {}", source,
                            words.keys));
  }
  Endpoint endpoint;
  std::string_view rest = url;
  if (EqualsIgnoreCase(rest.substr(0, 8), "https://")) {
    rest.remove_prefix(8);
  } else if (EqualsIgnoreCase(rest.substr(0, 7), "http://")) {
    endpoint.tls = false;
    rest.remove_prefix(7);
  } else {
    return refuse("it does not begin with https:// or http://");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) {
    // A query may be a shared access signature or another secret.
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} has a query or a fragment (not shown): only a path may follow the "
                            "host; right is e.g. '{}'",
                            source, words.example));
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!IsPath(path)) return refuse("only a path may follow the host");

  std::string_view port;
  const size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && !authority.ends_with(']')) {
    port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
    const auto number = ParseDecimal(port);
    if (!number || *number == 0 || *number > 65535) return refuse("the port is no port");
  }
  if (!IsHostName(authority) && !IsIpv6Literal(authority)) return refuse("the host is no host");
  endpoint.host = authority;
  std::transform(endpoint.host.begin(), endpoint.host.end(), endpoint.host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  // As it will stand in the Host header, which is signed.
  if (!port.empty() && port != (endpoint.tls ? "443" : "80")) {
    endpoint.host += fmt::format(":{}", port);
  }
  endpoint.path = path;
  return endpoint;
}

bool IsLoopback(const Endpoint& endpoint) {
  std::string_view host = endpoint.host;
  if (!host.ends_with(']')) host = host.substr(0, host.rfind(':'));
  // All of 127.0.0.0/8 (www.rfc-editor.org/rfc/rfc1122#section-3.2.1.3), but for a name like
  // 127.example.com.
  const bool v4 =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return v4 || host == "localhost" || host == "[::1]";
}

}  // namespace airfreight
