#pragma once

/// \file
/// \brief The header by which the service checks a body before it confirms a write
/// (learn.microsoft.com/rest/api/storageservices/put-blob#request-headers-all-blob-types).

#include <string>
#include <string_view>

#include "airfreight/bytes.h"
#include "airfreight/result.h"

namespace airfreight::azure {

/// What uploads carry.
enum class Checksums {
  kCrc64,  ///< What the service has known since 2019 and prefers; some 10 GB/s.
  kMd5,    ///< What every server knows that speaks the protocol; some 600 MB/s.
  kNever,
};

/// A header's name and value; both empty where none is sent.
struct Checksum {
  std::string_view header;
  std::string value;
};

/// Of the whole `body`. Pure.
Checksum ChecksumOf(Checksums kind, const Body& body);

/// Unsupported where this process cannot compute them: OpenSSL has no MD5 in its FIPS mode.
Status CheckAvailable(Checksums kind);

}  // namespace airfreight::azure
