#pragma once

/// \file
/// \brief ObjectStore on Azure Blob Storage.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/azure/azure_client.h"
#include "store/azure/options.h"
#include "store/uri.h"

namespace airfreight {
namespace azure {

/// \brief A container and a prefix in it.
///
/// Each verb is exactly one request, but for the corrections that AzureClient makes; to begin an
/// upload in parts takes none.
///
/// Threads: every method may be called from several at once. Ownership: shares its client with the
/// uploads that it has started; a request's body stays the caller's. Fork, blocking: as
/// AzureClient. Errors: as AzureClient, with store and key.
class AzureStore final : public ObjectStore {
 public:
  using Clock = AzureClient::Clock;

  AzureStore(StoreUri uri, AzureOptions options, std::unique_ptr<HttpTransport> transport,
             Environment environment, Clock clock);

  const std::string& root() const override { return root_; }
  std::string_view scheme() const override { return "az"; }
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
  /// A success where the blob is another by now, or gone.
  Status RemoveWhereStill(const std::string& full_key, const std::string& tag,
                          const Context& context);

  const std::shared_ptr<AzureClient> client_;
  const std::string root_;
};

/// What every Azure store can do.
Capabilities AzureCapabilities();

}  // namespace azure

/// Settings: see `azure::ParseAzureOptions`. Makes no request and reads no file. Invalid when a
/// setting is wrong.
Result<std::shared_ptr<ObjectStore>> OpenAzureStore(const StoreUri& uri,
                                                    const StoreSettings& settings);

}  // namespace airfreight
