#include "store/memory/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/fork_local.h"
#include "base/random.h"
#include "store/basic_store.h"
#include "store/checks.h"
#include "store/marker.h"

namespace airfreight {
namespace {

// How much is copied between two looks at the caller's wishes: some milliseconds' worth.
constexpr size_t kPiece = size_t{16} << 20;
// What a sink is given at once: what it does with it then happens in the processor's cache.
constexpr size_t kReadPiece = size_t{512} << 10;

struct Object {
  Buffer bytes;
  std::string version;
  Metadata metadata;
  int64_t modified_unix = 0;
};

struct Part {
  UploadedPart told;
  Buffer bytes;
};

// The parts of an upload, until it ends.
struct Pending {
  std::mutex mutex;
  std::map<int, Part> parts;
  int64_t started_unix = 0;
  bool ended = false;
};

// What one name holds. An Object is immutable once it is in the map, so that readers copy from it
// without the lock, and a replaced one lives until its last reader is done.
struct Space {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Object>, std::less<>> objects;
  std::map<Marker, std::shared_ptr<Pending>> uploads;  // By full key and id.
  uint64_t writes = 0;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Space>, std::less<>> spaces;
};

std::shared_ptr<Space> FindSpace(const std::string& name) {
  // Never destroyed: a store may be used by whatever runs last in a process.
  static auto* const registries =
      new ForkLocal<Registry>([] { return std::make_unique<Registry>(); });
  Registry& registry = registries->Get();
  const std::lock_guard lock(registry.mutex);
  auto& space = registry.spaces[name];
  if (space == nullptr) space = std::make_shared<Space>();
  return space;
}

Status Copy(std::byte* to, ByteView from, const Context& context) {
  while (!from.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    const size_t piece = std::min(from.size(), kPiece);
    std::memcpy(to, from.data(), piece);
    to += piece;
    from = from.subspan(piece);
  }
  return {};
}

bool Holds(const Condition& condition, const Object* current) {
  switch (condition.kind) {
    case Condition::Kind::kNone:
      return true;
    case Condition::Kind::kAbsent:
      return current == nullptr;
    case Condition::Kind::kVersion:
      return current != nullptr && current->version == condition.version;
  }
  return false;
}

Result<Buffer> Copied(const Body& body, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(body.size()));
  bytes.Resize(body.size());
  std::byte* to = bytes.data();
  for (const ByteView segment : body.segments()) {
    AIRFREIGHT_RETURN_IF_ERROR(Copy(to, segment, context));
    to += segment.size();
  }
  return bytes;
}

ObjectInfo Describe(std::string_view key, const Object& object) {
  return {std::string(key), object.bytes.size(), object.version, object.metadata,
          object.modified_unix};
}

// Makes `object` that of a key, where the condition holds.
Status Publish(const std::string& name, const std::string& full_key,
               const std::shared_ptr<Object>& object, const Condition& condition) {
  const auto space = FindSpace(name);
  const std::lock_guard lock(space->mutex);
  const auto found = space->objects.find(full_key);
  if (!Holds(condition, found == space->objects.end() ? nullptr : found->second.get())) {
    return Fail(ErrorCode::kConditionFailed, "the object is not what the write was to replace");
  }
  object->version = fmt::format("\"{}\"", ++space->writes);
  space->objects.insert_or_assign(full_key, object);
  return {};
}

// Makes an end of an upload; whoever has it finds it ended.
void EndUpload(const std::string& name, const Marker& place) {
  std::shared_ptr<Pending> pending;
  {
    const auto space = FindSpace(name);
    const std::lock_guard lock(space->mutex);
    const auto found = space->uploads.find(place);
    if (found == space->uploads.end()) return;
    pending = std::move(found->second);
    space->uploads.erase(found);
  }
  const std::lock_guard lock(pending->mutex);
  pending->ended = true;
  pending->parts.clear();
}

// Parts in memory. As strict as a server is, since it is what the callers of uploads are tested on.
class MemoryUpload final : public BasicUpload {
 public:
  MemoryUpload(const StoreUri& uri, std::string root, std::string_view key, std::string id,
               PutOptions options)
      : BasicUpload(std::move(root), key),
        space_(uri.bucket),
        place_{uri.FullKey(key), std::move(id)},
        options_(std::move(options)),
        pending_(std::make_shared<Pending>()) {
    pending_->started_unix = std::time(nullptr);
    const auto space = FindSpace(space_);
    const std::lock_guard lock(space->mutex);
    space->uploads[place_] = pending_;
  }

