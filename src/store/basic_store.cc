#include "store/basic_store.h"

#include <utility>

#include "store/checks.h"
#include "store/gather_sink.h"

namespace airfreight {
namespace {

template <typename T>
Result<T> Placed(const std::string& root, std::string_view key, Result<T> result) {
  if (!result) return Fail(Located(std::move(result).error(), root, key));
  return result;
}

}  // namespace

Result<ObjectInfo> BasicStore::Put(std::string_view key, const Body& body,
                                   const PutOptions& options, const Context& context) {
  return Placed(root_, key, DoPut(key, body, options, context));
}

Result<GetResult> BasicStore::Get(std::string_view key, const GetOptions& options,
                                  const Context& context) {
  return Placed(root_, key, DoGet(key, options, context));
}

Result<ObjectInfo> BasicStore::Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                                    const Context& context) {
  return Placed(root_, key, DoRead(key, options, sink, context));
}

Result<std::unique_ptr<PartUpload>> BasicStore::StartUpload(std::string_view key,
                                                            const PutOptions& options,
                                                            const Context& context) {
  return Placed(root_, key, DoStartUpload(key, options, context));
}

Result<ObjectInfo> BasicStore::Head(std::string_view key, const Context& context) {
  return Placed(root_, key, DoHead(key, context));
}

Status BasicStore::Remove(std::string_view key, const Condition& condition,
                          const Context& context) {
  return Placed(root_, key, DoRemove(key, condition, context));
}

Result<ListPage> BasicStore::List(std::string_view prefix, std::string_view token, int limit,
                                  const Context& context) {
  return Placed(root_, {}, DoList(prefix, token, limit, context));
}

Result<VersionPage> BasicStore::ListVersions(std::string_view prefix, std::string_view token,
                                             int limit, const Context& context) {
  return Placed(root_, {}, DoListVersions(prefix, token, limit, context));
}

Result<ObjectInfo> BasicStore::HeadVersion(std::string_view key, std::string_view id,
                                           const Context& context) {
  return Placed(root_, key, DoHeadVersion(key, id, context));
}

Status BasicStore::RemoveVersion(std::string_view key, std::string_view id,
                                 const Context& context) {
  return Placed(root_, key, DoRemoveVersion(key, id, context));
}

Result<UploadPage> BasicStore::ListUploads(std::string_view prefix, std::string_view token,
                                           int limit, const Context& context) {
  return Placed(root_, {}, DoListUploads(prefix, token, limit, context));
}

Status BasicStore::AbortUpload(std::string_view key, std::string_view id, const Context& context) {
  return Placed(root_, key, DoAbortUpload(key, id, context));
}

Result<GetResult> BasicStore::DoGet(std::string_view key, const GetOptions& options,
                                    const Context& context) {
  GatherSink sink(options);
  AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info, DoRead(key, options, sink, context));
  return GetResult{std::move(info), sink.Take()};
}

Result<std::unique_ptr<PartUpload>> BasicStore::DoStartUpload(std::string_view /*key*/,
                                                              const PutOptions& /*options*/,
                                                              const Context& /*context*/) {
  return Fail(ErrorCode::kUnsupported, "the store takes an object in one request only");
}

Result<VersionPage> BasicStore::DoListVersions(std::string_view prefix, std::string_view token,
                                               int limit, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(ListPage listed, DoList(prefix, token, limit, context));
  VersionPage page;
  page.next_token = std::move(listed.next_token);
  for (ObjectInfo& object : listed.objects) {
    VersionInfo version;
    version.id = object.version;
    version.object = std::move(object);
    version.latest = true;
    page.versions.push_back(std::move(version));
  }
  return page;
}

Result<ObjectInfo> BasicStore::DoHeadVersion(std::string_view key, std::string_view id,
                                             const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info, DoHead(key, context));
  if (info.version == id) return info;
  return Fail(ErrorCode::kNotFound, "the version was replaced");
}

Status BasicStore::DoRemoveVersion(std::string_view key, std::string_view id,
                                   const Context& context) {
  if (id.empty()) return Fail(ErrorCode::kInvalid, "a version to be removed that has no name");
  const bool atomic = capabilities().conditional_remove;
  if (!atomic) {
    const auto there = DoHead(key, context);
    if (!there && there.error().code == ErrorCode::kNotFound) return {};
    if (!there) return Fail(there.error());
    if (there->version != id) return {};
  }
  Status removed =
      DoRemove(key, atomic ? Condition::Version(std::string(id)) : Condition::None(), context);
  // Another version by now, or none: the one that was meant is gone.
  if (!removed && removed.error().code == ErrorCode::kConditionFailed) return {};
  return removed;
}

Result<UploadPage> BasicStore::DoListUploads(std::string_view /*prefix*/,
                                             std::string_view /*token*/, int /*limit*/,
                                             const Context& /*context*/) {
  return Fail(ErrorCode::kUnsupported, "the store keeps nothing of unfinished uploads");
}

Status BasicStore::DoAbortUpload(std::string_view /*key*/, std::string_view /*id*/,
                                 const Context& /*context*/) {
  return Fail(ErrorCode::kUnsupported, "the store keeps nothing of unfinished uploads");
}

Result<UploadedPart> BasicUpload::PutPart(int number, uint64_t offset, const Body& body,
                                          uint32_t crc32c, const Context& context) {
  return Placed(root_, key_, DoPutPart(number, offset, body, crc32c, context));
}

Result<ObjectInfo> BasicUpload::Complete(const std::vector<UploadedPart>& parts,
                                         const Condition& condition, const Context& context) {
  return Placed(root_, key_, DoComplete(parts, condition, context));
}

Status BasicUpload::Abort(const Context& context) { return Placed(root_, key_, DoAbort(context)); }

}  // namespace airfreight
