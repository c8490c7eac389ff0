#include "store/s3/request_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/base64.h"
#include "base/time.h"
#include "store/cloud/object_head.h"

namespace airfreight::s3 {
namespace {

std::string_view Method(Operation operation) {
  switch (operation) {
    case Operation::kPut:
    case Operation::kUploadPart:
      return "PUT";
    case Operation::kGet:
    case Operation::kAskBucket:
    case Operation::kList:
    case Operation::kListVersions:
    case Operation::kListUploads:
      return "GET";
    case Operation::kHead:
      return "HEAD";
    case Operation::kRemove:
    case Operation::kAbortUpload:
    case Operation::kRemoveVersion:
      return "DELETE";
    case Operation::kCreateUpload:
    case Operation::kCompleteUpload:
      return "POST";
  }
  return "GET";
}

S3Request Begin(Operation operation, std::string_view key, const S3Options& options) {
  S3Request request;
  request.operation = operation;
  request.key = key;
  // Where the requester pays, on every request, or each is refused (drivendataorg/cloudpathlib#180;
  // docs.aws.amazon.com/AmazonS3/latest/userguide/ObjectsinRequesterPaysBuckets.html).
  if (options.request_payer) request.headers.Set("x-amz-request-payer", "requester");
  return request;
}

// docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html. A version is an ETag as
// the store gave it: quotes and all.
void SetCondition(const Condition& condition, const S3Options& options, S3Request& request) {
  if (!options.conditional_writes) return;
  switch (condition.kind) {
    case Condition::Kind::kNone:
      return;
    case Condition::Kind::kAbsent:
      request.headers.Set("If-None-Match", "*");
      break;
    case Condition::Kind::kVersion:
      request.headers.Set("If-Match", condition.version);
      break;
  }
  request.conditional = true;
}

// What a new object is told of itself.
void Describe(const PutOptions& put, const S3Options& options, S3Request& request) {
  request.headers.Set("Content-Type", put.content_type);
  for (const auto& [name, value] : put.metadata) request.headers.Set("x-amz-meta-" + name, value);
  // On the same request: no second one that could be lost, and no moment without it. Of letters and
  // digits, which the query string of a header needs no escapes for
  // (docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html).
  if (options.retention_tags && !put.retention_class.empty()) {
    request.headers.Set("x-amz-tagging", "airfreight-retention=" + put.retention_class);
  }
  // Where an object begins only; reads refuse them. Firms deny uploads without them even where the
  // bucket encrypts by itself (awslabs/mountpoint-s3#534).
  // An object's own key means a KMS, whatever the settings say of the others; which kind, they do.
  const bool by_kms = options.sse.starts_with("aws:kms");
  const std::string sse = put.encryption_key.empty() || by_kms ? options.sse : "aws:kms";
  const std::string& key_id =
      put.encryption_key.empty() ? options.sse_kms_key_id : put.encryption_key;
  if (!sse.empty()) request.headers.Set("x-amz-server-side-encryption", sse);
  if (!key_id.empty()) request.headers.Set("x-amz-server-side-encryption-aws-kms-key-id", key_id);
  if (!options.sse_kms_context.empty()) {
    request.headers.Set("x-amz-server-side-encryption-context",
                        Base64Encode(AsBytes(options.sse_kms_context)));
  }
  if (options.sse_bucket_key) {
    request.headers.Set("x-amz-server-side-encryption-bucket-key-enabled", "true");
  }
}

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
        break;
    }
  }
  return escaped;
}

constexpr std::string_view kChecksum = "x-amz-checksum-crc32c";

// Joining thousands of parts may take minutes. AWS sends blanks meanwhile
// (docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html), other servers are
// silent; ten minutes is what the nginx before many of them is told to wait at most.
constexpr std::chrono::seconds kCompleteIdle{600};

}  // namespace

