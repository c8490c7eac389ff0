#include "store/azure/azure_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/time.h"
#include "http/curl_transport.h"
#include "store/azure/azure_upload.h"
#include "store/azure/decoder.h"
#include "store/azure/request_builder.h"
#include "store/checks.h"
#include "store/cloud/object_head.h"
#include "store/cloud/object_sink.h"

namespace airfreight {
namespace azure {
namespace {

// A page of 1,000 names of 1,024 bytes, each byte written as five ("&amp;") or encoded as three and
// with its properties of some KiB around it, has below 10 MiB; four times that is no page.
constexpr uint64_t kMaxListAnswer = uint64_t{40} << 20;

}  // namespace

Capabilities AzureCapabilities() {
  Capabilities capabilities;
  capabilities.conditional_put = true;
  capabilities.conditional_remove = true;
  capabilities.max_put_bytes = kMaxPutBytes;
  capabilities.parts = true;
  capabilities.min_part_bytes = 1;
  capabilities.max_part_bytes = kMaxBlockBytes;
  capabilities.max_parts = kMaxBlocks;
  capabilities.max_object_bytes = kMaxObjectBytes;
  capabilities.encryption_key = true;
  capabilities.versions = true;
  capabilities.uploads = true;
  capabilities.parallel = true;
  // What Azure's own client for Python sends whole is 64 MiB
  // (learn.microsoft.com/azure/storage/blobs/storage-blobs-tune-upload-download-python).
  capabilities.parts_in_one_put = 8;
  capabilities.start_is_request = false;
  return capabilities;
}

AzureStore::AzureStore(StoreUri uri, AzureOptions options, std::unique_ptr<HttpTransport> transport,
                       Environment environment, Clock clock)
    : BasicStore(uri.Root()),
      client_(std::make_shared<AzureClient>(std::move(uri), std::move(options),
                                            std::move(transport), std::move(environment),
                                            std::move(clock))) {}

Capabilities AzureStore::capabilities() const { return AzureCapabilities(); }

Result<ObjectInfo> AzureStore::DoPut(std::string_view key, const Body& body,
                                     const PutOptions& options, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, uri.prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities()));
  if (body.size() > kMaxPutBytes) {
    return Fail(ErrorCode::kTooLarge,
                fmt::format("{} bytes; Azure takes at most {} (5000 MiB) in one request",
                            body.size(), kMaxPutBytes));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const HttpResponse response,
      client_->Execute(
          BuildPut(uri.FullKey(key), body, options, client_->ChecksumOf(body), client_->options()),
          context, nullptr));
  return WrittenInfo(key, body.size(), options.metadata, response);
}

Result<ObjectInfo> AzureStore::DoRead(std::string_view key, const GetOptions& options,
                                      ReadSink& sink, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, uri.prefix));
  ObjectSink object(key, options, sink, &DecodeInfo);
  const auto response = client_->Execute(BuildGet(uri.FullKey(key), options), context, &object);
  if (!response) return Fail(response.error());
  return object.Finish();
}

Result<ObjectInfo> AzureStore::DoHead(std::string_view key, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, uri.prefix));
  AIRFREIGHT_ASSIGN_OR_RETURN(const HttpResponse response,
                              client_->Execute(BuildHead(uri.FullKey(key)), context, nullptr));
  return DecodeInfo(key, response);
}

Status AzureStore::DoRemove(std::string_view key, const Condition& condition,
                            const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, uri.prefix));
  const auto response =
      client_->Execute(BuildRemove(uri.FullKey(key), condition), context, nullptr);
  return GoneIsFine(response);
}

Result<ListPage> AzureStore::DoList(std::string_view prefix, std::string_view token, int limit,
                                    const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string under = uri.FullKey({});
  BufferSink answer(kMaxListAnswer);
  const auto response =
      client_->Execute(BuildList(under + std::string(prefix), token, limit), context, &answer);
  if (!response) return Fail(response.error());
  return DecodeList(AsText(answer.view()), under);
}

Result<std::unique_ptr<PartUpload>> AzureStore::DoStartUpload(std::string_view key,
                                                              const PutOptions& options,
                                                              const Context& context) {
  return StartAzureUpload(client_, key, options, context);
}

}  // namespace azure

Result<std::shared_ptr<ObjectStore>> OpenAzureStore(const StoreUri& uri,
                                                    const StoreSettings& settings) {
  AIRFREIGHT_ASSIGN_OR_RETURN(azure::AzureOptions options, azure::ParseAzureOptions(settings));
  auto transport = std::make_unique<CurlTransport>(options.transport);
  return std::make_shared<azure::AzureStore>(uri, std::move(options), std::move(transport),
                                             Environment::OfProcess(), &UnixSecondsNow);
}

}  // namespace airfreight
