#include "store/azure/versions.h"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <utility>

#include "base/time.h"
#include "store/azure/blob_list.h"
#include "store/cloud/object_head.h"
#include "store/cloud/xml.h"

namespace airfreight::azure {
namespace {

// A version is a time; a URL has 8 KiB with most.
constexpr size_t kMaxName = 256;

constexpr std::string_view kVersion = "version=";
constexpr std::string_view kSnapshot = "snapshot=";
constexpr std::string_view kBlob = "etag=";

}  // namespace

std::string PrintVersionName(const VersionName& name) {
  switch (name.kind) {
    case VersionName::Kind::kVersion:
      return fmt::format("{}{}", kVersion, name.value);
    case VersionName::Kind::kSnapshot:
      return fmt::format("{}{}", kSnapshot, name.value);
    case VersionName::Kind::kBlob:
      break;
  }
  return fmt::format("{}{}", kBlob, name.value);
}

std::optional<VersionName> ParseVersionName(std::string_view id) {
  const auto named = [&](VersionName::Kind kind,
                         std::string_view prefix) -> std::optional<VersionName> {
    if (!id.starts_with(prefix) || id.size() == prefix.size() || id.size() > kMaxName) {
      return std::nullopt;
    }
    return VersionName{kind, std::string(id.substr(prefix.size()))};
  };
  if (auto name = named(VersionName::Kind::kVersion, kVersion)) return name;
  if (auto name = named(VersionName::Kind::kSnapshot, kSnapshot)) return name;
  return named(VersionName::Kind::kBlob, kBlob);
}

Result<VersionPage> DecodeVersions(std::string_view text, std::string_view root) {
  VersionPage page;
  const TakeBlob take = [&](std::string key, const pugi::xml_node& entry,
                            const pugi::xml_node& properties) -> Status {
    VersionInfo version;
    AIRFREIGHT_ASSIGN_OR_RETURN(version.object, BlobInfo(std::move(key), properties));
    // A snapshot of a version has the elements of both.
    VersionName name{VersionName::Kind::kSnapshot, ChildText(entry, "Snapshot")};
    if (name.value.empty()) {
      name = {VersionName::Kind::kVersion, ChildText(entry, "VersionId")};
      version.latest = name.value.empty() || ChildText(entry, "IsCurrentVersion") == "true";
    }
    if (name.value.empty()) name = {VersionName::Kind::kBlob, version.object.version};
    version.id = PrintVersionName(name);
    if (!ParseVersionName(version.id)) return NotOfService("Azure", "a version without a name");
    page.versions.push_back(std::move(version));
    return {};
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token, EachBlob(text, root, take));
  return page;
}

Result<UploadPage> DecodeUploads(std::string_view text, std::string_view root) {
  UploadPage page;
  const TakeBlob take = [&](std::string key, const pugi::xml_node& /*entry*/,
                            const pugi::xml_node& properties) -> Status {
    if (!ChildText(properties, "Content-Type").empty()) return {};
    UploadInfo upload{std::move(key), std::string(kBlocksId), 0};
    upload.started_unix = ParseHttpDate(ChildText(properties, "Creation-Time")).value_or(0);
    page.uploads.push_back(std::move(upload));
    return {};
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token, EachBlob(text, root, take));
  return page;
}

}  // namespace airfreight::azure
