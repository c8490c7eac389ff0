#include "store/s3/s3_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/crc32c.h"
#include "base/time.h"
#include "http/curl_transport.h"
#include "store/checks.h"
#include "store/cloud/object_head.h"
#include "store/cloud/object_sink.h"
#include "store/s3/decoder.h"
#include "store/s3/request_builder.h"
#include "store/s3/s3_upload.h"

namespace airfreight {
namespace s3 {
namespace {

// A page of 1,000 keys of 1,024 bytes, each byte encoded as three and with its other elements
// around it, has below 4 MiB; ten times that is no page.
constexpr uint64_t kMaxListAnswer = uint64_t{40} << 20;

}  // namespace

S3Store::S3Store(StoreUri uri, S3Options options, std::unique_ptr<HttpTransport> transport,
                 Environment environment, Clock clock)
    : BasicStore(uri.Root()),
      client_(std::make_shared<S3Client>(std::move(uri), std::move(options), std::move(transport),
                                         std::move(environment), std::move(clock))) {}

Capabilities S3Store::capabilities() const { return CapabilitiesOf(client_->options()); }

Result<ObjectInfo> S3Store::DoPut(std::string_view key, const Body& body, const PutOptions& options,
                                  const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities()));
  if (body.size() > kMaxPutBytes) {
    return Fail(ErrorCode::kTooLarge,
                fmt::format("{} bytes; S3 takes at most {} (5 GiB) in one request", body.size(),
                            kMaxPutBytes));
  }
  PutOptions put = options;
  if (!put.crc32c && client_->UsesChecksums()) put.crc32c = Crc32c(body);
  BufferSink answer(kMaxWriteAnswer);
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const HttpResponse response,
      client_->Execute(BuildPut(uri.FullKey(key), body, put, client_->options()), context, &answer,
                       &answer));
  return WrittenInfo(key, body.size(), options.metadata, response);
}

Result<ObjectInfo> S3Store::DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                                   const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  ObjectSink object(key, options, sink, &DecodeInfo);
  const auto response = client_->Execute(BuildGet(uri.FullKey(key), options, client_->options()),
                                         context, &object, nullptr);
  if (!response) return Fail(response.error());
  return object.Finish();
}

Result<ObjectInfo> S3Store::DoHead(std::string_view key, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const HttpResponse response,
      client_->Execute(BuildHead(uri.FullKey(key), client_->options()), context, nullptr, nullptr));
  return DecodeInfo(key, response);
}

Status S3Store::DoRemove(std::string_view key, const Condition& condition, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  BufferSink answer(kMaxWriteAnswer);
  const auto response = client_->Execute(
      BuildRemove(uri.FullKey(key), condition, client_->options()), context, &answer, &answer);
  return GoneIsFine(response);
}

Result<ListPage> S3Store::DoList(std::string_view prefix, std::string_view token, int limit,
                                 const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string under = uri.FullKey({});
  BufferSink answer(kMaxListAnswer);
  const auto response =
      client_->Execute(BuildList(under + std::string(prefix), token, limit, client_->options()),
                       context, &answer, &answer);
  if (!response) return Fail(response.error());
  return DecodeList(AsText(answer.view()), under);
}

Result<std::unique_ptr<PartUpload>> S3Store::DoStartUpload(std::string_view key,
                                                           const PutOptions& options,
                                                           const Context& context) {
  return StartS3Upload(client_, key, options, context);
}

}  // namespace s3

Result<std::shared_ptr<ObjectStore>> OpenS3Store(const StoreUri& uri,
                                                 const StoreSettings& settings) {
  AIRFREIGHT_ASSIGN_OR_RETURN(s3::S3Options options, s3::ParseS3Options(settings));
  auto transport = std::make_unique<CurlTransport>(options.transport);
  return std::make_shared<s3::S3Store>(uri, std::move(options), std::move(transport),
                                       Environment::OfProcess(), &UnixSecondsNow);
}

}  // namespace airfreight
