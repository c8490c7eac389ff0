#include "store/gcs/resource.h"

#include "base/time.h"
#include "http/headers.h"
#include "store/cloud/object_head.h"

namespace airfreight::gcs {
namespace {

using nlohmann::json;

tl::unexpected<Error> Malformed(std::string_view what) {
  return NotOfService("Google Cloud Storage", what);
}

}  // namespace

json ParseJson(std::string_view text) { return json::parse(text, nullptr, false); }

std::string Text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<ObjectInfo> InfoOf(const json& resource) {
  ObjectInfo info;
  info.key = Text(resource, "name");
  const auto size = ParseDecimal(Text(resource, "size"));
  info.version = Text(resource, "generation");
  if (!size || !ParseDecimal(info.version))
    return Malformed("an object without size or generation");
  info.size = *size;
  info.modified_unix = ParseIso8601(Text(resource, "updated")).value_or(0);
  return info;
}

Result<std::string> EachItem(std::string_view text,
                             const std::function<Status(const json& item)>& take) {
  const json document = ParseJson(text);
  if (!document.is_object()) return Malformed("a list that is no object");
  std::string next_token = Text(document, "nextPageToken");
  const auto items = document.find("items");
  if (items == document.end() || items->is_null()) return next_token;
  if (!items->is_array()) return Malformed("a list without its items");
  for (const json& item : *items) {
    if (!item.is_object()) return Malformed("an entry that is no object");
    AIRFREIGHT_RETURN_IF_ERROR(take(item));
  }
  return next_token;
}

}  // namespace airfreight::gcs
