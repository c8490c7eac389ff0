#include "store/azure/request_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/percent.h"
#include "base/time.h"
#include "store/azure/metadata.h"
#include "store/checks.h"
#include "store/cloud/object_head.h"

namespace airfreight::azure {
namespace {

std::string_view Method(Operation operation) {
  switch (operation) {
    case Operation::kPut:
    case Operation::kPutBlock:
    case Operation::kPutBlockList:
      return "PUT";
    case Operation::kGet:
    case Operation::kList:
      return "GET";
    case Operation::kHead:
      return "HEAD";
    case Operation::kRemove:
    case Operation::kRemoveVersion:
      return "DELETE";
  }
  return "GET";
}

AzureRequest Begin(Operation operation, std::string_view key) {
  AzureRequest request;
  request.operation = operation;
  request.key = key;
  return request;
}

// learn.microsoft.com/rest/api/storageservices/specifying-conditional-headers-for-blob-service-operations
void SetCondition(const Condition& condition, AzureRequest& request) {
  switch (condition.kind) {
    case Condition::Kind::kNone:
      return;
    case Condition::Kind::kAbsent:
      request.headers.Set("If-None-Match", "*");
      break;
    case Condition::Kind::kVersion:
      request.headers.Set("If-Match", condition.version);
      request.if_match = true;
      break;
  }
}

void SetScope(const PutOptions& put, const AzureOptions& options, AzureRequest& request) {
  const std::string& scope =
      put.encryption_key.empty() ? options.encryption_scope : put.encryption_key;
  if (!scope.empty()) request.headers.Set("x-ms-encryption-scope", scope);
}

void SetChecksum(const Checksum& checksum, AzureRequest& request) {
  if (!checksum.header.empty()) request.headers.Set(checksum.header, checksum.value);
}

// What a new object is told of itself.
void Describe(const PutOptions& put, const AzureOptions& options, AzureRequest& request) {
  request.headers.Set("x-ms-blob-content-type", put.content_type);
  for (const auto& [name, value] : put.metadata) {
    request.headers.Set("x-ms-meta-" + EncodeMetadataName(name), EncodeMetadataValue(value));
  }
  SetScope(put, options, request);
}

std::string EncodedQuery(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : "&", name, PercentEncode(value, kUriUnreserved));
  }
  return text;
}

// The service takes dots off a segment's end, so that another blob would be meant.
Status CheckDots(std::string_view what, std::string_view path) {
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.ends_with('.')) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("{} {}: its part {} ends in a dot, which Azure takes off: another "
                              "blob would be meant. Use a name without it",
                              what, Quoted(path), Quoted(part)));
    }
    start = end + 1;
  }
  return {};
}

// The service gives itself a minute for any list of blocks, and some more for its network
// (learn.microsoft.com/rest/api/storageservices/setting-timeouts-for-blob-service-operations).
constexpr std::chrono::seconds kCommitIdle{120};

}  // namespace

Status CheckBlobName(std::string_view key, std::string_view prefix) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, prefix));
  if (key.find('\\') != std::string_view::npos) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("object key {}: it holds a backslash, which Azure takes for '/'", Quoted(key)));
  }
  AIRFREIGHT_RETURN_IF_ERROR(CheckDots("the store's prefix", prefix));
  return CheckDots("object key", key);
}

AzureRequest BuildPut(std::string_view key, const Body& body, const PutOptions& put,
                      const Checksum& checksum, const AzureOptions& options) {
  AzureRequest request = Begin(Operation::kPut, key);
  request.body = body;
  request.headers.Set("x-ms-blob-type", "BlockBlob");
  SetCondition(put.condition, request);
  Describe(put, options, request);
  SetChecksum(checksum, request);
  return request;
}

AzureRequest BuildPutBlock(std::string_view key, std::string_view block_id, const Body& body,
                           const PutOptions& put, const Checksum& checksum,
                           const AzureOptions& options) {
  AzureRequest request = Begin(Operation::kPutBlock, key);
  request.query = {{"comp", "block"}, {"blockid", std::string(block_id)}};
  request.body = body;
  SetScope(put, options, request);
  SetChecksum(checksum, request);
  return request;
}

