#include "faults/fake_s3.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <utility>
#include <vector>

#include "airfreight/bytes.h"
#include "base/base64.h"
#include "base/crc32c.h"
#include "base/digest.h"
#include "base/hex.h"

namespace airfreight::faults {
namespace {

// docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
constexpr size_t kMinPart = size_t{5} << 20;
constexpr std::string_view kMeta = "x-amz-meta-";

Reply Refusal(int status, std::string_view code, std::string_view message = {}) {
  return {status, {{"Content-Type", "application/xml"}}, ErrorXml(code, message)};
}

std::string TagOf(std::string_view body) {
  const Sha256Value hash = Sha256(AsBytes(body));
  return '"' + HexEncode(ByteView(hash).first(16)) + '"';
}

// An error where the body is not the one that the headers speak of.
std::optional<Reply> Damaged(const Request& request) {
  const std::string_view sha256 = request.headers.Get("x-amz-content-sha256");
  if (sha256.size() == 64 && sha256 != HexEncode(Sha256(AsBytes(request.body)))) {
    return Refusal(400, "XAmzContentSHA256Mismatch");
  }
  const std::string_view crc = request.headers.Get("x-amz-checksum-crc32c");
  if (!crc.empty()) {
    const uint32_t value = Crc32c(AsBytes(request.body));
    std::byte bytes[4];
    for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(value >> (24 - 8 * i));
    if (crc != Base64Encode(bytes)) return Refusal(400, "BadDigest");
  }
  return std::nullopt;
}

Headers Kept(const Headers& headers) {
  Headers kept;
  for (const auto& [name, value] : headers) {
    if (EqualsIgnoreCase(name, "content-type") ||
        EqualsIgnoreCase(std::string_view(name).substr(0, kMeta.size()), kMeta)) {
      kept.Set(name, value);
    }
  }
  return kept;
}

}  // namespace

std::string ErrorXml(std::string_view code, std::string_view message, std::string_view more) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>{}"
      "<RequestId>RID-BODY</RequestId></Error>",
      code, message, more);
}

Reply FakeS3::Perform(const Request& request) {
  const std::lock_guard lock(mutex_);
  const Target target = ParseTarget(request.target);
  Reply reply = request.method == "PUT"                               ? Put(request, target)
                : request.method == "GET" || request.method == "HEAD" ? Read(request, target)
                : request.method == "DELETE"                          ? Delete(request, target)
                : request.method == "POST"                            ? Post(request, target)
                                           : Refusal(405, "MethodNotAllowed");
  reply.headers.Set("x-amz-request-id", "RID-HONEST");
  return reply;
}

void FakeS3::Replace(const Request& request) {
  const std::lock_guard lock(mutex_);
  Object& object = objects_[ParseTarget(request.target).path];
  for (char& byte : object.body) byte = static_cast<char>(~byte);
  object.etag = TagOf(object.body);
  if (object.headers.Find("x-amz-meta-af-write")) {
    object.headers.Set("x-amz-meta-af-write", std::string(32, 'e'));
  }
}

size_t FakeS3::open_uploads() const {
  const std::lock_guard lock(mutex_);
  return uploads_.size();
}

size_t FakeS3::object_count() const {
  const std::lock_guard lock(mutex_);
  return objects_.size();
}

bool FakeS3::Holds(std::string_view key, std::string_view body) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find("/bucket/" + std::string(key));
  return found != objects_.end() && found->second.body == body;
}

std::optional<Reply> FakeS3::Refused(const Request& request, const std::string& path) const {
  const auto found = objects_.find(path);
  if (request.headers.Get("if-none-match") == "*" && found != objects_.end()) {
    return Refusal(412, "PreconditionFailed");
  }
  if (const auto version = request.headers.Find("if-match")) {
    if (found == objects_.end()) return Refusal(404, "NoSuchKey");
    if (*version != found->second.etag) return Refusal(412, "PreconditionFailed");
  }
  return std::nullopt;
}