Capabilities CapabilitiesOf(const S3Options& options) {
  Capabilities capabilities;
  capabilities.conditional_put = options.conditional_writes;
  // AWS honours If-Match on DELETE, most others ignore it and remove.
  capabilities.conditional_remove = false;
  capabilities.max_put_bytes = kMaxPutBytes;
  capabilities.parts = true;
  capabilities.min_part_bytes = kMinPartBytes;
  capabilities.max_part_bytes = kMaxPartBytes;
  capabilities.max_parts = kMaxParts;
  capabilities.max_object_bytes = kMaxObjectBytes;
  capabilities.encryption_key = true;
  capabilities.versions = true;
  capabilities.uploads = true;
  capabilities.parallel = true;
  return capabilities;
}

S3Request BuildPut(std::string_view key, const Body& body, const PutOptions& put,
                   const S3Options& options) {
  S3Request request = Begin(Operation::kPut, key, options);
  request.body = body;
  SetCondition(put.condition, options, request);
  Describe(put, options, request);
  // A header of its own and never a trailer: that would need the chunked coding which many servers
  // refuse (boto/boto3#4392).
  if (put.crc32c) request.checksum_headers.Set(kChecksum, Crc32cHeader(*put.crc32c));
  return request;
}

S3Request BuildCreateUpload(std::string_view key, const PutOptions& put, const S3Options& options) {
  S3Request request = Begin(Operation::kCreateUpload, key, options);
  request.query = {{"uploads", ""}};
  Describe(put, options, request);
  request.checksum_headers.Set("x-amz-checksum-algorithm", "CRC32C");
  return request;
}

S3Request BuildUploadPart(std::string_view key, std::string_view upload_id, int number,
                          const Body& body, uint32_t crc32c, const S3Options& options) {
  S3Request request = Begin(Operation::kUploadPart, key, options);
  request.query = {{"partNumber", std::to_string(number)}, {"uploadId", std::string(upload_id)}};
  request.body = body;
  request.checksum_headers.Set(kChecksum, Crc32cHeader(crc32c));
  return request;
}

S3Request BuildCompleteUpload(std::string_view key, std::string_view upload_id,
                              std::string_view document, const Condition& condition,
                              const S3Options& options) {
  S3Request request = Begin(Operation::kCompleteUpload, key, options);
  request.query = {{"uploadId", std::string(upload_id)}};
  request.body = Body(document);
  request.headers.Set("Content-Type", "application/xml");
  SetCondition(condition, options, request);
  request.idle_timeout = kCompleteIdle;
  return request;
}

S3Request BuildAbortUpload(std::string_view key, std::string_view upload_id,
                           const S3Options& options) {
  S3Request request = Begin(Operation::kAbortUpload, key, options);
  request.query = {{"uploadId", std::string(upload_id)}};
  return request;
}

std::string CompleteDocument(const std::vector<UploadedPart>& parts, bool checksums) {
  std::string text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const UploadedPart& part : parts) {
    text += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag>", part.number,
                        EscapeXml(part.tag));
    if (checksums) {
      text += fmt::format("<ChecksumCRC32C>{}</ChecksumCRC32C>", Crc32cHeader(part.crc32c));
    }
    text += "</Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

std::string Crc32cHeader(uint32_t crc32c) {
  std::array<std::byte, 4> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(crc32c >> (24 - 8 * i));
  }
  return Base64Encode(bytes);
}

S3Request BuildGet(std::string_view key, const GetOptions& get, const S3Options& options) {
  S3Request request = Begin(Operation::kGet, key, options);
  if (const std::string range = RangeText(get); !range.empty()) {
    request.headers.Set("Range", range);
  }
  if (!get.if_version.empty()) {
    request.headers.Set("If-Match", get.if_version);
    request.conditional = true;
  }
  return request;
}

S3Request BuildAskBucket(std::string_view what, const S3Options& options) {
  S3Request request = Begin(Operation::kAskBucket, "", options);
  request.query = {{std::string(what), ""}};
  return request;
}

S3Request BuildHead(std::string_view key, const S3Options& options) {
  return Begin(Operation::kHead, key, options);
}

