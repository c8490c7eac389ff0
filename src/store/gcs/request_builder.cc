#include "store/gcs/request_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/base64.h"
#include "base/json.h"
#include "base/percent.h"
#include "base/time.h"
#include "store/cloud/object_head.h"

namespace airfreight::gcs {
namespace {

// What is asked of an object's resource: all that ObjectInfo has and nothing else.
constexpr std::string_view kFields = "name,size,generation,crc32c,metadata,updated";

// Joining is a matter of metadata and takes well below a minute; a proxy's limit is ten minutes.
constexpr std::chrono::seconds kComposeIdle{600};

std::string Encoded(std::string_view text) { return PercentEncode(text, kUriUnreserved); }

void AddQuery(GcsRequest& request, std::string_view name, std::string_view value) {
  if (!request.query.empty()) request.query += '&';
  request.query += fmt::format("{}={}", name, Encoded(value));
}

GcsRequest Begin(Operation operation, std::string_view method, std::string path,
                 const GcsOptions& options) {
  GcsRequest request;
  request.operation = operation;
  request.method = method;
  request.path = std::move(path);
  // cloud.google.com/storage/docs/using-requester-pays
  if (!options.user_project.empty()) AddQuery(request, "userProject", options.user_project);
  return request;
}

std::string ObjectPath(std::string_view bucket, std::string_view key) {
  // One segment: a slash in a name is encoded too
  // (cloud.google.com/storage/docs/request-endpoints#encoding).
  return fmt::format("/storage/v1/b/{}/o/{}", Encoded(bucket), Encoded(key));
}

// Preconditions by generation, 0 for an object that is not there
// (cloud.google.com/storage/docs/request-preconditions).
void SetCondition(const Condition& condition, GcsRequest& request) {
  if (condition.kind == Condition::Kind::kNone) return;
  const bool absent = condition.kind == Condition::Kind::kAbsent;
  AddQuery(request, "ifGenerationMatch", absent ? "0" : condition.version);
  request.conditional = true;
}

void SetKey(const PutOptions& put, const GcsOptions& options, GcsRequest& request,
            std::string_view name) {
  const std::string& key = put.encryption_key.empty() ? options.kms_key_name : put.encryption_key;
  if (!key.empty()) AddQuery(request, name, key);
}

void AppendMember(std::string_view name, std::string_view value, std::string* json) {
  if (json->back() != '{') *json += ',';
  AppendJsonString(name, json);
  *json += ':';
  AppendJsonString(value, json);
}

std::string Description(const PutOptions& put, std::optional<uint32_t> crc32c) {
  std::string json = "{";
  AppendMember("contentType", put.content_type, &json);
  if (crc32c) AppendMember("crc32c", Crc32cText(*crc32c), &json);
  // For one rule of the bucket, `daysSinceCustomTime`, that ends all of them
  // (cloud.google.com/storage/docs/metadata#custom-time).
  if (put.expires_unix) AppendMember("customTime", FormatIso8601(*put.expires_unix), &json);
  if (!put.metadata.empty()) {
    json += ",\"metadata\":{";
    for (const auto& [name, value] : put.metadata) AppendMember(name, value, &json);
    json += '}';
  }
  return json + "}";
}

GcsRequest Upload(Operation operation, std::string_view bucket, std::string_view key,
                  const Body& body, const std::string& description, const PutOptions& put,
                  std::string_view boundary, const GcsOptions& options) {
  GcsRequest request =
      Begin(operation, "POST", fmt::format("/upload/storage/v1/b/{}/o", Encoded(bucket)), options);
  AddQuery(request, "uploadType", "multipart");
  AddQuery(request, "name", key);
  AddQuery(request, "fields", kFields);
  SetKey(put, options, request, "kmsKeyName");
  // cloud.google.com/storage/docs/performing-object-uploads, "Multipart upload".
  request.headers.Set("Content-Type", fmt::format("multipart/related; boundary={}", boundary));
  request.head = fmt::format(
      "--{0}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{1}\r\n"
      "--{0}\r\nContent-Type: {2}\r\n\r\n",
      boundary, description, put.content_type);
  request.bytes = body;
  request.tail = fmt::format("\r\n--{}--\r\n", boundary);
  return request;
}

}  // namespace

std::string Crc32cText(uint32_t crc32c) {
  std::array<std::byte, 4> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(crc32c >> (24 - 8 * i));
  }
  return Base64Encode(bytes);
}

GcsRequest BuildPut(std::string_view bucket, std::string_view key, const Body& body,
                    const PutOptions& put, uint32_t crc32c, std::string_view boundary,
                    const GcsOptions& options) {
  GcsRequest request =
      Upload(Operation::kPut, bucket, key, body, Description(put, crc32c), put, boundary, options);
  SetCondition(put.condition, request);
  return request;
}

GcsRequest BuildPutPart(std::string_view bucket, std::string_view key, const Body& body,
                        uint32_t crc32c, std::string_view boundary, const PutOptions& put,
                        const GcsOptions& options) {
  PutOptions part = put;
  part.expires_unix.reset();  // A part ends with its upload, and no rule is to take one from it.
  return Upload(Operation::kPutPart, bucket, key, body, Description(part, crc32c), part, boundary,
                options);
}

Metadata PartMetadata(std::string_view object_key) {
  return {{kPartOf, PercentEncode(object_key, kUriPath)}};
}

