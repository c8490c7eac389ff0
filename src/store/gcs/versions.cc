#include "store/gcs/versions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/percent.h"
#include "base/time.h"
#include "http/headers.h"
#include "store/cloud/object_head.h"
#include "store/gcs/request_builder.h"

namespace airfreight::gcs {
namespace {

using nlohmann::json;

// As RandomHex128 makes them.
constexpr size_t kIdDigits = 32;

std::string Text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

tl::unexpected<Error> Malformed(std::string_view what) {
  return NotOfService("Google Cloud Storage", what);
}

struct Entry {
  VersionInfo version;  // Its key is the full one.
  const json* object = nullptr;
};

// The entries of a list, which `document` keeps; where it goes on.
Result<std::vector<Entry>> Entries(std::string_view text, json* document, std::string* next_token) {
  *document = json::parse(text, nullptr, false);
  if (!document->is_object()) return Malformed("a list that is no object");
  *next_token = Text(*document, "nextPageToken");
  std::vector<Entry> entries;
  const auto items = document->find("items");
  if (items == document->end() || items->is_null()) return entries;
  if (!items->is_array()) return Malformed("a list without its items");
  for (const json& item : *items) {
    if (!item.is_object()) return Malformed("an entry that is no object");
    Entry entry;
    entry.object = &item;
    ObjectInfo& info = entry.version.object;
    info.key = Text(item, "name");
    info.version = Text(item, "generation");
    const auto size = ParseDecimal(Text(item, "size"));
    if (!size || !ParseDecimal(info.version)) {
      return Malformed("an object without size or generation");
    }
    info.size = *size;
    info.modified_unix = ParseIso8601(Text(item, "updated")).value_or(0);
    entry.version.id = info.version;
    // Noncurrent generations have been deleted once
    // (cloud.google.com/storage/docs/object-versioning).
    entry.version.latest = Text(item, "timeDeleted").empty();
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

bool IsUploadId(std::string_view id) {
  return id.size() == kIdDigits && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<VersionPage> DecodeVersions(std::string_view text, std::string_view root) {
  VersionPage page;
  json document;
  AIRFREIGHT_ASSIGN_OR_RETURN(std::vector<Entry> entries,
                              Entries(text, &document, &page.next_token));
  for (Entry& entry : entries) {
    std::string& key = entry.version.object.key;
    if (!key.starts_with(root)) return Malformed("a list of other keys than were asked for");
    key.erase(0, root.size());
    if (!key.starts_with(kPartsFolder)) page.versions.push_back(std::move(entry.version));
  }
  return page;
}

Result<PartPage> DecodeParts(std::string_view text, std::string_view root) {
  PartPage page;
  json document;
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::vector<Entry> entries,
                              Entries(text, &document, &page.next_token));
  for (const Entry& entry : entries) {
    const std::string& name = entry.version.object.key;
    std::string_view rest = name;
    if (!rest.starts_with(root)) return Malformed("a list of other keys than were asked for");
    rest.remove_prefix(root.size());
    if (!rest.starts_with(kPartsFolder)) return Malformed("a list of other keys than of parts");
    rest.remove_prefix(kPartsFolder.size());
    const std::string_view id = rest.substr(0, rest.find('-'));
    if (!IsUploadId(id) || id.size() == rest.size()) continue;
    PartVersion part;
    part.name = name;
    part.generation = entry.version.id;
    part.upload = id;
    part.created_unix = ParseIso8601(Text(*entry.object, "timeCreated")).value_or(0);
    if (const auto metadata = entry.object->find("metadata");
        metadata != entry.object->end() && metadata->is_object()) {
      part.object_key = PercentDecode(Text(*metadata, kPartOf)).value_or("");
    }
    page.parts.push_back(std::move(part));
  }
  return page;
}

}  // namespace airfreight::gcs
