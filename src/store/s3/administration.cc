// S3Store's verbs for administration.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "store/checks.h"
#include "store/cloud/object_head.h"
#include "store/marker.h"
#include "store/s3/decoder.h"
#include "store/s3/request_builder.h"
#include "store/s3/s3_store.h"
#include "store/s3/versions.h"

namespace airfreight::s3 {
namespace {

// A page of 1,000 keys of 1,024 bytes, each byte encoded as three, with ids of 2 KiB and the other
// elements around them, has below 7 MiB; five times that is no page.
constexpr uint64_t kMaxListAnswer = uint64_t{40} << 20;
constexpr int kMaxPage = 1000;
// The version of what was written without versioning.
constexpr std::string_view kUnversioned = "null";

// Else whoever reads all pages would never end.
tl::unexpected<Error> DoesNotGoOn() {
  return Fail(ErrorCode::kInternal, "the store's list begins again where it has ended before");
}

Status CheckId(std::string_view what, std::string_view id) {
  if (!id.empty()) return {};
  return Fail(ErrorCode::kInvalid, fmt::format("{} that has no id", what));
}

}  // namespace

Result<VersionPage> S3Store::DoListVersions(std::string_view prefix, std::string_view token,
                                            int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Marker after, ParseMarker(token));
  const std::string under = client_->uri().FullKey({});
  BufferSink answer(kMaxListAnswer);
  // Some servers begin with the very version that the page before has ended with (versitygw): one
  // more is asked for, so that each page goes on.
  const int asked = std::min(limit + (token.empty() ? 0 : 1), kMaxPage);
  const auto response = client_->Execute(BuildListVersions(under + std::string(prefix), after.key,
                                                           after.id, asked, client_->options()),
                                         context, &answer, &answer);
  if (!response) return Fail(response.error());
  AIRFREIGHT_ASSIGN_OR_RETURN(VersionPage page, DecodeVersions(AsText(answer.view()), under));
  const auto place = [&](const VersionInfo& version) {
    return Marker{under + version.object.key, version.id};
  };
  if (!page.versions.empty() && place(page.versions.front()) == after) {
    page.versions.erase(page.versions.begin());
  }
  if (page.versions.size() > static_cast<size_t>(limit)) {
    page.versions.resize(static_cast<size_t>(limit));
    page.next_token = PrintMarker(place(page.versions.back()));
  }
  if (!token.empty() && page.next_token == token) return DoesNotGoOn();
  return page;
}

Result<ObjectInfo> S3Store::DoHeadVersion(std::string_view key, std::string_view id,
                                          const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckId("a version", id));
  const auto response = client_->Execute(BuildHeadVersion(uri.FullKey(key), id, client_->options()),
                                         context, nullptr, nullptr);
  if (response) return DecodeInfo(key, *response);
  // A mark is known by the method that it does not allow
  // (docs.aws.amazon.com/AmazonS3/latest/userguide/DeleteMarker.html).
  if (response.error().http_status == 405) {
    return Fail(ErrorCode::kNotFound, "the version is the mark of a removal");
  }
  // Servers that have no versions may know none by that name either (versitygw).
  if (id == kUnversioned && response.error().http_status == 400) return DoHead(key, context);
  return Fail(response.error());
}

Status S3Store::DoRemoveVersion(std::string_view key, std::string_view id, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckId("a version", id));
  BufferSink answer(kMaxWriteAnswer);
  const auto response = client_->Execute(
      BuildRemoveVersion(uri.FullKey(key), id, client_->options()), context, &answer, &answer);
  return GoneIsFine(response);
}

Result<UploadPage> S3Store::DoListUploads(std::string_view prefix, std::string_view token,
                                          int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Marker after, ParseMarker(token));
  const std::string under = client_->uri().FullKey({});
  const auto ask = [&](const std::string& id) -> Result<UploadPage> {
    BufferSink answer(kMaxListAnswer);
    const auto response = client_->Execute(
        BuildListUploads(under + std::string(prefix), after.key, id, limit, client_->options()),
        context, &answer, &answer);
    if (!response) return Fail(response.error());
    return DecodeUploads(AsText(answer.view()), under);
  };
  auto page = ask(after.id);
  // Some servers do not take the marker that they gave (versitygw). Behind the key then: others of
  // the same key are seen when those before them have been ended.
  if (!page && page.error().code == ErrorCode::kInvalid && !after.id.empty()) page = ask({});
  if (page && !token.empty() && page->next_token == token) return DoesNotGoOn();
  return page;
}

Status S3Store::DoAbortUpload(std::string_view key, std::string_view id, const Context& context) {
  const StoreUri& uri = client_->uri();
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri.prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckId("an upload", id));
  BufferSink answer(kMaxWriteAnswer);
  const auto response = client_->Execute(BuildAbortUpload(uri.FullKey(key), id, client_->options()),
                                         context, &answer, &answer);
  return GoneIsFine(response);
}

}  // namespace airfreight::s3
