#include "store/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "airfreight/store.h"
#include "base/utf8.h"
#include "store/checks.h"
#include "store/redis/address.h"

namespace airfreight {
namespace {

constexpr std::string_view kExamples =
    "s3://bucket/xcom, s3://conn_id@bucket/xcom, file:///srv/airflow/xcom";

constexpr std::string_view kRedisExample = "redis://redis.example.com:6379/0/xcom";

// Longest directory: PATH_MAX (4096, linux/limits.h) less the longest key, so that people can open
// what lies in it by its path, with room for theirs.
constexpr size_t kMaxDirectoryBytes = 2048;

/// What a scheme whose objects lie in a named bucket asks of its name, and what that is called.
struct Bucketed {
  std::string_view scheme;
  bool connection;  ///< Takes `conn_id@` before the name.
  size_t least;
  size_t most;
  std::string_view noun;
};

// The shortest and longest name that any S3 server takes. AWS's own rules are narrower
// (docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html), but buckets from before
// 2018 may have capitals and underscores and 255 characters, and the server has the last word.
constexpr size_t kMinBucketBytes = 3;
constexpr size_t kMaxBucketBytes = 255;
constexpr auto kBucketed = std::to_array<Bucketed>({
    {"s3", true, kMinBucketBytes, kMaxBucketBytes, "bucket"},
    // cloud.google.com/storage/docs/buckets#naming: names with dots up to 222.
    {"gs", true, 3, 222, "bucket"},
    // learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata#container-names
    {"az", true, 3, 63, "container"},
    {"memory", false, 1, SIZE_MAX, "bucket"},
});
// Schemes under which Airflow and its libraries know the same store.
constexpr auto kAliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"abfs", "az"},
    {"abfss", "az"},
    {"wasb", "az"},
    {"wasbs", "az"},
});
// Ends the name of an S3 Express directory bucket, which speaks another protocol
// (docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-naming-rules.html).
constexpr std::string_view kDirectoryBucketSuffix = "--x-s3";

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata#container-names
bool IsContainerName(std::string_view name) {
  return !name.starts_with('-') && !name.ends_with('-') &&
         name.find("--") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return IsNameByte(c) && !(c >= 'A' && c <= 'Z') && c != '_' && c != '.';
         });
}

tl::unexpected<Error> Refuse(std::string_view uri, std::string_view why) {
  return Fail(ErrorCode::kInvalid,
              fmt::format("store {}: {}. Right ones look like {}", Quoted(uri), why, kExamples));
}

// What is wrong with a path's parts; empty when nothing is.
std::string PathFault(std::string_view path) {
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty()) return "it has two slashes in a row";
    if (part == "." || part == "..") return fmt::format("'{}' may not be a part of it", part);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return {};
}

std::string_view TrimTrailingSlashes(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

Result<StoreUri> ParseFile(std::string_view uri, std::string_view rest) {
  if (!rest.starts_with('/')) {
    return Refuse(uri, "a directory is written with three slashes and an absolute path");
  }
  StoreUri parsed;
  parsed.scheme = "file";
  parsed.directory = TrimTrailingSlashes(rest);
  if (parsed.directory.empty()) return Refuse(uri, "it names no directory");
  if (parsed.directory.size() > kMaxDirectoryBytes) {
    return Refuse(uri, fmt::format("the directory is longer than {} bytes", kMaxDirectoryBytes));
  }
  if (auto fault = PathFault(parsed.directory.substr(1)); !fault.empty()) return Refuse(uri, fault);
  return parsed;
}

// What a path ends with beyond the place itself.
Status TakePrefix(std::string_view uri, std::string_view path, StoreUri& parsed) {
  parsed.prefix = TrimTrailingSlashes(path);
  if (parsed.prefix.size() > kMaxPrefixBytes) {
    return Refuse(uri, fmt::format("the prefix is longer than {} bytes", kMaxPrefixBytes));
  }
  if (auto fault = PathFault(parsed.prefix); !fault.empty()) return Refuse(uri, fault);
  return {};
}

Result<StoreUri> ParseBucketed(std::string_view uri, const Bucketed& kind, std::string_view rest) {
  const std::string_view scheme = kind.scheme;
  StoreUri parsed;
  parsed.scheme = scheme;
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (!kind.connection) return Refuse(uri, fmt::format("{} takes no connection id", scheme));
    parsed.connection = authority.substr(0, at);
    const std::string_view host = authority.substr(at + 1);
    if (scheme == "az" && host.find('.') != std::string_view::npos) {
      return Refuse(uri,
                    fmt::format("before the '@' stands an Airflow connection here, and not the "
                                "container as in Hadoop's spelling: write az://{}/prefix and "
                                "set [airfreight] az_account = {}",
                                parsed.connection, host.substr(0, host.find('.'))));
    }
    authority.remove_prefix(at + 1);
    if (parsed.connection.empty()) return Refuse(uri, "the connection id before '@' is empty");
  }
  const bool legal = std::all_of(authority.begin(), authority.end(), IsNameByte);
  if (authority.empty()) return Refuse(uri, fmt::format("it names no {}", kind.noun));
  if (!legal) {
    return Refuse(
        uri, fmt::format("a {}'s name is made of letters, digits, '-', '_' and '.'", kind.noun));
  }
  if (authority.size() < kind.least || authority.size() > kind.most) {
    return Refuse(
        uri, fmt::format("a {}'s name has {} to {} characters", kind.noun, kind.least, kind.most));
  }
  if (scheme == "az" && !IsContainerName(authority)) {
    return Refuse(
        uri, "a container's name is made of small letters, digits and single '-' between them");
  }
  if (scheme == "s3" && authority.ends_with(kDirectoryBucketSuffix)) {
    return Refuse(
        uri,
        "S3 Express directory buckets (names that end in --x-s3) are not supported; use a "
        "general purpose bucket");
  }
  parsed.bucket = authority;
  const std::string_view path = slash < rest.size() ? rest.substr(slash + 1) : std::string_view();
  AIRFREIGHT_RETURN_IF_ERROR(TakePrefix(uri, path, parsed));
  return parsed;
}