AzureRequest BuildPutBlockList(std::string_view key, std::string_view document,
                               const PutOptions& put, const Condition& condition,
                               const Checksum& checksum, const AzureOptions& options) {
  AzureRequest request = Begin(Operation::kPutBlockList, key);
  request.query = {{"comp", "blocklist"}};
  request.body = Body(document);
  request.headers.Set("Content-Type", "application/xml");
  SetCondition(condition, request);
  Describe(put, options, request);
  SetChecksum(checksum, request);
  request.idle_timeout = kCommitIdle;
  return request;
}

AzureRequest BuildGet(std::string_view key, const GetOptions& get) {
  AzureRequest request = Begin(Operation::kGet, key);
  if (const std::string range = RangeText(get); !range.empty()) {
    request.headers.Set("x-ms-range", range);
  }
  if (!get.if_version.empty()) {
    request.headers.Set("If-Match", get.if_version);
    request.if_match = true;
  }
  return request;
}

AzureRequest BuildHead(std::string_view key) { return Begin(Operation::kHead, key); }

AzureRequest BuildRemove(std::string_view key, const Condition& condition) {
  AzureRequest request = Begin(Operation::kRemove, key);
  if (condition.kind == Condition::Kind::kVersion) SetCondition(condition, request);
  return request;
}

AzureRequest BuildList(std::string_view prefix, std::string_view marker, int limit) {
  AzureRequest request = Begin(Operation::kList, "");
  request.query = {
      {"restype", "container"}, {"comp", "list"}, {"maxresults", std::to_string(limit)}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (!marker.empty()) request.query.emplace_back("marker", marker);
  return request;
}

AzureRequest BuildListAll(std::string_view prefix, std::string_view marker, int limit,
                          std::string_view include) {
  AzureRequest request = BuildList(prefix, marker, limit);
  request.query.emplace_back("include", include);
  return request;
}

AzureRequest BuildHeadVersion(std::string_view key, std::string_view parameter,
                              std::string_view value) {
  AzureRequest request = Begin(Operation::kHead, key);
  request.query.emplace_back(parameter, value);
  return request;
}

AzureRequest BuildRemoveVersion(std::string_view key, std::string_view parameter,
                                std::string_view value) {
  AzureRequest request = Begin(Operation::kRemoveVersion, key);
  request.query.emplace_back(parameter, value);
  return request;
}

std::string BlockId(std::string_view upload, int number) {
  // 39 bytes, which base64 takes without padding; 64 are the most.
  return Base64Encode(AsBytes(fmt::format("{}-{:06}", upload, number)));
}

std::string BlockListDocument(const std::vector<UploadedPart>& parts) {
  std::string text = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (const UploadedPart& part : parts) text += fmt::format("<Latest>{}</Latest>", part.tag);
  return text + "</BlockList>";
}

Result<HttpRequest> Sign(const AzureRequest& request, const Signer& signer) {
  const Endpoint& endpoint = signer.account.endpoint;
  SignedParts parts;
  parts.method = Method(request.operation);
  parts.path = fmt::format("{}/{}", endpoint.path, PercentEncode(signer.container, kUriUnreserved));
  // Each byte outside of the unreserved ones is encoded, exactly once: what is sent is what is
  // signed, whatever stands between.
  if (!request.key.empty()) parts.path += "/" + PercentEncode(request.key, kUriPath);
  parts.query = request.query;
  parts.headers = request.headers;
  parts.headers.Set("x-ms-date", FormatHttpDate(signer.unix_seconds));
  parts.headers.Set("x-ms-version", kApiVersion);
  parts.content_length = request.body.size();

  HttpRequest http;
  http.method = parts.method;
  http.url = fmt::format("{}://{}{}", endpoint.tls ? "https" : "http", endpoint.host, parts.path);
  std::string query = EncodedQuery(request.query);
  const std::string_view secret = signer.credential.secret.Reveal();
  switch (signer.credential.kind) {
    case Credential::Kind::kSharedKey: {
      AIRFREIGHT_ASSIGN_OR_RETURN(
          const std::string authorization,
          SharedKeyAuthorization(parts, signer.account.name, signer.credential.secret));
      parts.headers.Set("Authorization", authorization);
      break;
    }
    case Credential::Kind::kSas:
      query += fmt::format("{}{}", query.empty() ? "" : "&", secret);
      break;
    case Credential::Kind::kToken:
      parts.headers.Set("Authorization", fmt::format("Bearer {}", secret));
      break;
  }
  if (!query.empty()) http.url += "?" + query;
  http.headers = std::move(parts.headers);
  http.body = request.body;
  http.idle_timeout = request.idle_timeout;
  return http;
}

}  // namespace airfreight::azure
