#include "store/memory/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/fork_local.h"
#include "store/checks.h"

namespace airfreight {
namespace {

// How much is copied between two looks at the caller's wishes: some milliseconds' worth.
constexpr size_t kPiece = size_t{16} << 20;

struct Object {
  Buffer bytes;
  std::string version;
  Metadata metadata;
  int64_t modified_unix = 0;
};

// What one name holds. An Object is immutable once it is in the map, so that readers copy from it
// without the lock, and a replaced one lives until its last reader is done.
struct Space {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Object>, std::less<>> objects;
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

ObjectInfo Describe(std::string_view key, const Object& object) {
  return {std::string(key), object.bytes.size(), object.version, object.metadata,
          object.modified_unix};
}

class MemoryStore final : public ObjectStore {
 public:
  explicit MemoryStore(StoreUri uri) : uri_(std::move(uri)), root_(uri_.Root()) {}

  const std::string& root() const override { return root_; }
  std::string_view scheme() const override { return "memory"; }
  Capabilities capabilities() const override { return {}; }

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    return Place(key, DoPut(key, body, options, context));
  }
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override {
    return Place(key, DoGet(key, options, context));
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    auto object = Find(key, context);
    if (!object) return Place(key, Result<ObjectInfo>(Fail(std::move(object).error())));
    return Describe(key, **object);
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    return Place(key, DoRemove(key, condition, context));
  }
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override {
    return Place({}, DoList(prefix, token, limit, context));
  }

 private:
  template <typename T>
  Result<T> Place(std::string_view key, Result<T> result) const {
    if (!result) return Fail(Located(std::move(result).error(), root_, key));
    return result;
  }

  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
    AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options));
    auto object = std::make_shared<Object>();
    AIRFREIGHT_ASSIGN_OR_RETURN(object->bytes, Buffer::Allocate(body.size()));
    object->bytes.Resize(body.size());
    std::byte* to = object->bytes.data();
    for (const ByteView segment : body.segments()) {
      AIRFREIGHT_RETURN_IF_ERROR(Copy(to, segment, context));
      to += segment.size();
    }
    object->metadata = options.metadata;
    object->modified_unix = std::time(nullptr);

    const auto space = FindSpace(uri_.bucket);
    const std::lock_guard lock(space->mutex);
    const std::string full_key = uri_.FullKey(key);
    const auto found = space->objects.find(full_key);
    if (!Holds(options.condition, found == space->objects.end() ? nullptr : found->second.get())) {
      return Fail(ErrorCode::kConditionFailed, "the object is not what the write was to replace");
    }
    object->version = fmt::format("\"{}\"", ++space->writes);
    space->objects.insert_or_assign(full_key, object);
    return Describe(key, *object);
  }

  Result<GetResult> DoGet(std::string_view key, const GetOptions& options, const Context& context) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto object, Find(key, context));
    if (!options.if_version.empty() && options.if_version != object->version) {
      return Fail(ErrorCode::kConditionFailed, "the object has changed");
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const Range range, ClipRange(options, object->bytes.size()));
    GetResult result;
    result.info = Describe(key, *object);
    AIRFREIGHT_ASSIGN_OR_RETURN(result.body, Buffer::Allocate(range.length));
    result.body.Resize(range.length);
    AIRFREIGHT_RETURN_IF_ERROR(Copy(
        result.body.data(), object->bytes.view().subspan(range.offset, range.length), context));
    return result;
  }

  Status DoRemove(std::string_view key, const Condition& condition, const Context& context) {
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
                          const Context& context) {
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
  const std::string root_;
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
