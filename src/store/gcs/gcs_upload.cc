#include "store/gcs/gcs_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/random.h"
#include "store/basic_store.h"
#include "store/checks.h"
#include "store/for_each.h"
#include "store/gcs/request_builder.h"

namespace airfreight::gcs {
namespace {

// Requests at once where there is one for each part, or for each 32 of them.
constexpr int kAtOnce = 8;

// Of a part and of a group of them.
PutOptions PartOptions(std::string_view object_key, const PutOptions& options) {
  PutOptions part;
  part.encryption_key = options.encryption_key;
  part.metadata = PartMetadata(object_key);
  return part;
}

/// See PartUpload. The mutex guards the names of what was sent; the rest belongs to the one thread
/// that completes or aborts, but for each group, which is made by one thread.
class GcsUpload final : public BasicUpload {
 public:
  GcsUpload(std::shared_ptr<GcsClient> client, std::string_view key, PutOptions options,
            const std::string& id)
      : BasicUpload(client->uri().Root(), key),
        client_(std::move(client)),
        options_(std::move(options)),
        part_options_(PartOptions(key, options_)),
        id_(id),
        prefix_(client_->uri().FullKey(fmt::format("{}{}-", kPartsFolder, id))) {}

 private:
  std::string PartKey(int number) const { return fmt::format("{}{:04}", prefix_, number); }

