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
#include "store/basic_store.h"
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
class AzureStore final : public BasicStore {
 public:
  using Clock = AzureClient::Clock;

  AzureStore(StoreUri uri, AzureOptions options, std::unique_ptr<HttpTransport> transport,
             Environment environment, Clock clock);

  std::string_view scheme() const override { return "az"; }
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
  /// A success where the blob is another by now, or gone.
  Status RemoveWhereStill(const std::string& full_key, const std::string& tag,
                          const Context& context);

  const std::shared_ptr<AzureClient> client_;
};

/// What every Azure store can do.
Capabilities AzureCapabilities();

}  // namespace azure

/// Settings: see `azure::ParseAzureOptions`. Makes no request and reads no file. Invalid when a
/// setting is wrong.
Result<std::shared_ptr<ObjectStore>> OpenAzureStore(const StoreUri& uri,
                                                    const StoreSettings& settings);

}  // namespace airfreight
