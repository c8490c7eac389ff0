#include "store/gcs/versions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/percent.h"
#include "base/time.h"
#include "store/cloud/object_head.h"
#include "store/gcs/request_builder.h"
#include "store/gcs/resource.h"

namespace airfreight::gcs {
namespace {

using nlohmann::json;

// As RandomHex128 makes them.
constexpr size_t kIdDigits = 32;

tl::unexpected<Error> Malformed(std::string_view what) {
  return NotOfService("Google Cloud Storage", what);
}

}  // namespace

bool IsUploadId(std::string_view id) {
  return id.size() == kIdDigits && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<VersionPage> DecodeVersions(std::string_view text, std::string_view root) {
  VersionPage page;
  const auto take = [&](const json& item) -> Status {
    VersionInfo version;
    AIRFREIGHT_ASSIGN_OR_RETURN(version.object, InfoOf(item));
    std::string& key = version.object.key;
    if (!key.starts_with(root)) return Malformed("a list of other keys than were asked for");
    key.erase(0, root.size());
    version.id = version.object.version;
    // Noncurrent generations have been deleted once
    // (cloud.google.com/storage/docs/object-versioning).
    version.latest = Text(item, "timeDeleted").empty();
    if (!key.starts_with(kPartsFolder)) page.versions.push_back(std::move(version));
    return {};
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token, EachItem(text, take));
  return page;
}

Result<PartPage> DecodeParts(std::string_view text, std::string_view root) {
  PartPage page;
  const auto take = [&](const json& item) -> Status {
    AIRFREIGHT_ASSIGN_OR_RETURN(const ObjectInfo info, InfoOf(item));
    std::string_view rest = info.key;
    if (!rest.starts_with(root)) return Malformed("a list of other keys than were asked for");
    rest.remove_prefix(root.size());
    if (!rest.starts_with(kPartsFolder)) return Malformed("a list of other keys than of parts");
    rest.remove_prefix(kPartsFolder.size());
    const std::string_view id = rest.substr(0, rest.find('-'));
    if (!IsUploadId(id) || id.size() == rest.size()) return {};
    PartVersion part;
    part.name = info.key;
    part.generation = info.version;
    part.upload = id;
    part.created_unix = ParseIso8601(Text(item, "timeCreated")).value_or(0);
    if (const auto metadata = item.find("metadata");
        metadata != item.end() && metadata->is_object()) {
      part.object_key = PercentDecode(Text(*metadata, kPartOf)).value_or("");
    }
    page.parts.push_back(std::move(part));
    return {};
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token, EachItem(text, take));
  return page;
}

}  // namespace airfreight::gcs
