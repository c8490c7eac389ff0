#pragma once

/// \file
/// \brief ObjectStore on Amazon S3 and on what speaks its protocol.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/basic_store.h"
#include "store/s3/options.h"
#include "store/s3/s3_client.h"
#include "store/uri.h"

namespace airfreight {
namespace s3 {

/// \brief A bucket and a prefix in it.
///
/// Each verb is exactly one request, but for the corrections that S3Client makes.
///
/// Threads: every method may be called from several at once. Ownership: shares its client with the
/// uploads that it has started; a request's body stays the caller's. Fork, blocking: as S3Client.
/// Errors: as S3Client, with store and key.
class S3Store final : public BasicStore {
 public:
  using Clock = S3Client::Clock;

  S3Store(StoreUri uri, S3Options options, std::unique_ptr<HttpTransport> transport,
          Environment environment, Clock clock);

  std::string_view scheme() const override { return "s3"; }
  Capabilities capabilities() const override;

 private:
  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context) override;
  Result<ObjectInfo> DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                            const Context& context) override;
  Result<std::unique_ptr<PartUpload>> DoStartUpload(std::string_view key, const PutOptions& options,
                                                    const Context& context) override;
  Result<ObjectInfo> DoHead(std::string_view key, const Context& context) override;
  Status DoRemove(std::string_view key, const Condition& condition,
                  const Context& context) override;
  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context) override;
  Result<VersionPage> DoListVersions(std::string_view prefix, std::string_view token, int limit,
                                     const Context& context) override;
  Result<ObjectInfo> DoHeadVersion(std::string_view key, std::string_view id,
                                   const Context& context) override;
  Status DoRemoveVersion(std::string_view key, std::string_view id,
                         const Context& context) override;
  Result<UploadPage> DoListUploads(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override;
  Status DoAbortUpload(std::string_view key, std::string_view id, const Context& context) override;

  const std::shared_ptr<S3Client> client_;
};

}  // namespace s3

/// Settings: see `s3::ParseS3Options`. Makes no request and reads no file. Invalid when a setting
/// is wrong.
Result<std::shared_ptr<ObjectStore>> OpenS3Store(const StoreUri& uri,
                                                 const StoreSettings& settings);

}  // namespace airfreight
