#include "faults/fake_azure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <pugixml.hpp>
#include <utility>

#include "airfreight/bytes.h"
#include "base/base64.h"
#include "base/crc64.h"
#include "base/percent.h"

namespace airfreight::faults {
namespace {

constexpr std::string_view kContainer = "/account/bucket";
constexpr std::string_view kMeta = "x-ms-meta-";
constexpr std::string_view kAssertion = "client_assertion=";

Reply Refusal(int status, std::string_view code) {
  return {status,
          {{"Content-Type", "application/xml"}, {"x-ms-error-code", std::string(code)}},
          AzureErrorXml(code)};
}

// An error where the body is not the one that the headers speak of.
std::optional<Reply> Damaged(const Request& request) {
  const std::string_view crc = request.headers.Get("x-ms-content-crc64");
  if (crc.empty()) return std::nullopt;
  const uint64_t value = ExtendCrc64(0, AsBytes(request.body));
  std::array<std::byte, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  if (crc == Base64Encode(bytes)) return std::nullopt;
  return Refusal(400, "Crc64Mismatch");
}

Headers Kept(const Headers& headers) {
  Headers kept;
  kept.Set("Content-Type", headers.Get("x-ms-blob-content-type"));
  for (const auto& [name, value] : headers) {
    if (EqualsIgnoreCase(std::string_view(name).substr(0, kMeta.size()), kMeta)) {
      kept.Set(name, value);
    }
  }
  return kept;
}

Reply Token(const Request& request) {
  const size_t begin = request.body.find(kAssertion);
  if (begin == std::string::npos) {
    return {400, {}, R"({"error":"invalid_request","error_description":"AADSTS900144"})"};
  }
  std::string assertion = request.body.substr(begin + kAssertion.size());
  assertion = assertion.substr(0, assertion.find('&'));
  return {
      200,
      {{"Content-Type", "application/json"}},
      fmt::format(R"({{"token_type":"Bearer","expires_in":3599,"access_token":"token-for-{}"}})",
                  assertion)};
}

}  // namespace

std::string AzureErrorXml(std::string_view code, std::string_view message, std::string_view more) {
  return fmt::format(
      "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>{}</Code><Message>{}\n"
      "RequestId:RID-BODY\nTime:2026-01-01T00:00:00.0000000Z</Message>{}</Error>",
      code, message.empty() ? code : message, more);
}

Reply FakeAzure::Perform(const Request& request) {
  const std::lock_guard lock(mutex_);
  const Target target = ParseTarget(request.target);
  if (request.method == "POST") return Token(request);
  Reply reply = request.method == "PUT"                                ? Put(request, target)
                : request.method == "GET" && target.path == kContainer ? List(target)
                : request.method == "GET" || request.method == "HEAD"  ? Read(request, target)
                : request.method == "DELETE"                           ? Delete(request, target)
                                             : Refusal(405, "UnsupportedHttpVerb");
  reply.headers.Set("x-ms-request-id", "RID-HONEST");
  return reply;
}

void FakeAzure::Replace(const Request& request) {
  const std::lock_guard lock(mutex_);
  const std::string path = ParseTarget(request.target).path;
  Blob& blob = blobs_[path];
  for (char& byte : blob.body) byte = static_cast<char>(~byte);
  blob.etag = NewTag();
  if (blob.headers.Find("x-ms-meta-af_write")) {
    blob.headers.Set("x-ms-meta-af_write", std::string(32, 'e'));
  }
  blob.blocks.clear();
  waiting_.erase(path);
}

size_t FakeAzure::open_uploads() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

size_t FakeAzure::object_count() const {
  const std::lock_guard lock(mutex_);
  return blobs_.size();
}

bool FakeAzure::Holds(std::string_view key, std::string_view body) const {
  const std::lock_guard lock(mutex_);
  const auto found = blobs_.find(fmt::format("{}/{}", kContainer, key));
  return found != blobs_.end() && found->second.body == body;
}

std::string FakeAzure::NewTag() { return fmt::format("\"0x8DF{:012X}\"", ++tags_); }

std::optional<Reply> FakeAzure::Refused(const Request& request, const std::string& path) const {
  const auto found = blobs_.find(path);
  if (request.headers.Get("if-none-match") == "*" && found != blobs_.end()) {
    return Refusal(409, "BlobAlreadyExists");
  }
  if (const auto version = request.headers.Find("if-match")) {
    if (found == blobs_.end() || *version != found->second.etag) {
      return Refusal(412, "ConditionNotMet");
    }
  }
  return std::nullopt;
}

Reply FakeAzure::Put(const Request& request, const Target& target) {
  if (auto damaged = Damaged(request)) return *damaged;
  const auto comp = target.query.find("comp");
  if (comp != target.query.end() && comp->second == "block") return PutBlock(request, target);
  if (comp != target.query.end() && comp->second == "blocklist") {
    return PutBlockList(request, target);
  }
  if (request.headers.Get("x-ms-blob-type") != "BlockBlob") {
    return Refusal(400, "MissingRequiredHeader");
  }
  return Commit(request, target.path, {request.body, {}, Kept(request.headers), {}});
}

Reply FakeAzure::PutBlock(const Request& request, const Target& target) {
  const auto id = target.query.find("blockid");
  const auto decoded = id == target.query.end() ? std::nullopt : PercentDecode(id->second);
  if (!decoded || !Base64Decode(*decoded) || Base64Decode(*decoded)->size() > 64) {
    return Refusal(400, "InvalidQueryParameterValue");
  }
  Blocks& blocks = waiting_[target.path];
  for (const auto& [other, body] : blocks) {
    if (other.size() != decoded->size()) return Refusal(400, "InvalidBlobOrBlock");
  }
  blocks[*decoded] = request.body;
  return {201, {}, {}};
}

Reply FakeAzure::PutBlockList(const Request& request, const Target& target) {
  pugi::xml_document document;
  document.load_buffer(request.body.data(), request.body.size());
  Blob blob{{}, {}, Kept(request.headers), {}};
  const auto waiting = waiting_.find(target.path);
  const auto there = blobs_.find(target.path);
  if (auto refused = Refused(request, target.path)) return *refused;
  for (const pugi::xml_node& node : document.child("BlockList").children("Latest")) {
    const std::string id = node.text().get();
    const std::string* body = nullptr;
    if (there != blobs_.end() && there->second.blocks.contains(id)) {
      body = &there->second.blocks.at(id);
    }
    if (waiting != waiting_.end() && waiting->second.contains(id)) body = &waiting->second.at(id);
    if (body == nullptr) return Refusal(400, "InvalidBlockList");
    blob.body += *body;
    blob.blocks[id] = *body;
  }
  return Commit(request, target.path, std::move(blob));
}

Reply FakeAzure::Commit(const Request& request, const std::string& path, Blob blob) {
  if (auto refused = Refused(request, path)) return *refused;
  blob.etag = NewTag();
  Reply reply{201, {{"ETag", blob.etag}}, {}};
  blobs_[path] = std::move(blob);
  waiting_.erase(path);
  return reply;
}

Reply FakeAzure::Read(const Request& request, const Target& target) const {
  const auto found = blobs_.find(target.path);
  if (found == blobs_.end()) return Refusal(404, "BlobNotFound");
  if (auto refused = Refused(request, target.path)) return *refused;
  const Blob& blob = found->second;
  Reply reply{200, blob.headers, blob.body};
  reply.headers.Set("ETag", blob.etag);
  reply.headers.Set("Last-Modified", "Thu, 01 Jan 2026 12:00:00 GMT");
  std::string_view range = request.headers.Get("x-ms-range");
  if (request.method == "HEAD" || !range.starts_with("bytes=")) return reply;
  range.remove_prefix(6);
  const size_t dash = std::min(range.find('-'), range.size());
  const uint64_t begin = ParseDecimal(range.substr(0, dash)).value_or(0);
  const uint64_t size = blob.body.size();
  if (begin >= size) return Refusal(416, "InvalidRange");
  const uint64_t last = std::min(
      ParseDecimal(range.substr(std::min(dash + 1, range.size()))).value_or(size - 1), size - 1);
  reply.status = 206;
  reply.body = blob.body.substr(begin, last - begin + 1);
  reply.headers.Set("Content-Range", fmt::format("bytes {}-{}/{}", begin, last, size));
  return reply;
}

Reply FakeAzure::List(const Target& target) const {
  std::string text =
      "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults>"
      "<Blobs>";
  const auto prefix = target.query.find("prefix");
  const std::string under =
      prefix == target.query.end() ? "" : PercentDecode(prefix->second).value_or("");
  for (const auto& [path, blob] : blobs_) {
    const std::string name = path.substr(kContainer.size() + 1);
    if (!name.starts_with(under)) continue;
    text += fmt::format(
        "<Blob><Name>{}</Name><Properties><Etag>{}</Etag><Content-Length>{}"
        "</Content-Length></Properties></Blob>",
        name, blob.etag.substr(1, blob.etag.size() - 2), blob.body.size());
  }
  return {200, {}, text + "</Blobs><NextMarker /></EnumerationResults>"};
}

Reply FakeAzure::Delete(const Request& request, const Target& target) {
  if (!blobs_.contains(target.path)) return Refusal(404, "BlobNotFound");
  if (auto refused = Refused(request, target.path)) return *refused;
  blobs_.erase(target.path);
  return {202, {}, {}};
}

}  // namespace airfreight::faults
