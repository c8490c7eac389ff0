#include "store/s3/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/percent.h"
#include "http/headers.h"
#include "store/checks.h"

namespace airfreight::s3 {
namespace {

// Longest label of a host (www.rfc-editor.org/rfc/rfc1035#section-2.3.4).
constexpr size_t kMaxLabel = 63;

struct Partition {
  std::string_view region_prefix;
  std::string_view domain;
};
// Regions outside of amazonaws.com
// (docs.aws.amazon.com/general/latest/gr/s3.html, docs.amazonaws.cn/en_us/aws/latest/userguide).
constexpr std::array<Partition, 3> kPartitions = {{
    {"cn-", "amazonaws.com.cn"},
    {"us-iso-", "c2s.ic.gov"},
    {"us-isob-", "sc2s.sgov.gov"},
}};

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

bool EndsWithDomain(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

}  // namespace

Result<Endpoint> ParseEndpoint(std::string_view url, std::string_view source) {
  const auto refuse = [&](std::string_view why) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} is {}: {}; right is e.g. 'https://minio.example.com:9000'", source,
                            Quoted(url), why));
  };
  if (url.find('@') != std::string_view::npos) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format(
            "{} holds a user or password (not shown); keys belong into an Airflow connection "
            "(s3://conn_id@bucket), the environment or a profile",
            source));
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
  const size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
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

Result<Endpoint> AwsEndpoint(std::string_view region, std::string_view service) {
  const bool legal = !region.empty() && region.size() <= kMaxLabel && region.front() != '-' &&
                     region.back() != '-' && std::all_of(region.begin(), region.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                     });
  if (!legal) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("region {} is no AWS region; right is e.g. 'eu-central-1'", Quoted(region)));
  }
  std::string_view domain = "amazonaws.com";
  for (const Partition& partition : kPartitions) {
    if (region.starts_with(partition.region_prefix)) domain = partition.domain;
  }
  return Endpoint{true, fmt::format("{}.{}.{}", service, region, domain), ""};
}

bool IsAws(const Endpoint& endpoint) {
  const std::string_view host = std::string_view(endpoint.host).substr(0, endpoint.host.find(':'));
  return EndsWithDomain(host, "amazonaws.com") ||
         std::any_of(kPartitions.begin(), kPartitions.end(),
                     [&](const Partition& p) { return EndsWithDomain(host, p.domain); });
}

Address Locate(const Endpoint& endpoint, AddressingStyle style, std::string_view bucket,
               std::string_view key) {
  const bool dotted = bucket.find('.') != std::string_view::npos;
  const bool in_host = style == AddressingStyle::kVirtual ||
                       (style == AddressingStyle::kAuto && IsAws(endpoint) && !dotted);
  const std::string encoded = PercentEncode(key, kUriPath);
  if (in_host) {
    return {fmt::format("{}.{}", bucket, endpoint.host),
            fmt::format("{}/{}", endpoint.path, encoded)};
  }
  const std::string_view separator = key.empty() ? "" : "/";
  return {endpoint.host, fmt::format("{}/{}{}{}", endpoint.path,
                                     PercentEncode(bucket, kUriUnreserved), separator, encoded)};
}

}  // namespace airfreight::s3
