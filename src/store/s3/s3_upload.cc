#include "store/s3/s3_upload.h"

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "store/basic_store.h"
#include "store/checks.h"
#include "store/s3/decoder.h"
#include "store/s3/request_builder.h"

namespace airfreight::s3 {
namespace {

// The answer to CompleteMultipartUpload may be preceded by blanks for as long as the server works:
// one a second for days would fit.
constexpr uint64_t kMaxCompleteAnswer = uint64_t{1} << 20;

/// An upload that has begun. See PartUpload; but for its checksums immutable, hence its threads.
class S3Upload final : public BasicUpload {
 public:
  S3Upload(std::shared_ptr<S3Client> client, std::string_view key, Metadata metadata,
           std::string id, bool checksums)
      : BasicUpload(client->uri().Root(), key),
        client_(std::move(client)),
        full_key_(client_->uri().FullKey(key)),
        metadata_(std::move(metadata)),
        id_(std::move(id)),
        checksums_(checksums) {}

 private:
  Result<UploadedPart> DoPutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                                 const Context& context) override {
    if (number < 1 || number > kMaxParts || body.size() > kMaxPartBytes) {
      return Fail(ErrorCode::kTooLarge,
                  fmt::format("part {} of {} bytes; S3 takes {} parts of at most {} bytes (5 GiB)",
                              number, body.size(), kMaxParts, kMaxPartBytes));
    }
    BufferSink answer(kMaxWriteAnswer);
    AIRFREIGHT_ASSIGN_OR_RETURN(
        const HttpResponse response,
        client_->Execute(BuildUploadPart(full_key_, id_, number, body, crc32c, client_->options()),
                         context, &answer, &answer, &checksums_));
    UploadedPart part{number, offset, body.size(), crc32c,
                      std::string(response.headers.Get("etag"))};
    if (part.tag.empty()) {
      return Fail(ErrorCode::kInternal, "the store confirmed a part without an ETag");
    }
    return part;
  }

  Result<ObjectInfo> DoComplete(const std::vector<UploadedPart>& parts, const Condition& condition,
                                const Context& context) override {
    ObjectInfo info;
    info.key = key();
    info.metadata = metadata_;
    AIRFREIGHT_ASSIGN_OR_RETURN(info.size, SizeOf(parts));

    const std::string document = CompleteDocument(parts, checksums_);
    BufferSink answer(kMaxCompleteAnswer);
    const auto response = client_->Execute(
        BuildCompleteUpload(full_key_, id_, document, condition, client_->options()), context,
        &answer, &answer);
    if (!response) return Fail(response.error());
    AIRFREIGHT_ASSIGN_OR_RETURN(info.version, DecodeCompleteUpload(AsText(answer.view())));
    return info;
  }

  Status DoAbort(const Context& context) override {
    BufferSink answer(kMaxWriteAnswer);
    const auto response = client_->Execute(BuildAbortUpload(full_key_, id_, client_->options()),
                                           context, &answer, &answer);
    // 404 is NoSuchUpload here: completed, or given up before.
    if (response || response.error().http_status == 404) return {};
    return Fail(response.error());
  }

  const std::shared_ptr<S3Client> client_;
  const std::string full_key_;
  const Metadata metadata_;
  const std::string id_;
  std::atomic<bool> checksums_;  // Said so when it began, and not refused since.
};

}  // namespace

Result<std::unique_ptr<PartUpload>> StartS3Upload(std::shared_ptr<S3Client> client,
                                                  std::string_view key, const PutOptions& options,
                                                  const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, client->uri().prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, CapabilitiesOf(client->options())));
  std::atomic<bool> checksums = client->UsesChecksums();
  BufferSink answer(kMaxWriteAnswer);
  const auto response =
      client->Execute(BuildCreateUpload(client->uri().FullKey(key), options, client->options()),
                      context, &answer, &answer, &checksums);
  if (!response) return Fail(response.error());
  AIRFREIGHT_ASSIGN_OR_RETURN(std::string id, DecodeCreateUpload(AsText(answer.view())));
  return std::make_unique<S3Upload>(std::move(client), key, options.metadata, std::move(id),
                                    checksums.load());
}

}  // namespace airfreight::s3
