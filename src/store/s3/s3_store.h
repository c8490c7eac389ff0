#pragma once

/// \file
/// \brief ObjectStore on Amazon S3 and on what speaks its protocol.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/s3/credentials.h"
#include "store/s3/decoder.h"
#include "store/s3/options.h"
#include "store/s3/request_builder.h"
#include "store/uri.h"

namespace airfreight {
namespace s3 {

/// \brief A bucket and a prefix in it.
///
/// Each verb is exactly one request. The same request is made once more, at once, only where the
/// answer itself says what was wrong with it: the bucket's region (remembered from then on), the
/// clock, credentials that have expired. Everything else is for the layer above.
///
/// Threads: every method may be called from several at once; the mutex guards what was learnt and
/// is not held during a request. Ownership: owns transport and credentials; a request's body stays
/// the caller's. Fork: as ObjectStore. Blocking: as HttpTransport; nothing is read from files or
/// the network before the first request. Errors: as ObjectStore, with the service's own code and
/// request id; Invalid for a bucket that does not exist.
class S3Store final : public ObjectStore {
 public:
  using Clock = std::function<int64_t()>;  ///< Seconds since 1970.

  S3Store(StoreUri uri, S3Options options, std::unique_ptr<HttpTransport> transport,
          Environment environment, Clock clock);

  const std::string& root() const override { return root_; }
  std::string_view scheme() const override { return "s3"; }
  Capabilities capabilities() const override;

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override;
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override;
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override;
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override;
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override;

 private:
  /// Where requests go, found out at the first one and corrected by answers.
  struct Target {
    Endpoint endpoint;
    std::string region;
    bool own_endpoint = false;  ///< The endpoint follows from the region.
    int64_t clock_offset = 0;   ///< The server's clock less ours.
  };

  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context);
  Result<GetResult> DoGet(std::string_view key, const GetOptions& options, const Context& context);
  Result<ObjectInfo> DoHead(std::string_view key, const Context& context);
  Status DoRemove(std::string_view key, const Condition& condition, const Context& context);
  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context);

  /// Signs and performs `request`; an answer that is no success is an error here. `document` is
  /// where `sink` puts a success's body that may be an error document all the same; null for
  /// objects.
  Result<HttpResponse> Execute(const S3Request& request, const Context& context, ResponseSink* sink,
                               const BufferSink* document);
  Result<Target> CurrentTarget();
  Status Apply(const Correction& correction, const Credentials& used, const Context& context);

  const StoreUri uri_;
  const std::string root_;
  const S3Options options_;
  const std::unique_ptr<HttpTransport> transport_;
  const Environment environment_;
  const Clock clock_;
  const std::unique_ptr<CredentialsChain> credentials_;
  std::mutex mutex_;
  std::optional<Target> target_;
};

}  // namespace s3

/// Settings: see `s3::ParseS3Options`. Makes no request and reads no file. Invalid when a setting
/// is wrong.
Result<std::shared_ptr<ObjectStore>> OpenS3Store(const StoreUri& uri,
                                                 const StoreSettings& settings);

}  // namespace airfreight
