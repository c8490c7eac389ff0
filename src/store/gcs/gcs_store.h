#pragma once

/// \file
/// \brief ObjectStore on Google Cloud Storage, by its JSON API and, for the bytes of objects, its
/// XML API.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/basic_store.h"
#include "store/gcs/gcs_client.h"
#include "store/gcs/options.h"
#include "store/gcs/versions.h"
#include "store/uri.h"

namespace airfreight {
namespace gcs {

/// \brief A bucket and a prefix in it.
///
/// Each verb is exactly one request, but for the tokens that GcsClient renews. A version is an
/// object's generation: no two writes share one, whatever their bytes.
///
/// Threads: every method may be called from several at once. Ownership: shares its client with the
/// uploads that it has started; a request's body stays the caller's. Fork, blocking: as GcsClient.
/// Errors: as GcsClient, with store and key.
class GcsStore final : public BasicStore {
 public:
  using Clock = GcsClient::Clock;

  GcsStore(StoreUri uri, GcsOptions options, std::unique_ptr<HttpTransport> transport,
           Environment environment, Clock clock);

  std::string_view scheme() const override { return "gs"; }
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
  /// Of the parts whose names, behind the folder's, begin with `prefix`.
  Result<PartPage> ListParts(std::string_view prefix, std::string_view token, int limit,
                             const Context& context);
  Status RemoveGeneration(std::string_view full_key, std::string_view generation,
                          const Context& context);

  const std::shared_ptr<GcsClient> client_;
};

}  // namespace gcs

/// Settings: see `gcs::ParseGcsOptions`. Makes no request and reads no file. Invalid when a setting
/// is wrong.
Result<std::shared_ptr<ObjectStore>> OpenGcsStore(const StoreUri& uri,
                                                  const StoreSettings& settings);

}  // namespace airfreight
