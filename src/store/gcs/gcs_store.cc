#include "store/gcs/gcs_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/crc32c.h"
#include "base/random.h"
#include "base/time.h"
#include "http/curl_transport.h"
#include "store/checks.h"
#include "store/cloud/object_head.h"
#include "store/cloud/object_sink.h"
#include "store/gcs/checked_sink.h"
#include "store/gcs/decoder.h"
#include "store/gcs/gcs_upload.h"
#include "store/gcs/request_builder.h"

namespace airfreight {
namespace gcs {
namespace {

// A page of 1,000 names of 1,024 bytes, each escaped as six, has below 7 MiB; five times that is no
// page.
constexpr uint64_t kMaxListAnswer = uint64_t{40} << 20;

}  // namespace

GcsStore::GcsStore(StoreUri uri, GcsOptions options, std::unique_ptr<HttpTransport> transport,
                   Environment environment, Clock clock)
    : BasicStore(uri.Root()),
      client_(std::make_shared<GcsClient>(std::move(uri), std::move(options), std::move(transport),
                                          std::move(environment), std::move(clock))) {}

Capabilities GcsStore::capabilities() const {
  Capabilities capabilities;
  capabilities.max_put_bytes = kMaxObjectBytes;
  capabilities.parts = true;
  capabilities.max_part_bytes = kMaxObjectBytes;
  capabilities.max_parts = kMaxParts;
  capabilities.max_object_bytes = kMaxObjectBytes;
  capabilities.encryption_key = true;
  capabilities.versions = true;
  capabilities.uploads = true;
  capabilities.parallel = true;
  // Parts are objects, each of them written and paid for, and joining them is one request more.
  // gcloud sends files of up to 150 MiB whole
  // (cloud.google.com/storage/docs/parallel-composite-uploads).
  capabilities.parts_in_one_put = 8;
  capabilities.start_is_request = false;
  return capabilities;
}

Result<ObjectInfo> GcsStore::DoPut(std::string_view key, const Body& body,
                                   const PutOptions& options, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckWrite(options));
  if (body.size() > kMaxObjectBytes) {
    return Fail(ErrorCode::kTooLarge,
                fmt::format("{} bytes; Google Cloud Storage takes at most {} (5 TiB)", body.size(),
                            kMaxObjectBytes));
  }
  const uint32_t crc32c = options.crc32c ? *options.crc32c : Crc32c(body);
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string boundary, RandomHex128());
  AIRFREIGHT_ASSIGN_OR_RETURN(
      ObjectResource written,
      client_->ExecuteForResource(BuildPut(uri.bucket, uri.FullKey(key), body, options, crc32c,
                                           boundary, client_->options()),
                                  key, context));
  if (written.info.size != body.size() || (written.crc32c && *written.crc32c != crc32c)) {
    return Fail(ErrorCode::kInternal, "the store confirmed other bytes than it was sent");
  }
  written.info.metadata = options.metadata;
  return std::move(written.info);
}

Result<ObjectInfo> GcsStore::DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                                    const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  ObjectSink object(key, options, sink, &DecodeInfo);
  CheckedSink checked(object, options.if_version);
  const auto response = client_->Execute(
      BuildGet(uri.bucket, uri.FullKey(key), options, client_->options()), context, &checked);
  if (!response) return Fail(response.error());
  return checked.Finish();
}

Result<ObjectInfo> GcsStore::DoHead(std::string_view key, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      ObjectResource found,
      client_->ExecuteForResource(BuildHead(uri.bucket, uri.FullKey(key), client_->options()), key,
                                  context));
  return std::move(found.info);
}

Status GcsStore::DoRemove(std::string_view key, const Condition& condition,
                          const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  BufferSink answer(kMaxErrorDocument);
  const auto response = client_->Execute(
      BuildRemove(uri.bucket, uri.FullKey(key), condition, client_->options()), context, &answer);
  return GoneIsFine(response);
}

Result<ListPage> GcsStore::DoList(std::string_view prefix, std::string_view token, int limit,
                                  const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string under = uri.FullKey({});
  BufferSink answer(kMaxListAnswer);
  const auto response = client_->Execute(
      BuildList(uri.bucket, under + std::string(prefix), token, limit, client_->options()), context,
      &answer);
  if (!response) return Fail(response.error());
  return DecodeList(AsText(answer.view()), under);
}

Result<std::unique_ptr<PartUpload>> GcsStore::DoStartUpload(std::string_view key,
                                                            const PutOptions& options,
                                                            const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  return StartGcsUpload(client_, key, options);
}

}  // namespace gcs

Result<std::shared_ptr<ObjectStore>> OpenGcsStore(const StoreUri& uri,
                                                  const StoreSettings& settings) {
  AIRFREIGHT_ASSIGN_OR_RETURN(gcs::GcsOptions options, gcs::ParseGcsOptions(settings));
  auto transport = std::make_unique<CurlTransport>(options.transport);
  return std::make_shared<gcs::GcsStore>(uri, std::move(options), std::move(transport),
                                         Environment::OfProcess(), &UnixSecondsNow);
}

}  // namespace airfreight
