#include "store/s3/versions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <utility>

#include "base/percent.h"
#include "base/time.h"
#include "http/headers.h"
#include "store/cloud/object_head.h"
#include "store/cloud/xml.h"
#include "store/marker.h"

namespace airfreight::s3 {
namespace {

// Ids of AWS have some 130 bytes, those of other servers fewer; a URL has 8 KiB with most.
constexpr size_t kMaxId = 2048;

tl::unexpected<Error> Malformed(std::string_view what) { return NotOfService("S3", what); }

// One answer: its document, and how it spells keys.
class Document {
 public:
  // Nothing when `text` is not a `name`.
  static std::optional<Document> Parse(std::string_view text, const char* name) {
    Document document;
    if (!ParseXml(text, *document.xml_)) return std::nullopt;
    document.root_ = document.xml_->child(name);
    if (!document.root_) return std::nullopt;
    // Servers that do not know the encoding leave it out, and keys as they are.
    document.encoded_ = ChildText(document.root_, "EncodingType") == "url";
    return document;
  }

  const pugi::xml_node& root() const { return root_; }

  // A key, as it is.
  std::optional<std::string> Key(const pugi::xml_node& node, const char* name) const {
    std::string key = ChildText(node, name);
    if (!encoded_) return key;
    // As in a form: a blank is '+', a plus is %2B.
    std::replace(key.begin(), key.end(), '+', ' ');
    return PercentDecode(key);
  }

  // Behind which entry the next page begins; empty on the last page.
  Result<std::string> Next(const char* key_name, const char* id_name) const {
    if (ChildText(root_, "IsTruncated") != "true") return std::string();
    const auto key = Key(root_, key_name);
    Marker next{key.value_or(""), ChildText(root_, id_name)};
    if (next.key.empty() || next.id.size() > kMaxId) {
      return Malformed("a list that goes on without saying where");
    }
    return PrintMarker(next);
  }

 private:
  Document() : xml_(std::make_unique<pugi::xml_document>()) {}

  std::unique_ptr<pugi::xml_document> xml_;  // Nodes point into it.
  pugi::xml_node root_;
  bool encoded_ = false;
};

// An id becomes part of a later request's URL.
bool IsId(std::string_view id) { return !id.empty() && id.size() <= kMaxId; }

}  // namespace

Result<VersionPage> DecodeVersions(std::string_view text, std::string_view root) {
  const auto document = Document::Parse(text, "ListVersionsResult");
  if (!document) return Malformed("no list of versions");
  VersionPage page;
  for (const pugi::xml_node& entry : document->root().children()) {
    const std::string_view kind = entry.name();
    const bool removal = kind == "DeleteMarker";
    if (!removal && kind != "Version") continue;
    VersionInfo version;
    version.removal = removal;
    version.latest = ChildText(entry, "IsLatest") == "true";
    version.id = ChildText(entry, "VersionId");
    const auto key = document->Key(entry, "Key");
    if (!key || !key->starts_with(root)) return Malformed("a list of keys that were not asked for");
    if (!IsId(version.id)) return Malformed("a version without an id");
    version.object.key = key->substr(root.size());
    version.object.modified_unix = ParseIso8601(ChildText(entry, "LastModified")).value_or(0);
    if (!removal) {
      const auto size = ParseDecimal(ChildText(entry, "Size"));
      if (!size) return Malformed("an object without a size");
      version.object.size = *size;
      version.object.version = ChildText(entry, "ETag");
    }
    page.versions.push_back(std::move(version));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token,
                              document->Next("NextKeyMarker", "NextVersionIdMarker"));
  return page;
}

Result<UploadPage> DecodeUploads(std::string_view text, std::string_view root) {
  const auto document = Document::Parse(text, "ListMultipartUploadsResult");
  if (!document) return Malformed("no list of uploads");
  UploadPage page;
  for (const pugi::xml_node& entry : document->root().children("Upload")) {
    UploadInfo upload;
    const auto key = document->Key(entry, "Key");
    if (!key || !key->starts_with(root)) return Malformed("a list of keys that were not asked for");
    upload.key = key->substr(root.size());
    upload.id = ChildText(entry, "UploadId");
    if (!IsId(upload.id)) return Malformed("an upload without an id");
    upload.started_unix = ParseIso8601(ChildText(entry, "Initiated")).value_or(0);
    page.uploads.push_back(std::move(upload));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token,
                              document->Next("NextKeyMarker", "NextUploadIdMarker"));
  return page;
}

}  // namespace airfreight::s3
