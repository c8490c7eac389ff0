#pragma once

/// \file
/// \brief What every request to Google Cloud Storage goes through: addressed, given its token and
/// performed.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/gcs/credentials/credentials.h"
#include "store/gcs/decoder.h"
#include "store/gcs/options.h"
#include "store/gcs/request_builder.h"
#include "store/uri.h"

namespace airfreight::gcs {

/// \brief Performs requests to one bucket.
///
/// A request is made once more, at once, only where its token was refused (401) and another is to
/// be had; everything else is for the layer above.
///
/// Threads: Execute may be called from several at once; the mutex guards where requests go and is
/// not held during one. Ownership: owns transport and credentials; a request's bytes stay the
/// caller's; shared by the store and its uploads. Fork: as ObjectStore. Blocking: as HttpTransport;
/// nothing is read from files or the network before the first request. Errors: as ObjectStore.
class GcsClient {
 public:
  using Clock = std::function<int64_t()>;  ///< Seconds since 1970.

  GcsClient(StoreUri uri, GcsOptions options, std::unique_ptr<HttpTransport> transport,
            Environment environment, Clock clock);

  const StoreUri& uri() const { return uri_; }
  const GcsOptions& options() const { return options_; }

  /// Performs `request`; an answer that is no success is an error here.
  Result<HttpResponse> Execute(const GcsRequest& request, const Context& context,
                               ResponseSink* sink);
  /// The same, for what is answered with an object's description.
  Result<ObjectResource> ExecuteForResource(const GcsRequest& request, std::string_view key,
                                            const Context& context);

  /// Whether the server is Google's by its name, so that it is known to do what it is asked.
  Result<bool> IsGoogle();

 private:
  Result<Target> CurrentTarget();

  const StoreUri uri_;
  const GcsOptions options_;
  const std::unique_ptr<HttpTransport> transport_;
  const Environment environment_;
  const Clock clock_;
  std::mutex mutex_;
  std::optional<Target> target_;
  std::unique_ptr<TokenSource> tokens_;  // Made with the target.
};

}  // namespace airfreight::gcs