// redis://[conn_id@]host[:port]/db[/prefix]
Result<StoreUri> ParseRedis(std::string_view uri, std::string_view scheme, std::string_view rest) {
  StoreUri parsed;
  parsed.scheme = scheme;
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parsed.connection = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    if (parsed.connection.empty()) return Refuse(uri, "the connection id before '@' is empty");
  }
  const auto address = redis::ParseAddress(authority, redis::kDefaultPort);
  if (!address) {
    return Refuse(uri, fmt::format("{} is no host with a port from 1 to 65535, as {}",
                                   Quoted(authority), kRedisExample));
  }
  parsed.host = address->host;
  parsed.port = address->port;
  std::string_view path = slash < rest.size() ? rest.substr(slash + 1) : std::string_view();
  const std::string_view database = path.substr(0, path.find('/'));
  const auto [end, error] =
      std::from_chars(database.data(), database.data() + database.size(), parsed.database);
  if (error != std::errc() || end != database.data() + database.size() || parsed.database < 0 ||
      database.front() == '-' || (database.size() > 1 && database.front() == '0')) {
    return Refuse(uri, fmt::format("the host is followed by the number of a database, as in {}",
                                   kRedisExample));
  }
  path.remove_prefix(std::min(database.size() + 1, path.size()));
  parsed.bucket = fmt::format("{}/{}", address->ToString(), parsed.database);
  AIRFREIGHT_RETURN_IF_ERROR(TakePrefix(uri, path, parsed));
  return parsed;
}

// True for `s3://key:secret@bucket`, as people write it who put keys into the URI. A secret key may
// itself hold slashes, so that the '@' may stand anywhere after the colon.
bool HoldsPassword(std::string_view uri) {
  const size_t start = uri.find("://");
  if (start == std::string_view::npos) return false;
  const std::string_view rest = uri.substr(start + 3);
  const size_t colon = rest.find(':');
  return colon < rest.find('/') && rest.find('@', colon) != std::string_view::npos;
}

}  // namespace

std::string StoreUri::Root() const {
  if (scheme == "file") return "file://" + directory;
  return prefix.empty() ? fmt::format("{}://{}", scheme, bucket)
                        : fmt::format("{}://{}/{}", scheme, bucket, prefix);
}

std::string StoreUri::FullKey(std::string_view key) const {
  return prefix.empty() ? std::string(key) : fmt::format("{}/{}", prefix, key);
}

Result<StoreUri> ParseStoreUri(std::string_view uri) {
  if (uri.empty()) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("no store is set. Right ones look like {}", kExamples));
  }
  if (HoldsPassword(uri)) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("the store's URI holds a password or secret key (not shown). Put it into "
                    "an Airflow connection and name that, or into the environment. Right ones "
                    "look like {}",
                    kExamples));
  }
  if (VisibleText(uri) != uri) {
    return Refuse(uri, "it holds a NUL, another control character or bytes that are not UTF-8");
  }
  if (uri.find_first_of("?#") != std::string_view::npos) {
    return Refuse(uri,
                  "'?' and '#' may not be in it; options are settings of their own, e.g. "
                  "[airfreight] s3_region");
  }
  const size_t colon = uri.find("://");
  if (colon == std::string_view::npos) return Refuse(uri, "it has no scheme");
  std::string_view scheme = uri.substr(0, colon);
  for (const auto& [alias, meant] : kAliases) {
    if (scheme == alias) scheme = meant;
  }
  const std::string_view rest = uri.substr(colon + 3);
  if (scheme == "file") return ParseFile(uri, rest);
  if (scheme == "redis" || scheme == "rediss") return ParseRedis(uri, scheme, rest);
  for (const Bucketed& kind : kBucketed) {
    if (scheme == kind.scheme) return ParseBucketed(uri, kind, rest);
  }
  return Refuse(
      uri,
      fmt::format("scheme {} is not known; the known ones are s3, gs, az, redis, rediss and file",
                  Quoted(scheme)));
}

}  // namespace airfreight
