#pragma once

/// \file
/// \brief What every request to Azure goes through: addressed, signed, performed, and corrected
/// where the answer itself says what was wrong.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/azure/credentials.h"
#include "store/azure/decoder.h"
#include "store/azure/options.h"
#include "store/azure/request_builder.h"
#include "store/uri.h"

namespace airfreight::azure {

/// \brief Performs requests to one container.
///
/// A request is made once more, at once, only where the answer itself says what was wrong with it:
/// the clock, or a token that is not taken any more. Everything else is for the layer above. A
/// token or a signature leaves this machine over TLS only.
///
/// Threads: Execute may be called from several at once; the mutex guards what was learnt and is not
/// held during a request. Ownership: owns transport and credentials; a request's body stays the
/// caller's; shared by the store and its uploads in parts. Fork: as ObjectStore. Blocking: as
/// HttpTransport; nothing is read from files or the network before the first request. Errors: as
/// ObjectStore, with the service's own code and request id; Invalid for a container that does not
/// exist. No message holds a URL's query.
class AzureClient {
 public:
  using Clock = std::function<int64_t()>;  ///< Seconds since 1970.

  AzureClient(StoreUri uri, AzureOptions options, std::unique_ptr<HttpTransport> transport,
              Environment environment, Clock clock);

  const StoreUri& uri() const { return uri_; }
  const AzureOptions& options() const { return options_; }
  /// The checksum that an upload of `body` is to carry, as the settings have it.
  Checksum ChecksumOf(const Body& body) const {
    return azure::ChecksumOf(options_.checksums, body);
  }

  /// Signs and performs `request`; an answer that is no success is an error here.
  Result<HttpResponse> Execute(const AzureRequest& request, const Context& context,
                               ResponseSink* sink);

 private:
  /// Where requests go, found out at the first one and corrected by answers.
  struct Target {
    Account account;
    int64_t clock_offset = 0;  ///< The server's clock less ours.
  };

  Result<Target> CurrentTarget();
  Status CheckSafe(const Credential& credential, const Account& account) const;
  /// False: nothing has changed, and the request would fail again.
  Result<bool> Apply(const Correction& correction, const Credential& used, const Context& context);

  const StoreUri uri_;
  const AzureOptions options_;
  const std::unique_ptr<HttpTransport> transport_;
  const Environment environment_;
  const Clock clock_;
  const std::unique_ptr<CredentialsChain> credentials_;

  std::mutex mutex_;
  std::optional<Target> target_;
};

}  // namespace airfreight::azure
