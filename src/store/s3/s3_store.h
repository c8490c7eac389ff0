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
class S3Store final : public ObjectStore {
 public:
  using Clock = S3Client::Clock;

  S3Store(StoreUri uri, S3Options options, std::unique_ptr<HttpTransport> transport,
          Environment environment, Clock clock);

  const std::string& root() const override { return root_; }
  std::string_view scheme() const override { return "s3"; }
  Capabilities capabilities() const override;

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override;
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override;
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override;
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override;
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override;
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override;
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override;
  Result<VersionPage> ListVersions(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override;
  Result<ObjectInfo> HeadVersion(std::string_view key, std::string_view id,
                                 const Context& context) override;
  Status RemoveVersion(std::string_view key, std::string_view id, const Context& context) override;
  Result<UploadPage> ListUploads(std::string_view prefix, std::string_view token, int limit,
                                 const Context& context) override;
  Status AbortUpload(std::string_view key, std::string_view id, const Context& context) override;

 private:
  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context);
  Result<ObjectInfo> DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                            const Context& context);
  Result<ObjectInfo> DoHead(std::string_view key, const Context& context);
  Status DoRemove(std::string_view key, const Condition& condition, const Context& context);
  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context);
  Result<VersionPage> DoListVersions(std::string_view prefix, std::string_view token, int limit,
                                     const Context& context);
  Result<ObjectInfo> DoHeadVersion(std::string_view key, std::string_view id,
                                   const Context& context);
  Status DoRemoveVersion(std::string_view key, std::string_view id, const Context& context);
  Result<UploadPage> DoListUploads(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context);
  Status DoAbortUpload(std::string_view key, std::string_view id, const Context& context);

  const std::shared_ptr<S3Client> client_;
  const std::string root_;
};

}  // namespace s3

/// Settings: see `s3::ParseS3Options`. Makes no request and reads no file. Invalid when a setting
/// is wrong.
Result<std::shared_ptr<ObjectStore>> OpenS3Store(const StoreUri& uri,
                                                 const StoreSettings& settings);

}  // namespace airfreight
