// GcsStore's verbs for administration.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "http/headers.h"
#include "store/checks.h"
#include "store/cloud/object_head.h"
#include "store/gcs/decoder.h"
#include "store/gcs/gcs_store.h"
#include "store/gcs/request_builder.h"
#include "store/gcs/versions.h"
#include "store/marker.h"

namespace airfreight::gcs {
namespace {

// A page of 1,000 names of 1,024 bytes, each escaped as six, and as much of metadata, has below
// 14 MiB; three times that is no page.
constexpr uint64_t kMaxListAnswer = uint64_t{40} << 20;
constexpr int kMaxPage = 1000;

}  // namespace

Result<VersionPage> GcsStore::DoListVersions(std::string_view prefix, std::string_view token,
                                             int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string under = client_->uri().FullKey({});
  BufferSink answer(kMaxListAnswer);
  const auto response =
      client_->Execute(BuildListVersions(client_->uri().bucket, under + std::string(prefix), token,
                                         limit, false, client_->options()),
                       context, &answer);
  if (!response) return Fail(response.error());
  return DecodeVersions(AsText(answer.view()), under);
}

Result<ObjectInfo> GcsStore::DoHeadVersion(std::string_view key, std::string_view id,
                                           const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  if (!ParseDecimal(id)) return Fail(ErrorCode::kInvalid, "a version that is no generation");
  AIRFREIGHT_ASSIGN_OR_RETURN(
      ObjectResource found,
      client_->ExecuteForResource(
          BuildHeadVersion(uri.bucket, uri.FullKey(key), id, client_->options()), key, context));
  return std::move(found.info);
}

Status GcsStore::RemoveGeneration(std::string_view full_key, std::string_view generation,
                                  const Context& context) {
  BufferSink answer(kMaxErrorDocument);
  const auto response = client_->Execute(
      BuildRemoveVersion(client_->uri().bucket, full_key, generation, client_->options()), context,
      &answer);
  return GoneIsFine(response);
}

Status GcsStore::DoRemoveVersion(std::string_view key, std::string_view id,
                                 const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, client_->uri().prefix));
  if (!ParseDecimal(id)) return Fail(ErrorCode::kInvalid, "a version that is no generation");
  return RemoveGeneration(client_->uri().FullKey(key), id, context);
}

Result<PartPage> GcsStore::ListParts(std::string_view prefix, std::string_view token, int limit,
                                     const Context& context) {
  const std::string under = client_->uri().FullKey({});
  BufferSink answer(kMaxListAnswer);
  const auto response = client_->Execute(
      BuildListVersions(client_->uri().bucket, fmt::format("{}{}{}", under, kPartsFolder, prefix),
                        token, limit, true, client_->options()),
      context, &answer);
  if (!response) return Fail(response.error());
  return DecodeParts(AsText(answer.view()), under);
}

Result<UploadPage> GcsStore::DoListUploads(std::string_view prefix, std::string_view token,
                                           int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  // The store's own token, and the upload whose parts may go on behind it.
  AIRFREIGHT_ASSIGN_OR_RETURN(const Marker after, ParseMarker(token));
  AIRFREIGHT_ASSIGN_OR_RETURN(const PartPage parts, ListParts({}, after.key, limit, context));
  UploadPage page;
  std::string last = after.id;
  for (const PartVersion& part : parts.parts) {
    if (part.upload == last) continue;
    last = part.upload;
    if (!part.object_key.starts_with(prefix)) continue;
    page.uploads.push_back({part.object_key, part.upload, part.created_unix});
  }
  if (!parts.next_token.empty()) page.next_token = PrintMarker({parts.next_token, last});
  return page;
}

Status GcsStore::DoAbortUpload(std::string_view key, std::string_view id, const Context& context) {
  if (!key.empty()) AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, client_->uri().prefix));
  if (!IsUploadId(id)) return Fail(ErrorCode::kInvalid, "an upload's id that is none of ours");
  std::string token;
  do {
    AIRFREIGHT_ASSIGN_OR_RETURN(const PartPage page,
                                ListParts(fmt::format("{}-", id), token, kMaxPage, context));
    for (const PartVersion& part : page.parts) {
      AIRFREIGHT_RETURN_IF_ERROR(RemoveGeneration(part.name, part.generation, context));
    }
    token = page.next_token;
  } while (!token.empty());
  return {};
}

}  // namespace airfreight::gcs
