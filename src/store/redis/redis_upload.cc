#include "store/redis/redis_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "store/basic_store.h"
#include "store/checks.h"

namespace airfreight::redis {
namespace {

/// An upload that has begun. See PartUpload; immutable but for the highest number, hence its
/// threads.
class RedisUpload final : public BasicUpload {
 public:
  RedisUpload(std::shared_ptr<Objects> objects, std::string_view key, PutOptions options,
              ObjectHead head)
      : BasicUpload(objects->uri().Root(), key),
        objects_(std::move(objects)),
        full_key_(objects_->uri().FullKey(key)),
        options_(std::move(options)),
        head_(std::move(head)) {}

 private:
  Result<UploadedPart> DoPutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                                 const Context& context) override {
    if (number < 1 || number > kMaxChunks || body.size() > kMaxChunkBytes) {
      return Fail(ErrorCode::kTooLarge,
                  fmt::format("part {} of {} bytes; Redis is given {} parts of at most {} bytes "
                              "(64 MiB)",
                              number, body.size(), kMaxChunks, kMaxChunkBytes));
    }
    for (int most = most_.load(); number > most && !most_.compare_exchange_weak(most, number);) {
    }
    AIRFREIGHT_RETURN_IF_ERROR(objects_->SendChunks(
        {ChunkKey(full_key_, head_.generation, static_cast<uint64_t>(number))}, {body}, context));
    return UploadedPart{number, offset, body.size(), crc32c,
                        fmt::format("{}/{}", head_.generation, number)};
  }

  Result<ObjectInfo> DoComplete(const std::vector<UploadedPart>& parts, const Condition& condition,
                                const Context& context) override {
    ObjectHead head = head_;
    AIRFREIGHT_ASSIGN_OR_RETURN(head.size, SizeOf(parts));
    for (const UploadedPart& part : parts) AppendChunk(head.chunks, part.size);
    Change change;
    change.full_key = full_key_;
    change.condition = condition;
    change.generation = head.generation;
    change.chunks = Objects::ChunkKeys(full_key_, head.generation, parts.size());
    change.ttl_seconds = objects_->Ttl(options_);
    AIRFREIGHT_ASSIGN_OR_RETURN(change.head, PrintHead(head));
    AIRFREIGHT_RETURN_IF_ERROR(objects_->Apply(change, context));
    return head.Info(key());
  }

  Status DoAbort(const Context& context) override {
    const auto most = static_cast<uint64_t>(most_.load());
    if (most == 0) return {};
    // A Complete whose reply was lost may have made them an object.
    const auto there = objects_->Look(full_key_, context);
    if (there && there->generation == head_.generation) return {};
    if (!there && (there.error().retryable || there.error().code == ErrorCode::kCancelled)) {
      return Fail(there.error());
    }
    return objects_->Discard(Objects::ChunkKeys(full_key_, head_.generation, most), context);
  }

  const std::shared_ptr<Objects> objects_;
  const std::string full_key_;
  const PutOptions options_;
  const ObjectHead head_;  // Without size and chunks.
  std::atomic<int> most_{0};
};

}  // namespace

Result<std::unique_ptr<PartUpload>> StartRedisUpload(std::shared_ptr<Objects> objects,
                                                     std::string_view key,
                                                     const PutOptions& options,
                                                     const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, objects->uri().prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, {}));
  AIRFREIGHT_ASSIGN_OR_RETURN(ObjectHead head, objects->NewHead(options, 0));
  return std::make_unique<RedisUpload>(std::move(objects), key, options, std::move(head));
}

}  // namespace airfreight::redis
