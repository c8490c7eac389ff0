#include "store/azure/blob_list.h"

#include <fmt/format.h>

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

tl::unexpected<Error> Malformed(std::string_view what) { return NotOfService("Azure", what); }

// A version is what the head of an answer says, which has quotes always
// (www.rfc-editor.org/rfc/rfc9110#section-8.8.3); lists leave them out.
std::string Tag(const pugi::xml_node& properties) {
  std::string tag = ChildText(properties, "Etag");
  if (!tag.empty() && !tag.ends_with('"')) tag = fmt::format("\"{}\"", tag);
  return tag;
}

}  // namespace

Result<std::string> EachBlob(std::string_view text, std::string_view root, const TakeBlob& take) {
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

Result<ObjectInfo> BlobInfo(std::string key, const pugi::xml_node& properties) {
  const auto size = ParseDecimal(ChildText(properties, "Content-Length"));
  if (!size) return Malformed("an object without a size");
  ObjectInfo info;
  info.key = std::move(key);
  info.size = *size;
  info.version = Tag(properties);
  info.modified_unix = ParseHttpDate(ChildText(properties, "Last-Modified")).value_or(0);
  return info;
}

}  // namespace airfreight::azure
