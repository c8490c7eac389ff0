#include "faults/fake_gcs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "airfreight/bytes.h"
#include "base/base64.h"
#include "base/crc32c.h"
#include "base/percent.h"

namespace airfreight::faults {
namespace {

using nlohmann::json;

constexpr std::string_view kObjects = "/storage/v1/b/bucket/o";
constexpr std::string_view kUpload = "/upload/storage/v1/b/bucket/o";
constexpr std::string_view kMedia = "/bucket/";  // Of the XML API.
constexpr std::string_view kParts = "xcom/~parts/";

Reply Refusal(int status, std::string_view reason) {
  return {status, {{"Content-Type", "application/json"}}, ErrorJson(reason, "", "")};
}

// As the XML API refuses (cloud.google.com/storage/docs/xml-api/reference-status).
Reply RefusalXml(int status, std::string_view code) {
  return {status,
          {{"Content-Type", "application/xml; charset=UTF-8"}},
          fmt::format("<?xml version='1.0' encoding='UTF-8'?><Error><Code>{}</Code>"
                      "<Message>As the code says.</Message></Error>",
                      code)};
}

Reply Document(const json& document) {
  return {200, {{"Content-Type", "application/json"}}, document.dump()};
}

std::string ChecksumOf(std::string_view body) {
  const uint32_t crc = Crc32c(AsBytes(body));
  std::array<std::byte, 4> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(crc >> (24 - 8 * i));
  return Base64Encode(bytes);
}

std::string Parameter(const Target& target, const std::string& name) {
  const auto found = target.query.find(name);
  return found == target.query.end() ? "" : PercentDecode(found->second).value_or("");
}

std::string KeyOf(const Target& target) {
  if (target.path == kUpload) return Parameter(target, "name");
  if (target.path.starts_with(kMedia)) {
    return PercentDecode(std::string_view(target.path).substr(kMedia.size())).value_or("");
  }
  if (!target.path.starts_with(kObjects) || target.path.size() <= kObjects.size()) return {};
  std::string_view rest = std::string_view(target.path).substr(kObjects.size() + 1);
  return PercentDecode(rest.substr(0, rest.find('/'))).value_or("");
}

/// Between `from` and `to`; nothing where either is not there.
std::optional<std::string> Between(std::string_view text, std::string_view from,
                                   std::string_view to) {
  const size_t begin = text.find(from);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + from.size());
  const size_t end = text.rfind(to);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, end));
}

}  // namespace

std::string ErrorJson(std::string_view code, std::string_view message, std::string_view more) {
  const json error = {{"reason", code}, {"message", message}, {"domain", "global"}};
  return json{{"error", {{"message", message}, {"errors", {error}}, {"more", more}}}}.dump();
}

Reply FakeGcs::Perform(const Request& request) {
  const std::lock_guard lock(mutex_);
  const Target target = ParseTarget(request.target);
  const std::string key = KeyOf(target);
  if (target.path == kUpload && request.method == "POST") return Upload(request, target);
  if (target.path == kObjects && request.method == "GET") {
    json items = json::array();
    for (const auto& [name, object] : objects_) {
      if (name.starts_with(Parameter(target, "prefix"))) items.push_back(Describe(name, object));
    }
    return Document({{"items", items}});
  }
  if (key.empty()) return Refusal(404, "notFound");
  if (request.method == "POST" && target.path.ends_with("/compose")) {
    return Compose(request, target, key);
  }
  if (request.method == "GET" && target.path.starts_with(kMedia)) return Read(request, key);
  if (request.method == "GET") {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return Refusal(404, "notFound");
    if (auto refused = Refused(target, key)) return *refused;
    return Document(Describe(key, found->second));
  }
  if (request.method != "DELETE") return Refusal(405, "methodNotAllowed");
  if (auto refused = Refused(target, key)) return *refused;
  return objects_.erase(key) == 0 ? Refusal(404, "notFound") : Reply{204, {}, {}};
}

void FakeGcs::Replace(const Request& request) {
  const std::lock_guard lock(mutex_);
  Object& object = objects_[KeyOf(ParseTarget(request.target))];
  for (char& byte : object.body) byte = static_cast<char>(~byte);
  object.generation = ++generation_;
  if (object.metadata.contains("af-write")) object.metadata["af-write"] = std::string(32, 'e');
}

size_t FakeGcs::open_uploads() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> uploads;
  for (const auto& [key, object] : objects_) {
    if (key.starts_with(kParts)) uploads.insert(key.substr(0, key.rfind('-')));
  }
  return uploads.size();
}

size_t FakeGcs::object_count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(objects_.begin(), objects_.end(), [](const auto& entry) {
    return !entry.first.starts_with(kParts);
  }));
}

