#pragma once

/// \file
/// \brief What the faultless service behind a script has in common, whatever its protocol, and the
/// table of those that there are.

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "airfreight/store.h"
#include "faults/fault_server.h"
#include "http/headers.h"

namespace airfreight::faults {

/// An answer before it becomes bytes, so that a script can change it.
struct Reply {
  int status = 200;
  Headers headers;
  std::string body;
};

/// The parts of a request's target.
struct Target {
  std::string path;
  std::map<std::string, std::string> query;  ///< Encoded, as sent.
};
Target ParseTarget(std::string_view target);

/// \brief A service without faults, with its objects in memory. Objects go by their full keys in
/// the one bucket that there is, "xcom/k".
///
/// Threads: may be called from several at once.
class FakeService {
 public:
  virtual ~FakeService() = default;
  virtual Reply Perform(const Request& request) = 0;
  /// Another writer replaces the object that `request` is about: other bytes of the same length,
  /// another write id.
  virtual void Replace(const Request& request) = 0;
  /// Number of uploads that were neither completed nor aborted.
  virtual size_t open_uploads() const = 0;
  /// Without what uploads that are open have sent.
  virtual size_t object_count() const = 0;
  /// Whether the object is there and has these bytes.
  virtual bool Holds(std::string_view key, std::string_view body) const = 0;
};

/// \brief How a kind of store is opened, spoken to and played. Plain functions: a case has one.
struct Dialect {
  std::string_view store;  ///< What a case's `store` says.
  std::string_view uri;    ///< Of the store that is opened: bucket "bucket", prefix "xcom".
  /// In the keys that Settings and WriteCredentials give; no message may hold it.
  std::string_view secret;
  /// Placeholders of requests and what they stand for: for each of "object" and "key" at least the
  /// path of the key that is given, encoded as it is sent.
  std::map<std::string, std::string> (*names)(std::string_view name, std::string_view key);
  /// An error document as the service writes it; `more` goes in beside code and message.
  std::string (*error)(std::string_view code, std::string_view message, std::string_view more);
  /// For a server at `url`; `keys` is false where a credentials file has them.
  StoreSettings (*settings)(const std::string& url, bool keys);
  /// Takes what this machine says of credentials and proxies out of the environment.
  void (*set_environment)(const std::string& credentials_path);
  /// Writes a credentials file that names this key or token.
  void (*write_credentials)(const std::string& path, const std::string& id);
  std::unique_ptr<FakeService> (*make)();
};

/// Null when there is none of this name.
const Dialect* FindDialect(std::string_view store);

/// Where Freight keeps the value of the coordinate that the runner uses: `{object}` in a case.
inline constexpr std::string_view kObject = "xcom/d/r/t/map_-1/k.bin";
/// Where the store's own verbs go: `{key}`.
inline constexpr std::string_view kKey = "xcom/k";

}  // namespace airfreight::faults
