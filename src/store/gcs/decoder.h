#pragma once

/// \file
/// \brief What Google Cloud Storage answers, turned into results and errors. Pure functions over
/// bytes from outside.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/transport.h"
#include "store/gcs/request_builder.h"

namespace airfreight::gcs {

/// An error document of the JSON API (cloud.google.com/storage/docs/json_api/v1/status-codes) or of
/// the XML API (cloud.google.com/storage/docs/xml-api/reference-status).
struct ErrorDocument {
  std::string reason;  ///< "notFound", of the first of its errors; "NoSuchKey".
  std::string message;
};

/// Absent when `text` is no such document: pages of proxies, a word of text.
std::optional<ErrorDocument> ParseErrorDocument(std::string_view text);

/// Everything that an answer without success says.
struct FailedAnswer {
  Operation operation = Operation::kGet;
  bool conditional = false;
  std::string_view bucket;
  int status = 0;
  const Headers* headers = nullptr;
  std::string_view text;  ///< Its document.
};

/// `now` is for a Retry-After that names a date.
///
/// 404 is NotFound, or Invalid where it is the bucket that is not there. 403 to a read is
/// NotFoundOrDenied: without storage.objects.list what is not there looks the same
/// (cloud.google.com/storage/docs/json_api/v1/status-codes#403-forbidden). 429 waits for a second
/// at least, which is as often as one object may change
/// (cloud.google.com/storage/quotas#objects).
Error DecodeError(const FailedAnswer& answer, int64_t now);

/// A resource as the answers to uploads, Compose and metadata requests have it.
struct ObjectResource {
  ObjectInfo info;
  std::optional<uint32_t> crc32c;
};
/// Internal when `text` is anything else. `key` is not read from it.
Result<ObjectResource> DecodeResource(std::string_view key, std::string_view text);

/// Size, generation, metadata and time from the head of an answer with an object's bytes. `size` is
/// that of the whole object, also where a part was asked for.
Result<ObjectInfo> DecodeInfo(std::string_view key, const HttpResponse& response);

/// The object's CRC-32C from `x-goog-hash` (cloud.google.com/storage/docs/xml-api/reference-headers
/// #xgooghash); absent when there is none, or none that can be read.
std::optional<uint32_t> DecodeChecksum(const Headers& headers);

/// A page of a list whose keys all begin with `root` (a prefix with its slash, or nothing), which
/// is taken off them; parts of uploads are left out. Internal when the document is anything else.
Result<ListPage> DecodeList(std::string_view text, std::string_view root);

}  // namespace airfreight::gcs