GcsRequest BuildGet(std::string_view bucket, std::string_view key, const GetOptions& get,
                    const GcsOptions& options) {
  GcsRequest request;
  request.operation = Operation::kGet;
  request.path = fmt::format("/{}/{}", Encoded(bucket), PercentEncode(key, kUriPath));
  // What is a parameter of the JSON API is a header here
  // (cloud.google.com/storage/docs/xml-api/get-object-download).
  if (!options.user_project.empty()) {
    request.headers.Set("x-goog-user-project", options.user_project);
  }
  if (!get.if_version.empty()) {
    request.headers.Set("x-goog-if-generation-match", get.if_version);
    request.conditional = true;
  }
  if (const std::string range = RangeText(get); !range.empty()) {
    request.headers.Set("Range", range);
  }
  return request;
}

GcsRequest BuildHead(std::string_view bucket, std::string_view key, const GcsOptions& options) {
  GcsRequest request = Begin(Operation::kHead, "GET", ObjectPath(bucket, key), options);
  AddQuery(request, "fields", kFields);
  return request;
}

GcsRequest BuildRemove(std::string_view bucket, std::string_view key, const Condition& condition,
                       const GcsOptions& options) {
  GcsRequest request = Begin(Operation::kRemove, "DELETE", ObjectPath(bucket, key), options);
  if (condition.kind == Condition::Kind::kVersion) SetCondition(condition, request);
  return request;
}

GcsRequest BuildRemovePart(std::string_view bucket, std::string_view key,
                           const GcsOptions& options) {
  return Begin(Operation::kRemovePart, "DELETE", ObjectPath(bucket, key), options);
}

GcsRequest BuildList(std::string_view bucket, std::string_view prefix, std::string_view token,
                     int limit, const GcsOptions& options) {
  GcsRequest request =
      Begin(Operation::kList, "GET", fmt::format("/storage/v1/b/{}/o", Encoded(bucket)), options);
  AddQuery(request, "maxResults", std::to_string(limit));
  AddQuery(request, "fields", "nextPageToken,items(name,size,generation,updated)");
  if (!prefix.empty()) AddQuery(request, "prefix", prefix);
  if (!token.empty()) AddQuery(request, "pageToken", token);
  return request;
}

// cloud.google.com/storage/docs/json_api/v1/objects/list
GcsRequest BuildListVersions(std::string_view bucket, std::string_view prefix,
                             std::string_view token, int limit, bool metadata,
                             const GcsOptions& options) {
  GcsRequest request = Begin(Operation::kListVersions, "GET",
                             fmt::format("/storage/v1/b/{}/o", Encoded(bucket)), options);
  AddQuery(request, "versions", "true");
  AddQuery(request, "maxResults", std::to_string(limit));
  AddQuery(request, "fields",
           fmt::format("nextPageToken,items(name,size,generation,updated,timeDeleted{})",
                       metadata ? ",timeCreated,metadata" : ""));
  if (!prefix.empty()) AddQuery(request, "prefix", prefix);
  if (!token.empty()) AddQuery(request, "pageToken", token);
  return request;
}

GcsRequest BuildHeadVersion(std::string_view bucket, std::string_view key,
                            std::string_view generation, const GcsOptions& options) {
  GcsRequest request = BuildHead(bucket, key, options);
  AddQuery(request, "generation", generation);
  return request;
}

// cloud.google.com/storage/docs/json_api/v1/objects/delete
GcsRequest BuildRemoveVersion(std::string_view bucket, std::string_view key,
                              std::string_view generation, const GcsOptions& options) {
  GcsRequest request = Begin(Operation::kRemoveVersion, "DELETE", ObjectPath(bucket, key), options);
  AddQuery(request, "generation", generation);
  return request;
}

GcsRequest BuildCompose(std::string_view bucket, std::string_view key,
                        const std::vector<Component>& components, const PutOptions& put,
                        const Condition& condition, const GcsOptions& options) {
  GcsRequest request =
      Begin(Operation::kCompose, "POST", ObjectPath(bucket, key) + "/compose", options);
  AddQuery(request, "fields", kFields);
  SetKey(put, options, request, "kmsKeyName");
  SetCondition(condition, request);
  request.headers.Set("Content-Type", "application/json");
  request.head = "{\"sourceObjects\":[";
  for (const Component& component : components) {
    if (request.head.back() != '[') request.head += ',';
    request.head += '{';
    AppendMember("name", component.key, &request.head);
    AppendMember("generation", component.generation, &request.head);
    request.head += '}';
  }
  request.head += fmt::format("],\"destination\":{},\"deleteSourceObjects\":true}}",
                              Description(put, std::nullopt));
  request.idle_timeout = kComposeIdle;
  return request;
}

HttpRequest Address(const GcsRequest& request, const Endpoint& endpoint, std::string_view token) {
  HttpRequest http;
  http.method = request.method;
  http.url = fmt::format("{}://{}{}{}", endpoint.tls ? "https" : "http", endpoint.host,
                         endpoint.path, request.path);
  if (!request.query.empty()) http.url += "?" + request.query;
  http.headers = request.headers;
  if (!token.empty()) http.headers.Set("Authorization", fmt::format("Bearer {}", token));
  http.body.Append(AsBytes(request.head));
  for (const ByteView segment : request.bytes.segments()) http.body.Append(segment);
  http.body.Append(AsBytes(request.tail));
  http.idle_timeout = request.idle_timeout;
  return http;
}

}  // namespace airfreight::gcs
