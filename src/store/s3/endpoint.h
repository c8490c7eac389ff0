#pragma once

/// \file
/// \brief Where the requests for a bucket go.

#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "store/cloud/endpoint.h"

namespace airfreight::s3 {

/// How a bucket is named in a URL
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html).
enum class AddressingStyle {
  kAuto,  ///< kVirtual at AWS unless the bucket's name has dots (TLS names would not match), else
          ///< kPath: most other servers have no wildcard name.
  kPath,  ///< `https://host/bucket/key`
  kVirtual,  ///< `https://bucket.host/key`
};

/// Invalid when `url` is not `http[s]://host[:port][/path]`, naming `source` (a setting or a
/// variable); a URL that holds a user or a password is not quoted.
Result<Endpoint> ParseEndpoint(std::string_view url, std::string_view source);

/// AWS's own endpoint of a service for a region. Invalid when `region` could not be a region's
/// name: it becomes part of a host.
Result<Endpoint> AwsEndpoint(std::string_view region, std::string_view service = "s3");

/// Whether the host belongs to AWS, be it a VPC endpoint.
bool IsAws(const Endpoint& endpoint);

/// Where one object, or with an empty key the bucket itself, is addressed.
struct Address {
  std::string host;
  std::string path;  ///< Encoded.

  bool operator==(const Address&) const = default;
};

/// `key` is not encoded; each of its bytes outside `[A-Za-z0-9._~/-]` is, exactly once.
Address Locate(const Endpoint& endpoint, AddressingStyle style, std::string_view bucket,
               std::string_view key);

}  // namespace airfreight::s3
