#include "store/azure/versions.h"

#include <fmt/format.h>

#include <functional>
#include <pugixml.hpp>
#include <utility>

#include "base/percent.h"
#include "base/time.h"
#include "http/headers.h"
#include "store/cloud/object_head.h"
#include "store/cloud/xml.h"

namespace airfreight::azure {
namespace {

// Markers are base64 of a name with some more, and a version is a time; a URL has 8 KiB with most.
constexpr size_t kMaxMarker = 4096;
constexpr size_t kMaxName = 256;

constexpr std::string_view kVersion = "version=";
constexpr std::string_view kSnapshot = "snapshot=";
constexpr std::string_view kBlob = "etag=";

tl::unexpected<Error> Malformed(std::string_view what) { return NotOfService("Azure", what); }

// Calls `take(key, entry, properties)` for each blob; where the list goes on.
using Take = std::function<Status(std::string key, const pugi::xml_node& entry,
                                  const pugi::xml_node& properties)>;
Result<std::string> EachBlob(std::string_view text, std::string_view root, const Take& take) {
  pugi::xml_document document;
  if (!ParseXml(text, document)) return Malformed("a list that is no XML");
  const pugi::xml_node list = document.child("EnumerationResults");
  if (!list) return Malformed("a list without EnumerationResults");
  for (const pugi::xml_node& entry : list.child("Blobs").children("Blob")) {
    const pugi::xml_node properties = entry.child("Properties");
    if (ChildText(properties, "ResourceType") == "directory") continue;
    std::string key = ChildText(entry, "Name");
    if (entry.child("Name").attribute("Encoded").as_bool()) {
      auto decoded = PercentDecode(key);
      if (!decoded) return Malformed("a name that is not percent-encoded");
      key = *std::move(decoded);
    }
    if (!key.starts_with(root)) return Malformed("a list of names that were not asked for");
    AIRFREIGHT_RETURN_IF_ERROR(take(key.substr(root.size()), entry, properties));
  }
  std::string next = ChildText(list, "NextMarker");
  if (next.size() > kMaxMarker) return Malformed("a list that goes on too far away");
  return next;
}

// A version is what the head of an answer says, which has quotes always
// (www.rfc-editor.org/rfc/rfc9110#section-8.8.3); lists leave them out.
std::string Tag(const pugi::xml_node& properties) {
  std::string tag = ChildText(properties, "Etag");
  if (!tag.empty() && !tag.ends_with('"')) tag = fmt::format("\"{}\"", tag);
  return tag;
}

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
  AIRFREIGHT_ASSIGN_OR_RETURN(
      page.next_token,
      EachBlob(text, root,
               [&](std::string key, const pugi::xml_node& entry,
                   const pugi::xml_node& properties) -> Status {
                 VersionInfo version;
                 const auto size = ParseDecimal(ChildText(properties, "Content-Length"));
                 if (!size) return Malformed("an object without a size");
                 version.object.key = std::move(key);
                 version.object.size = *size;
                 version.object.version = Tag(properties);
                 version.object.modified_unix =
                     ParseHttpDate(ChildText(properties, "Last-Modified")).value_or(0);
                 // A snapshot of a version has the elements of both.
                 VersionName name{VersionName::Kind::kSnapshot, ChildText(entry, "Snapshot")};
                 if (name.value.empty()) {
                   name = {VersionName::Kind::kVersion, ChildText(entry, "VersionId")};
                   version.latest =
                       name.value.empty() || ChildText(entry, "IsCurrentVersion") == "true";
                 }
                 if (name.value.empty()) name = {VersionName::Kind::kBlob, version.object.version};
                 version.id = PrintVersionName(name);
                 if (!ParseVersionName(version.id)) return Malformed("a version without a name");
                 page.versions.push_back(std::move(version));
                 return {};
               }));
  return page;
}

Result<UploadPage> DecodeUploads(std::string_view text, std::string_view root) {
  UploadPage page;
  const Take take = [&](std::string key, const pugi::xml_node& /*entry*/,
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