Reply FakeS3::Put(const Request& request, const Target& target) {
  if (auto damaged = Damaged(request)) return *damaged;
  Object object{request.body, TagOf(request.body), Kept(request.headers)};
  Reply reply{200, {{"ETag", object.etag}}, {}};
  if (const auto id = target.query.find("uploadId"); id != target.query.end()) {
    const auto upload = uploads_.find(id->second);
    if (upload == uploads_.end()) return Refusal(404, "NoSuchUpload");
    upload->second.parts[std::stoi(target.query.at("partNumber"))] = std::move(object);
    return reply;
  }
  if (auto refused = Refused(request, target.path)) return *refused;
  objects_[target.path] = std::move(object);
  return reply;
}

Reply FakeS3::Read(const Request& request, const Target& target) const {
  const auto found = objects_.find(target.path);
  if (found == objects_.end()) return Refusal(404, "NoSuchKey");
  const Object& object = found->second;
  if (const auto version = request.headers.Find("if-match"); version && *version != object.etag) {
    return Refusal(412, "PreconditionFailed");
  }
  Reply reply{200, object.headers, object.body};
  reply.headers.Set("ETag", object.etag);
  reply.headers.Set("Last-Modified", "Thu, 01 Jan 2026 12:00:00 GMT");
  std::string_view range = request.headers.Get("range");
  if (request.method == "HEAD" || !range.starts_with("bytes=")) return reply;
  range.remove_prefix(6);
  const size_t dash = std::min(range.find('-'), range.size());
  const uint64_t begin = ParseDecimal(range.substr(0, dash)).value_or(0);
  const uint64_t size = object.body.size();
  if (begin >= size) return Refusal(416, "InvalidRange");
  const uint64_t last = std::min(
      ParseDecimal(range.substr(std::min(dash + 1, range.size()))).value_or(size - 1), size - 1);
  reply.status = 206;
  reply.headers.Set("Content-Range", fmt::format("bytes {}-{}/{}", begin, last, size));
  reply.body = object.body.substr(begin, last - begin + 1);
  return reply;
}

Reply FakeS3::Delete(const Request& request, const Target& target) {
  if (const auto id = target.query.find("uploadId"); id != target.query.end()) {
    if (uploads_.erase(id->second) == 0) return Refusal(404, "NoSuchUpload");
    return {204, {}, {}};
  }
  if (auto refused = Refused(request, target.path)) return *refused;
  objects_.erase(target.path);
  return {204, {}, {}};
}

Reply FakeS3::Post(const Request& request, const Target& target) {
  if (const auto id = target.query.find("uploadId"); id != target.query.end()) {
    return Complete(request, target, id->second);
  }
  if (!target.query.contains("uploads")) return Refusal(405, "MethodNotAllowed");
  const std::string id = fmt::format("upload-{}", ++started_);
  uploads_[id] = {target.path, Kept(request.headers), {}};
  return {200,
          {},
          fmt::format("<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>key</Key>"
                      "<UploadId>{}</UploadId></InitiateMultipartUploadResult>",
                      id)};
}

Reply FakeS3::Complete(const Request& request, const Target& target, const std::string& id) {
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return Refusal(404, "NoSuchUpload");
  if (auto refused = Refused(request, target.path)) return *refused;
  pugi::xml_document document;
  document.load_buffer(request.body.data(), request.body.size());
  Object object{{}, {}, found->second.headers};
  size_t last_size = kMinPart;
  for (const pugi::xml_node& node : document.child("CompleteMultipartUpload").children("Part")) {
    const auto part = found->second.parts.find(node.child("PartNumber").text().as_int());
    if (part == found->second.parts.end() || node.child("ETag").text().get() != part->second.etag) {
      return Refusal(400, "InvalidPart");
    }
    if (last_size < kMinPart) return Refusal(400, "EntityTooSmall");
    last_size = part->second.body.size();
    object.body += part->second.body;
  }
  if (object.body.empty()) return Refusal(400, "MalformedXML");
  object.etag = TagOf(object.body);
  object.etag.insert(object.etag.size() - 1, fmt::format("-{}", found->second.parts.size()));
  const std::string etag = object.etag;
  objects_[target.path] = std::move(object);
  uploads_.erase(found);
  return {200,
          {},
          fmt::format("<CompleteMultipartUploadResult><Location>l</Location><Bucket>bucket</Bucket>"
                      "<Key>key</Key><ETag>{}</ETag></CompleteMultipartUploadResult>",
                      etag)};
}

}  // namespace airfreight::faults
