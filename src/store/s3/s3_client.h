#pragma once

/// \file
/// \brief What every request to S3 goes through: addressed, signed, performed, and corrected where
/// the answer itself says what was wrong.

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
#include "store/s3/credentials.h"
#include "store/s3/decoder.h"
#include "store/s3/options.h"
#include "store/s3/request_builder.h"
#include "store/uri.h"

namespace airfreight::s3 {

/// Room for an error document within a success, and for the small documents of uploads in parts.
inline constexpr uint64_t kMaxWriteAnswer = kMaxErrorDocument;

/// \brief Performs requests to one bucket.
///
/// A request is made once more, at once, only where the answer itself says what was wrong with it:
/// the bucket's region (remembered from then on), the clock, credentials that have expired, a
/// checksum that the store does not know (remembered where the same request succeeds without it).
/// Everything else is for the layer above.
///
/// Threads: Execute may be called from several at once; the mutex guards what was learnt and is not
/// held during a request. Ownership: owns transport and credentials; a request's body stays the
/// caller's; shared by the store and its uploads in parts. Fork: as ObjectStore. Blocking: as
/// HttpTransport; nothing is read from files or the network before the first request. Errors: as
/// ObjectStore, with the service's own code and request id; Invalid for a bucket that does not
/// exist.
class S3Client {
 public:
  using Clock = std::function<int64_t()>;  ///< Seconds since 1970.

  S3Client(StoreUri uri, S3Options options, std::unique_ptr<HttpTransport> transport,
           Environment environment, Clock clock);

  const StoreUri& uri() const { return uri_; }
  const S3Options& options() const { return options_; }

  /// Signs and performs `request`; an answer that is no success is an error here. `document` is
  /// where `sink` puts a success's body that may be an error document all the same; null for
  /// objects.
  ///
  /// \param checksums whether the request carries those that it has, in place of UsesChecksums():
  /// of an upload that has begun with or without, which what others learn meanwhile must not
  /// change. Cleared when the store refuses them.
  Result<HttpResponse> Execute(const S3Request& request, const Context& context, ResponseSink* sink,
                               const BufferSink* document,
                               std::atomic<bool>* own_checksums = nullptr);

  /// Whether uploads carry checksums: as the settings say, and under `auto` until the store has
  /// refused them.
  bool UsesChecksums() const;

 private:
  /// Where requests go, found out at the first one and corrected by answers.
  struct Target {
    Endpoint endpoint;
    std::string region;
    bool own_endpoint = false;  ///< The endpoint follows from the region.
    int64_t clock_offset = 0;   ///< The server's clock less ours.
  };

  Result<Target> CurrentTarget();
  /// False: nothing has changed, and the request would fail again.
  Result<bool> Apply(const Correction& correction, const Credentials& used, const Context& context);

  const StoreUri uri_;
  const S3Options options_;
  const std::unique_ptr<HttpTransport> transport_;
  const Environment environment_;
  const Clock clock_;
  const std::unique_ptr<CredentialsChain> credentials_;
  void NoteRefusal(bool named);

  SigningKeys keys_;
  std::atomic<bool> checksums_refused_{false};
  std::atomic<int> guessed_refusals_{0};
  std::mutex mutex_;
  std::optional<Target> target_;
};

}  // namespace airfreight::s3
