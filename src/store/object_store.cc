#include <utility>

#include "airfreight/store.h"

namespace airfreight {

Result<ObjectInfo> ObjectStore::Read(std::string_view key, const GetOptions& options,
                                     ReadSink& sink, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(GetResult got, Get(key, options, context));
  AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(got.info));
  if (got.body.size() > 0) AIRFREIGHT_RETURN_IF_ERROR(sink.Write(got.body.view()));
  return std::move(got.info);
}

Result<std::unique_ptr<PartUpload>> ObjectStore::StartUpload(std::string_view /*key*/,
                                                             const PutOptions& /*options*/,
                                                             const Context& /*context*/) {
  return Fail(ErrorCode::kUnsupported, "the store takes an object in one request only");
}

Result<VersionPage> ObjectStore::ListVersions(std::string_view prefix, std::string_view token,
                                              int limit, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(ListPage listed, List(prefix, token, limit, context));
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

Result<ObjectInfo> ObjectStore::HeadVersion(std::string_view key, std::string_view id,
                                            const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info, Head(key, context));
  if (info.version == id) return info;
  return Fail(ErrorCode::kNotFound, "the version was replaced");
}

Status ObjectStore::RemoveVersion(std::string_view key, std::string_view id,
                                  const Context& context) {
  if (id.empty()) return Fail(ErrorCode::kInvalid, "a version to be removed that has no name");
  const bool atomic = capabilities().conditional_remove;
  if (!atomic) {
    const auto there = Head(key, context);
    if (!there && there.error().code == ErrorCode::kNotFound) return {};
    if (!there) return Fail(there.error());
    if (there->version != id) return {};
  }
  Status removed =
      Remove(key, atomic ? Condition::Version(std::string(id)) : Condition::None(), context);
  // Another version by now, or none: the one that was meant is gone.
  if (!removed && removed.error().code == ErrorCode::kConditionFailed) return {};
  return removed;
}

Result<UploadPage> ObjectStore::ListUploads(std::string_view /*prefix*/, std::string_view /*token*/,
                                            int /*limit*/, const Context& /*context*/) {
  return Fail(ErrorCode::kUnsupported, "the store keeps nothing of unfinished uploads");
}

Status ObjectStore::AbortUpload(std::string_view /*key*/, std::string_view /*id*/,
                                const Context& /*context*/) {
  return Fail(ErrorCode::kUnsupported, "the store keeps nothing of unfinished uploads");
}

}  // namespace airfreight