 private:
  static tl::unexpected<Error> Ended() {
    return Fail(ErrorCode::kNotFound, "the upload was completed or given up before");
  }

  Result<UploadedPart> DoPutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                                 const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    if (number < 1 || number > Capabilities().max_parts) {
      return Fail(ErrorCode::kInvalid, fmt::format("there is no part {}", number));
    }
    Part part;
    AIRFREIGHT_ASSIGN_OR_RETURN(part.bytes, Copied(body, context));
    if (Crc32c(part.bytes.view()) != crc32c) {
      return Fail(ErrorCode::kCorrupt, "the part is not what its checksum says");
    }
    const std::lock_guard lock(pending_->mutex);
    if (pending_->ended) return Ended();
    part.told = {number, offset, body.size(), crc32c, fmt::format("{}-{}", number, ++writes_)};
    UploadedPart told = part.told;
    pending_->parts.insert_or_assign(number, std::move(part));
    return told;
  }

  Result<ObjectInfo> DoComplete(const std::vector<UploadedPart>& parts, const Condition& condition,
                                const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    auto object = std::make_shared<Object>();
    {
      const std::lock_guard lock(pending_->mutex);
      AIRFREIGHT_ASSIGN_OR_RETURN(object->bytes, Joined(parts, context));
    }
    object->metadata = options_.metadata;
    object->modified_unix = std::time(nullptr);
    AIRFREIGHT_RETURN_IF_ERROR(Publish(space_, place_.key, object, condition));
    EndUpload(space_, place_);
    return Describe(key(), *object);
  }

  Status DoAbort(const Context& /*context*/) override {
    EndUpload(space_, place_);
    return {};
  }

  // With the lock.
  Result<Buffer> Joined(const std::vector<UploadedPart>& parts, const Context& context) const {
    if (pending_->ended) return Ended();
    Body whole;
    int number = 0;
    for (const UploadedPart& part : parts) {
      const auto found = pending_->parts.find(part.number);
      if (part.number != ++number || found == pending_->parts.end() ||
          found->second.told.tag != part.tag || part.offset != whole.size()) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("part {} is not what follows the ones before it", part.number));
      }
      whole.Append(found->second.bytes.view());
    }
    return Copied(whole, context);
  }

  const std::string space_;
  const Marker place_;
  const PutOptions options_;
  const std::shared_ptr<Pending> pending_;
  uint64_t writes_ = 0;  // With the lock of what is pending.
};

class MemoryStore final : public BasicStore {
 public:
  explicit MemoryStore(StoreUri uri) : BasicStore(uri.Root()), uri_(std::move(uri)) {}

  std::string_view scheme() const override { return "memory"; }
  Capabilities capabilities() const override {
    Capabilities capabilities;
    capabilities.parts = true;
    capabilities.uploads = true;
    return capabilities;
  }