bool FakeGcs::Holds(std::string_view key, std::string_view body) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(std::string(key));
  return found != objects_.end() && found->second.body == body;
}

std::optional<Reply> FakeGcs::Refused(const Target& target, const std::string& key) const {
  const std::string wanted = Parameter(target, "ifGenerationMatch");
  if (wanted.empty()) return std::nullopt;
  const auto found = objects_.find(key);
  const uint64_t generation = found == objects_.end() ? 0 : found->second.generation;
  if (wanted == std::to_string(generation)) return std::nullopt;
  return Refusal(412, "conditionNotMet");
}

json FakeGcs::Describe(const std::string& key, const Object& object) {
  return {{"name", key},
          {"size", std::to_string(object.body.size())},
          {"generation", std::to_string(object.generation)},
          {"crc32c", ChecksumOf(object.body)},
          {"metadata", object.metadata},
          {"updated", "2026-01-01T12:00:00.123Z"}};
}

Reply FakeGcs::Upload(const Request& request, const Target& target) {
  constexpr std::string_view kType = "multipart/related; boundary=";
  const std::string_view type = request.headers.Get("content-type");
  if (!type.starts_with(kType)) return Refusal(400, "invalid");
  const std::string boundary(type.substr(kType.size()));
  const auto all = Between(request.body, "--" + boundary + "\r\n", "\r\n--" + boundary + "--");
  const auto description = json::parse(
      all ? Between(all->substr(0, all->find("\r\n--" + boundary)) + "\n", "\r\n\r\n", "\n")
                .value_or("")
          : "",
      nullptr, false);
  const auto media = all ? Between(*all + "\n", "\r\n--" + boundary + "\r\n", "\n") : std::nullopt;
  if (!description.is_object() || !media) return Refusal(400, "parseError");
  Object object;
  object.body = media->substr(std::min(media->find("\r\n\r\n") + 4, media->size()));
  if (description.value("crc32c", "") != ChecksumOf(object.body)) return Refusal(400, "invalid");
  const std::string key = KeyOf(target);
  if (auto refused = Refused(target, key)) return *refused;
  object.generation = ++generation_;
  object.metadata = description.value("metadata", json::object());
  objects_[key] = std::move(object);
  return Document(Describe(key, objects_[key]));
}

Reply FakeGcs::Compose(const Request& request, const Target& target, const std::string& key) {
  const json document = json::parse(request.body, nullptr, false);
  if (!document.is_object()) return Refusal(400, "parseError");
  if (auto refused = Refused(target, key)) return *refused;
  const json& sources = document.at("sourceObjects");
  if (sources.empty() || sources.size() > 32) return Refusal(400, "invalid");
  Object object;
  for (const json& source : sources) {
    const auto found = objects_.find(source.at("name").get<std::string>());
    if (found == objects_.end() ||
        std::to_string(found->second.generation) != source.at("generation").get<std::string>()) {
      return Refusal(404, "notFound");
    }
    object.body += found->second.body;
  }
  if (document.value("deleteSourceObjects", false)) {
    for (const json& source : sources) objects_.erase(source.at("name").get<std::string>());
  }
  object.generation = ++generation_;
  object.metadata = document.at("destination").value("metadata", json::object());
  objects_[key] = std::move(object);
  return Document(Describe(key, objects_[key]));
}

Reply FakeGcs::Read(const Request& request, const std::string& key) const {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return RefusalXml(404, "NoSuchKey");
  const Object& object = found->second;
  const std::string generation = std::to_string(object.generation);
  const std::string_view wanted = request.headers.Get("x-goog-if-generation-match");
  if (!wanted.empty() && wanted != generation) return RefusalXml(412, "PreconditionFailed");
  Reply reply{200, {{"x-goog-generation", generation}}, object.body};
  for (const auto& [name, value] : object.metadata.items()) {
    reply.headers.Set("x-goog-meta-" + name, value.get<std::string>());
  }
  reply.headers.Set("x-goog-hash", "crc32c=" + ChecksumOf(object.body) + ",md5=AAAA");
  std::string_view range = request.headers.Get("range");
  if (!range.starts_with("bytes=")) return reply;
  range.remove_prefix(6);
  const size_t dash = std::min(range.find('-'), range.size());
  const uint64_t begin = ParseDecimal(range.substr(0, dash)).value_or(0);
  const uint64_t size = object.body.size();
  if (begin >= size) return RefusalXml(416, "InvalidRange");
  const uint64_t last = std::min(
      ParseDecimal(range.substr(std::min(dash + 1, range.size()))).value_or(size - 1), size - 1);
  reply.status = 206;
  reply.headers.Set("Content-Range", fmt::format("bytes {}-{}/{}", begin, last, size));
  reply.body = object.body.substr(begin, last - begin + 1);
  return reply;
}

}  // namespace airfreight::faults
