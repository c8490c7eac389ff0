#pragma once

/// \file
/// \brief The text that names a store, taken apart and checked.

#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/result.h"

namespace airfreight {

/// \brief A store's URI in its parts. Plain data; made by ParseStoreUri only, so that what a store
/// is opened with has been checked.
struct StoreUri {
  std::string scheme;      ///< "s3", "file", "memory".
  std::string connection;  ///< Airflow connection id of `s3://conn_id@bucket`; empty when none.
  std::string bucket;      ///< Bucket, or the name of a memory store; empty for "file".
  std::string prefix;      ///< Without slashes at its ends; empty when none, and for "file".
  std::string directory;   ///< Absolute path without a slash at its end; for "file" only.
  /// For "redis" and "rediss" only, whose `bucket` is "host:port/database".
  std::string host;  ///< Without brackets, where it is an IPv6 address.
  uint16_t port = 0;
  int database = 0;

  /// Scheme, place and prefix, never the connection: what ObjectStore::root() says.
  std::string Root() const;
  /// An object's full name within the bucket: prefix and key with a slash between.
  std::string FullKey(std::string_view key) const;
};

/// Parses `s3://[conn_id@]bucket[/prefix]`, `file:///dir` or `memory://name[/prefix]`. Text is
/// taken as it stands: nothing in it is percent-decoded.
///
/// Invalid when it is none of these, naming what is wrong, quoting the URI and showing a right one;
/// a URI that holds a password is not quoted.
Result<StoreUri> ParseStoreUri(std::string_view uri);

}  // namespace airfreight
