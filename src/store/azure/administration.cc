// AzureStore's verbs for administration.

#include <string>
#include <string_view>
#include <utility>

#include "store/azure/azure_store.h"
#include "store/azure/decoder.h"
#include "store/azure/request_builder.h"
#include "store/azure/versions.h"
#include "store/checks.h"
#include "store/cloud/object_head.h"

namespace airfreight::azure {
namespace {

// A page of 1,000 names of 1,024 bytes, each byte written as five ("&amp;") or encoded as three and
// with its properties of some KiB around it, has below 10 MiB; four times that is no page.
constexpr uint64_t kMaxListAnswer = uint64_t{40} << 20;

}  // namespace

Result<VersionPage> AzureStore::DoListVersions(std::string_view prefix, std::string_view token,
                                               int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string under = client_->uri().FullKey({});
  const std::string full_prefix = under + std::string(prefix);
  BufferSink answer(kMaxListAnswer);
  auto response = client_->Execute(BuildListAll(full_prefix, token, limit, "snapshots,versions"),
                                   context, &answer);
  // Accounts with a hierarchical namespace have snapshots and no versions
  // (learn.microsoft.com/azure/storage/blobs/versioning-overview#about-blob-versioning).
  if (!response &&
      response.error().service_code.find("HierarchicalNamespace") != std::string::npos) {
    answer = BufferSink(kMaxListAnswer);
    response =
        client_->Execute(BuildListAll(full_prefix, token, limit, "snapshots"), context, &answer);
  }
  if (!response) return Fail(response.error());
  return DecodeVersions(AsText(answer.view()), under);
}

Result<ObjectInfo> AzureStore::DoHeadVersion(std::string_view key, std::string_view id,
                                             const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, uri.prefix));
  const auto name = ParseVersionName(id);
  if (!name) return Fail(ErrorCode::kInvalid, "a version's id that is none of Azure's");
  if (name->kind == VersionName::Kind::kBlob)
    return BasicStore::DoHeadVersion(key, name->value, context);
  const bool snapshot = name->kind == VersionName::Kind::kSnapshot;
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const HttpResponse response,
      client_->Execute(
          BuildHeadVersion(uri.FullKey(key), snapshot ? "snapshot" : "versionid", name->value),
          context, nullptr));
  return DecodeInfo(key, response);
}

Status AzureStore::DoRemoveVersion(std::string_view key, std::string_view id,
                                   const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, uri.prefix));
  const auto name = ParseVersionName(id);
  if (!name) return Fail(ErrorCode::kInvalid, "a version's id that is none of Azure's");
  const std::string full_key = uri.FullKey(key);
  if (name->kind == VersionName::Kind::kBlob) {
    return RemoveWhereStill(full_key, name->value, context);
  }
  if (name->kind == VersionName::Kind::kSnapshot) {
    return GoneIsFine(
        client_->Execute(BuildRemoveVersion(full_key, "snapshot", name->value), context, nullptr));
  }
  const AzureRequest remove = BuildRemoveVersion(full_key, "versionid", name->value);
  const auto removed = client_->Execute(remove, context, nullptr);
  if (removed || removed.error().service_code != "OperationNotAllowedOnRootBlob") {
    return GoneIsFine(removed);
  }
  // The current version: it has to become an earlier one first, which the removal of the blob makes
  // of it. Not of another that someone has written meanwhile.
  const auto head =
      client_->Execute(BuildHeadVersion(full_key, "versionid", name->value), context, nullptr);
  if (!head) return GoneIsFine(head);
  AIRFREIGHT_RETURN_IF_ERROR(
      RemoveWhereStill(full_key, std::string(head->headers.Get("etag")), context));
  return GoneIsFine(client_->Execute(remove, context, nullptr));
}

Status AzureStore::RemoveWhereStill(const std::string& full_key, const std::string& tag,
                                    const Context& context) {
  const auto removed =
      client_->Execute(BuildRemove(full_key, Condition::Version(tag)), context, nullptr);
  // Another by now: the one that was meant is no longer it.
  if (!removed && removed.error().code == ErrorCode::kConditionFailed) return {};
  return GoneIsFine(removed);
}

Result<UploadPage> AzureStore::DoListUploads(std::string_view prefix, std::string_view token,
                                             int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string under = client_->uri().FullKey({});
  BufferSink answer(kMaxListAnswer);
  const auto response =
      client_->Execute(BuildListAll(under + std::string(prefix), token, limit, "uncommittedblobs"),
                       context, &answer);
  if (!response) return Fail(response.error());
  return DecodeUploads(AsText(answer.view()), under);
}

// No request removes blocks. A list of blocks that is committed takes all others that wait for the
// blob along (learn.microsoft.com/rest/api/storageservices/put-block-list#remarks): one without any
// is committed where no blob is, and the empty blob is removed again.
Status AzureStore::DoAbortUpload(std::string_view key, std::string_view id,
                                 const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckBlobName(key, uri.prefix));
  if (id != kBlocksId) return Fail(ErrorCode::kInvalid, "an upload's id that is none of Azure's");
  const std::string full_key = uri.FullKey(key);
  const std::string document = BlockListDocument({});
  const auto written =
      client_->Execute(BuildPutBlockList(full_key, document, {}, Condition::Absent(),
                                         client_->ChecksumOf(Body(document)), client_->options()),
                       context, nullptr);
  if (!written) {
    // A blob is there by now: its upload has ended.
    if (written.error().code == ErrorCode::kConditionFailed) return {};
    return Fail(written.error());
  }
  return RemoveWhereStill(full_key, std::string(written->headers.Get("etag")), context);
}

}  // namespace airfreight::azure
