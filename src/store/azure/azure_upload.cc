#include "store/azure/azure_upload.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "store/azure/azure_store.h"
#include "store/azure/request_builder.h"
#include "store/basic_store.h"
#include "store/checks.h"
#include "store/cloud/object_head.h"

namespace airfreight::azure {
namespace {

/// An upload that has begun. See PartUpload; immutable until it is given up, hence its threads.
class AzureUpload final : public BasicUpload {
 public:
  AzureUpload(std::shared_ptr<AzureClient> client, std::string_view key, PutOptions options,
              std::string id)
      : BasicUpload(client->uri().Root(), key),
        client_(std::move(client)),
        full_key_(client_->uri().FullKey(key)),
        options_(std::move(options)),
        id_(std::move(id)) {}

 private:
  static tl::unexpected<Error> GivenUp() {
    return Fail(ErrorCode::kNotFound, "the upload was given up");
  }

  Result<UploadedPart> DoPutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                                 const Context& context) override {
    if (given_up_) return GivenUp();
    if (number < 1 || number > kMaxBlocks || body.size() > kMaxBlockBytes) {
      return Fail(
          ErrorCode::kTooLarge,
          fmt::format("part {} of {} bytes; Azure takes {} parts of at most {} bytes (4000 MiB)",
                      number, body.size(), kMaxBlocks, kMaxBlockBytes));
    }
    UploadedPart part{number, offset, body.size(), crc32c, BlockId(id_, number)};
    AIRFREIGHT_RETURN_IF_ERROR(
        client_
            ->Execute(BuildPutBlock(full_key_, part.tag, body, options_, client_->ChecksumOf(body),
                                    client_->options()),
                      context, nullptr)
            .map([](const HttpResponse&) {}));
    return part;
  }

  Result<ObjectInfo> DoComplete(const std::vector<UploadedPart>& parts, const Condition& condition,
                                const Context& context) override {
    if (given_up_) return GivenUp();
    AIRFREIGHT_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(parts));
    const std::string document = BlockListDocument(parts);
    AIRFREIGHT_ASSIGN_OR_RETURN(
        const HttpResponse response,
        client_->Execute(BuildPutBlockList(full_key_, document, options_, condition,
                                           client_->ChecksumOf(Body(document)), client_->options()),
                         context, nullptr));
    return WrittenInfo(key(), size, options_.metadata, response);
  }

  Status DoAbort(const Context& /*context*/) override {
    given_up_ = true;
    return {};
  }

  const std::shared_ptr<AzureClient> client_;
  const std::string full_key_;
  const PutOptions options_;
  const std::string id_;
  bool given_up_ = false;  // Changed with no other call under way.
};

}  // namespace

Result<std::unique_ptr<PartUpload>> StartAzureUpload(std::shared_ptr<AzureClient> client,
                                                     std::string_view key,
                                                     const PutOptions& options,
                                                     const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, client->uri().prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, AzureCapabilities()));
  AIRFREIGHT_ASSIGN_OR_RETURN(std::string id, RandomHex128());
  return std::make_unique<AzureUpload>(std::move(client), key, options, std::move(id));
}

}  // namespace airfreight::azure
