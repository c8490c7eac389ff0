#include "store/s3/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/percent.h"
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

bool EndsWithDomain(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

}  // namespace

Result<Endpoint> ParseEndpoint(std::string_view url, std::string_view source) {
  return airfreight::ParseEndpoint(url, source,
                                   {"https://minio.example.com:9000",
                                    "an Airflow connection (s3://conn_id@bucket), the environment "
                                    "or a profile"});
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