 private:
  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
    AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities()));
    auto object = std::make_shared<Object>();
    AIRFREIGHT_ASSIGN_OR_RETURN(object->bytes, Copied(body, context));
    object->metadata = options.metadata;
    object->modified_unix = std::time(nullptr);
    AIRFREIGHT_RETURN_IF_ERROR(Publish(uri_.bucket, uri_.FullKey(key), object, options.condition));
    return Describe(key, *object);
  }

  Result<std::unique_ptr<PartUpload>> DoStartUpload(std::string_view key, const PutOptions& options,
                                                    const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
    AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities()));
    AIRFREIGHT_ASSIGN_OR_RETURN(std::string id, RandomHex128());
    return std::make_unique<MemoryUpload>(uri_, root(), key, std::move(id), options);
  }

  // The object, and the part of it that is asked for.
  Result<std::shared_ptr<const Object>> FindRange(std::string_view key, const GetOptions& options,
                                                  const Context& context, Range* range) {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto object, Find(key, context));
    if (!options.if_version.empty() && options.if_version != object->version) {
      return Fail(ErrorCode::kConditionFailed, "the object has changed");
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(*range, ClipRange(options, object->bytes.size()));
    return object;
  }

  Result<GetResult> DoGet(std::string_view key, const GetOptions& options,
                          const Context& context) override {
    Range range;
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto object, FindRange(key, options, context, &range));
    GetResult result;
    result.info = Describe(key, *object);
    AIRFREIGHT_ASSIGN_OR_RETURN(
        result.body,
        Copied(Body(object->bytes.view().subspan(range.offset, range.length)), context));
    return result;
  }

  Result<ObjectInfo> DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                            const Context& context) override {
    Range range;
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto object, FindRange(key, options, context, &range));
    AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(Describe(key, *object)));
    ByteView rest = object->bytes.view().subspan(range.offset, range.length);
    while (!rest.empty()) {
      AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
      const ByteView piece = rest.first(std::min(rest.size(), kReadPiece));
      AIRFREIGHT_RETURN_IF_ERROR(sink.Write(piece));
      rest = rest.subspan(piece.size());
    }
    return Describe(key, *object);
  }

  Result<ObjectInfo> DoHead(std::string_view key, const Context& context) override {
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto object, Find(key, context));
    return Describe(key, *object);
  }

  Status DoRemove(std::string_view key, const Condition& condition,
                  const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
    const auto space = FindSpace(uri_.bucket);
    const std::lock_guard lock(space->mutex);
    const auto found = space->objects.find(uri_.FullKey(key));
    const bool there = found != space->objects.end();
    if (!Holds(condition, there ? found->second.get() : nullptr)) {
      return Fail(ErrorCode::kConditionFailed, "the object is not the one that was to be removed");
    }
    if (there) space->objects.erase(found);
    return {};
  }

  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
    const std::string full_prefix = uri_.FullKey(prefix);
    const size_t strip = full_prefix.size() - prefix.size();
    const auto space = FindSpace(uri_.bucket);
    const std::lock_guard lock(space->mutex);
    const std::string after = uri_.FullKey(token);
    auto next = !token.empty() && after >= full_prefix ? space->objects.upper_bound(after)
                                                       : space->objects.lower_bound(full_prefix);
    ListPage page;
    for (; next != space->objects.end() && next->first.starts_with(full_prefix); ++next) {
      if (page.objects.size() == static_cast<size_t>(limit)) {
        page.next_token = page.objects.back().key;
        break;
      }
      page.objects.push_back(Describe(std::string_view(next->first).substr(strip), *next->second));
      page.objects.back().metadata.clear();
    }
    return page;
  }

  Result<UploadPage> DoListUploads(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
    AIRFREIGHT_ASSIGN_OR_RETURN(const Marker after, ParseMarker(token));
    const std::string full_prefix = uri_.FullKey(prefix);
    const size_t strip = full_prefix.size() - prefix.size();
    const auto space = FindSpace(uri_.bucket);
    const std::lock_guard lock(space->mutex);
    auto next = space->uploads.upper_bound(std::max(after, Marker{full_prefix, {}}));
    UploadPage page;
    for (; next != space->uploads.end() && next->first.key.starts_with(full_prefix); ++next) {
      if (page.uploads.size() == static_cast<size_t>(limit)) {
        page.next_token = PrintMarker(std::prev(next)->first);
        break;
      }
      page.uploads.push_back(
          {next->first.key.substr(strip), next->first.id, next->second->started_unix});
    }
    return page;
  }

  Status DoAbortUpload(std::string_view key, std::string_view id, const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
    EndUpload(uri_.bucket, {uri_.FullKey(key), std::string(id)});
    return {};
  }

  Result<std::shared_ptr<const Object>> Find(std::string_view key, const Context& context) const {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
    const auto space = FindSpace(uri_.bucket);
    const std::lock_guard lock(space->mutex);
    const auto found = space->objects.find(uri_.FullKey(key));
    if (found != space->objects.end()) return found->second;
    return Fail(ErrorCode::kNotFound,
                "no object at this key in the memory of this process (a memory store is seen by no "
                "other process)");
  }

  const StoreUri uri_;
};

}  // namespace

Result<std::shared_ptr<ObjectStore>> OpenMemoryStore(const StoreUri& uri,
                                                     const StoreSettings& settings) {
  if (!settings.empty()) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("setting {} is not known to a memory store, which has none",
                            Quoted(settings.begin()->first)));
  }
  return std::make_shared<MemoryStore>(uri);
}

}  // namespace airfreight
