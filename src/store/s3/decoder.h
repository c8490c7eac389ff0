#pragma once

/// \file
/// \brief What S3 answers, turned into results and errors. Pure functions over bytes from outside.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/transport.h"
#include "store/s3/request_builder.h"

namespace airfreight::s3 {

/// An error document
/// (docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html#RESTErrorResponses).
struct ErrorDocument {
  std::string code;
  std::string message;
  std::string region;  ///< Where the bucket lies, when the error is about that.
  std::string request_id;
};

/// Absent when `text` is no such document, which is so for the pages of proxies and for no text.
std::optional<ErrorDocument> ParseErrorDocument(std::string_view text);

/// Everything that an answer without success says: its status and head, and its document or, for a
/// success that holds an error all the same, its body.
struct FailedAnswer {
  Operation operation = Operation::kGet;
  bool conditional = false;
  std::string_view bucket;
  int status = 0;
  const Headers* headers = nullptr;
  std::optional<ErrorDocument> document;
  bool checksums = false;  ///< The request had some that it may go without.
  bool if_match = false;   ///< Of what is `conditional`.
};

/// `now` is for a Retry-After that names a date.
Error DecodeError(const FailedAnswer& answer, int64_t now);

/// What the same request needs to succeed at once, if the answer says so.
struct Correction {
  enum class Kind {
    kNone,
    kRegion,       ///< The bucket lies in `region`.
    kClock,        ///< The server's clock says `server_time`.
    kCredentials,  ///< The credentials have expired; others may be there by now.
    kChecksums,    ///< The store may not know the request's checksum.
  };
  Kind kind = Kind::kNone;
  std::string region;
  int64_t server_time = 0;
  /// Of kChecksums: the answer is the store's own. A bare 400 may be a balancer's, about anything.
  bool named = false;
};
Correction DecodeCorrection(const FailedAnswer& answer, std::string_view region, int64_t now);

/// Size, version, metadata and time from the head of an answer to GET or HEAD. `size` is that of
/// the whole object, also where a part was asked for.
Result<ObjectInfo> DecodeInfo(std::string_view key, const HttpResponse& response);

/// Parses a page of ListObjectsV2 whose keys all begin with `root` (a prefix with its slash, or
/// nothing), and takes that off them. Internal when the document is anything else.
Result<ListPage> DecodeList(std::string_view text, std::string_view root);

/// The upload's id from the answer to CreateMultipartUpload. Internal when there is none.
Result<std::string> DecodeCreateUpload(std::string_view text);

/// The new object's version from the answer to CompleteMultipartUpload that is no error document.
/// Unavailable (retryable) for no document at all, with which an upload may be complete or not;
/// Internal for another one, or one without an ETag.
Result<std::string> DecodeCompleteUpload(std::string_view text);

}  // namespace airfreight::s3