  Result<UploadedPart> DoPutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                                 const Context& context) override {
    if (number < 1 || number > kMaxParts || body.size() > kMaxObjectBytes) {
      return Fail(ErrorCode::kTooLarge,
                  fmt::format("part {} of {} bytes; {} parts of at most {} bytes (5 TiB) become "
                              "one object",
                              number, body.size(), kMaxParts, kMaxObjectBytes));
    }
    const std::string part_key = PartKey(number);
    {
      // Before it is sent: what has no answer may be there all the same.
      const std::lock_guard lock(mutex_);
      sent_.insert(part_key);
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(
        const ObjectResource part,
        client_->ExecuteForResource(BuildPutPart(client_->uri().bucket, part_key, body, crc32c, id_,
                                                 part_options_, client_->options()),
                                    part_key, context));
    if (part.info.size != body.size() || (part.crc32c && *part.crc32c != crc32c)) {
      return Fail(ErrorCode::kInternal, "the store confirmed other bytes than the part has");
    }
    return UploadedPart{number, offset, body.size(), crc32c, part.info.version};
  }

  Result<ObjectInfo> DoComplete(const std::vector<UploadedPart>& parts, const Condition& condition,
                                const Context& context) override {
    auto done = CompleteOnce(parts, condition, context);
    // Whoever starts over begins another upload: what is left of this one goes now.
    if (!done && done.error().code == ErrorCode::kNotFound) (void)Clear(context);
    return done;
  }

  Status DoAbort(const Context& context) override { return Clear(context); }

  Result<ObjectInfo> CompleteOnce(const std::vector<UploadedPart>& parts,
                                  const Condition& condition, const Context& context) {
    AIRFREIGHT_RETURN_IF_ERROR(SizeOf(parts));
    std::vector<Component> components;
    if (parts.size() <= kMaxComposed) {
      components = ComponentsOf(parts, 0);
    } else {
      groups_.resize((parts.size() + kMaxComposed - 1) / kMaxComposed);
      AIRFREIGHT_RETURN_IF_ERROR(ForEach(
          groups_.size(), kAtOnce, context, [&](size_t index, const Context& own) -> Status {
            std::optional<Component>& group = groups_[index];
            if (group) return {};
            AIRFREIGHT_ASSIGN_OR_RETURN(group, JoinGroup(parts, index * kMaxComposed, own));
            return {};
          }));
      for (const std::optional<Component>& group : groups_) components.push_back(*group);
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info, Compose(client_->uri().FullKey(key()), components,
                                                         options_, condition, context));
    info.key = key();
    info.metadata = options_.metadata;
    ClearWhereLeft(context);
    return info;
  }

  std::vector<Component> ComponentsOf(const std::vector<UploadedPart>& parts, size_t first) const {
    std::vector<Component> components;
    for (size_t i = first; i < std::min(first + kMaxComposed, parts.size()); ++i) {
      components.push_back(
          {PartKey(parts[i].number), parts[i].tag, parts[i].size, parts[i].crc32c});
    }
    return components;
  }

  Result<Component> JoinGroup(const std::vector<UploadedPart>& parts, size_t first,
                              const Context& context) {
    Component group;
    group.key = fmt::format("{}g{:04}", prefix_, first / kMaxComposed);
    const std::vector<Component> components = ComponentsOf(parts, first);
    for (const Component& part : components) {
      group.size += part.size;
      group.crc32c = Crc32cCombine(group.crc32c, part.crc32c, part.size);
    }
    {
      const std::lock_guard lock(mutex_);
      sent_.insert(group.key);
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const ObjectInfo info, Compose(group.key, components, part_options_,
                                                               Condition::None(), context));
    group.generation = info.version;
    return group;
  }

  // One request; another where its parts are gone: an earlier one, whose reply was lost, may have
  // done it (the transport too sends once more what a kept connection has lost). Where a condition
  // does not hold, whoever set it looks at what lies there.
  Result<ObjectInfo> Compose(const std::string& full_key, const std::vector<Component>& components,
                             const PutOptions& put, const Condition& condition,
                             const Context& context) {
    uint64_t size = 0;
    uint32_t crc32c = 0;
    for (const Component& component : components) {
      size += component.size;
      crc32c = Crc32cCombine(crc32c, component.crc32c, component.size);
    }
    const std::string& bucket = client_->uri().bucket;
    auto made = client_->ExecuteForResource(
        BuildCompose(bucket, full_key, components, put, condition, client_->options()), full_key,
        context);
    if (made) {
      if (made->info.size != size || (made->crc32c && *made->crc32c != crc32c)) {
        return Fail(ErrorCode::kInternal,
                    "the store joined the parts to other bytes than they have");
      }
      return made->info;
    }
    Error error = std::move(made).error();
    if (error.code != ErrorCode::kNotFound) return Fail(std::move(error));
    // Ours, if it says of itself what only ours does: a name of this upload, or metadata, in which
    // Freight's write id is.
    const auto there = client_->ExecuteForResource(BuildHead(bucket, full_key, client_->options()),
                                                   full_key, context);
    // Not known yet whose it is: the layer above asks again.
    if (!there && there.error().retryable) return Fail(there.error());
    const bool own = there && there->info.size == size && there->crc32c == crc32c &&
                     there->info.metadata == put.metadata &&
                     (!options_.metadata.empty() || full_key.starts_with(prefix_));
    if (!own) return Fail(std::move(error));
    return there->info;
  }

  // Servers that pass for Google's (emulators) may not know that the parts are to go. The first one
  // tells. What fails here is no reason to fail: the object is there.
  void ClearWhereLeft(const Context& context) {
    const auto google = client_->IsGoogle();
    if (!google || *google) return;
    BufferSink answer(kMaxErrorDocument);
    const auto first = client_->Execute(
        BuildRemovePart(client_->uri().bucket, PartKey(1), client_->options()), context, &answer);
    if (first) (void)Clear(context);
  }

  Status Clear(const Context& context) {
    std::vector<std::string> names;
    {
      const std::lock_guard lock(mutex_);
      names.assign(sent_.begin(), sent_.end());
    }
    Status first_failure;
    // At once: a push that was cancelled has a second or two for it. One that fails ends no other.
    const Status ended =
        ForEach(names.size(), kAtOnce, context, [&](size_t index, const Context& own) -> Status {
          BufferSink answer(kMaxErrorDocument);
          const auto removed = client_->Execute(
              BuildRemovePart(client_->uri().bucket, names[index], client_->options()), own,
              &answer);
          const std::lock_guard lock(mutex_);
          if (removed || removed.error().code == ErrorCode::kNotFound) {
            sent_.erase(names[index]);
          } else if (first_failure) {
            first_failure = Fail(removed.error());
          }
          return {};
        });
    return first_failure ? ended : first_failure;
  }

  const std::shared_ptr<GcsClient> client_;
  const PutOptions options_;
  const PutOptions part_options_;
  const std::string id_;
  // Of its objects' names in the bucket. Not a folder of its own: in buckets with a hierarchical
  // namespace an empty one would stay, which no lifecycle rule removes
  // (cloud.google.com/storage/docs/hns-buckets-best-practices).
  const std::string prefix_;
  std::mutex mutex_;
  std::set<std::string> sent_;                    // Objects with that prefix that there may be.
  std::vector<std::optional<Component>> groups_;  // Of 32 parts each, as far as they are made.
};

}  // namespace

Result<std::unique_ptr<PartUpload>> StartGcsUpload(std::shared_ptr<GcsClient> client,
                                                   std::string_view key,
                                                   const PutOptions& options) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, client->uri().prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckWrite(options));
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string id, RandomHex128());
  return std::make_unique<GcsUpload>(std::move(client), key, options, id);
}

}  // namespace airfreight::gcs