S3Request BuildRemove(std::string_view key, const Condition& condition, const S3Options& options) {
  S3Request request = Begin(Operation::kRemove, key, options);
  if (condition.kind == Condition::Kind::kVersion) SetCondition(condition, options, request);
  return request;
}

S3Request BuildList(std::string_view prefix, std::string_view token, int limit,
                    const S3Options& options) {
  S3Request request = Begin(Operation::kList, "", options);
  request.query = {{"list-type", "2"},
                   // Keys may hold what XML 1.0 cannot.
                   {"encoding-type", "url"},
                   {"max-keys", std::to_string(limit)}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (!token.empty()) request.query.emplace_back("continuation-token", token);
  return request;
}

// docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html
S3Request BuildListVersions(std::string_view prefix, std::string_view key, std::string_view id,
                            int limit, const S3Options& options) {
  S3Request request = Begin(Operation::kListVersions, "", options);
  request.query = {{"versions", ""}, {"encoding-type", "url"}, {"max-keys", std::to_string(limit)}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (!key.empty()) request.query.emplace_back("key-marker", key);
  if (!id.empty()) request.query.emplace_back("version-id-marker", id);
  return request;
}

S3Request BuildHeadVersion(std::string_view key, std::string_view id, const S3Options& options) {
  S3Request request = BuildHead(key, options);
  request.query = {{"versionId", std::string(id)}};
  return request;
}

// docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObject.html
S3Request BuildRemoveVersion(std::string_view key, std::string_view id, const S3Options& options) {
  S3Request request = Begin(Operation::kRemoveVersion, key, options);
  request.query = {{"versionId", std::string(id)}};
  return request;
}

// docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html
S3Request BuildListUploads(std::string_view prefix, std::string_view key, std::string_view id,
                           int limit, const S3Options& options) {
  S3Request request = Begin(Operation::kListUploads, "", options);
  request.query = {
      {"uploads", ""}, {"encoding-type", "url"}, {"max-uploads", std::to_string(limit)}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (!key.empty()) request.query.emplace_back("key-marker", key);
  if (!id.empty()) request.query.emplace_back("upload-id-marker", id);
  return request;
}

bool MayBeUnsigned(Operation operation) {
  return operation == Operation::kPut || operation == Operation::kUploadPart;
}

HttpRequest Sign(const S3Request& request, const Signer& signer, SigningKeys& keys) {
  const Address address =
      Locate(signer.endpoint, signer.addressing_style, signer.bucket, request.key);

  SignedParts parts;
  parts.method = Method(request.operation);
  parts.canonical_uri = address.path;
  parts.query = request.query;
  parts.payload_hash = !signer.payload_hash.empty()       ? signer.payload_hash
                       : MayBeUnsigned(request.operation) ? std::string(kUnsignedPayload)
                                                          : std::string(kEmptyPayloadHash);
  HttpRequest http;
  http.headers = request.headers;
  if (signer.checksums) {
    for (const auto& [name, value] : request.checksum_headers) http.headers.Set(name, value);
  }
  http.headers.Set("x-amz-content-sha256", parts.payload_hash);
  http.headers.Set("x-amz-date", FormatBasicIso8601(signer.scope.unix_seconds));
  if (!signer.credentials.session_token.empty()) {
    http.headers.Set("x-amz-security-token", signer.credentials.session_token.Reveal());
  }
  parts.headers.Set("host", address.host);
  for (const auto& [name, value] : http.headers) {
    if (EqualsIgnoreCase(std::string_view(name).substr(0, 6), "x-amz-")) {
      parts.headers.Set(name, value);
    }
  }
  http.headers.Set("Authorization", Authorization(parts, signer.credentials, signer.scope, keys));

  http.method = parts.method;
  http.url =
      fmt::format("{}://{}{}", signer.endpoint.tls ? "https" : "http", address.host, address.path);
  if (!request.query.empty()) http.url += "?" + CanonicalQuery(request.query);
  http.body = request.body;
  http.idle_timeout = request.idle_timeout;
  return http;
}

}  // namespace airfreight::s3
