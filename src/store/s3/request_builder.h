#pragma once

/// \file
/// \brief From an ObjectStore's verb to an HTTP request: what is asked, and then the same addressed
/// and signed. Pure functions; clock, keys and place come in as arguments.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"
#include "http/transport.h"
#include "store/s3/endpoint.h"
#include "store/s3/options.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// The largest object of a single PUT
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html).
inline constexpr uint64_t kMaxPutBytes = uint64_t{5} << 30;

/// Uploads in parts (docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html). A part that is not
/// the last has at least kMinPartBytes.
inline constexpr uint64_t kMinPartBytes = uint64_t{5} << 20;
inline constexpr uint64_t kMaxPartBytes = uint64_t{5} << 30;
inline constexpr int kMaxParts = 10'000;
/// The 48.8 TiB of that page: as many of the largest parts as there may be. Servers that stop
/// earlier, as AWS did at 5 TiB until December 2025, say so themselves (EntityTooLarge).
inline constexpr uint64_t kMaxObjectBytes = kMaxParts * kMaxPartBytes;

Capabilities CapabilitiesOf(const S3Options& options);

enum class Operation {
  kPut,
  kGet,
  kHead,
  kAskBucket,
  kRemove,
  kList,
  kCreateUpload,
  kUploadPart,
  kCompleteUpload,
  kAbortUpload,
  kListVersions,
  kRemoveVersion,
  kListUploads,
};

/// What is asked, before it is known of whom.
struct S3Request {
  Operation operation = Operation::kGet;
  std::string key;  ///< Full key in the bucket, not encoded; empty: the bucket itself.
  Query query;
  Headers headers;
  Body body;
  /// What the store is told of the body's checksum: sent where Signer::checksums says so.
  Headers checksum_headers;
  bool conditional = false;  ///< Holds If-None-Match or If-Match.
  /// How long the server may think without sending a byte; absent: as the transport has it.
  std::optional<std::chrono::seconds> idle_timeout;
};

S3Request BuildPut(std::string_view key, const Body& body, const PutOptions& put,
                   const S3Options& options);
S3Request BuildGet(std::string_view key, const GetOptions& get, const S3Options& options);
S3Request BuildHead(std::string_view key, const S3Options& options);
/// The condition is sent too, though servers that do not know it remove all the same: hence
/// Capabilities::conditional_remove is false.
S3Request BuildRemove(std::string_view key, const Condition& condition, const S3Options& options);
S3Request BuildList(std::string_view prefix, std::string_view token, int limit,
                    const S3Options& options);

/// A question about the bucket itself: `what` is the name of a subresource, as "versioning".
S3Request BuildAskBucket(std::string_view what, const S3Options& options);

/// What describes the object belongs here, and on no later request of the upload
/// (docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html).
S3Request BuildCreateUpload(std::string_view key, const PutOptions& put, const S3Options& options);
S3Request BuildUploadPart(std::string_view key, std::string_view upload_id, int number,
                          const Body& body, uint32_t crc32c, const S3Options& options);
/// `document` is what CompleteDocument made; the request's body is a view of it.
S3Request BuildCompleteUpload(std::string_view key, std::string_view upload_id,
                              std::string_view document, const Condition& condition,
                              const S3Options& options);
S3Request BuildAbortUpload(std::string_view key, std::string_view upload_id,
                           const S3Options& options);

/// \name Administration
/// `key` and `id` after which the list goes on; both empty at its beginning.
/// @{
S3Request BuildListVersions(std::string_view prefix, std::string_view key, std::string_view id,
                            int limit, const S3Options& options);
S3Request BuildHeadVersion(std::string_view key, std::string_view id, const S3Options& options);
S3Request BuildRemoveVersion(std::string_view key, std::string_view id, const S3Options& options);
S3Request BuildListUploads(std::string_view prefix, std::string_view key, std::string_view id,
                           int limit, const S3Options& options);
/// @}

/// The list of an upload's parts, with each part's tag exactly as the store gave it
/// (docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html). `checksums` where
/// the upload began with them: AWS then wants each part's again.
std::string CompleteDocument(const std::vector<UploadedPart>& parts, bool checksums);

/// As S3 writes a CRC-32C: base64 of its four bytes, the highest first
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html).
std::string Crc32cHeader(uint32_t crc32c);

/// Whether the signature may leave the body out: that of an object's bytes. All other bodies are
/// small, and some servers refuse UNSIGNED-PAYLOAD there.
bool MayBeUnsigned(Operation operation);

/// Of whom, by whom and when.
struct Signer {
  Endpoint endpoint;
  AddressingStyle addressing_style = AddressingStyle::kAuto;
  std::string bucket;
  Credentials credentials;
  SigningScope scope;
  bool checksums = false;    ///< Send S3Request::checksum_headers.
  std::string payload_hash;  ///< Of the body, where that is part of the signature; else empty.
};

/// Signs `host` and `x-amz-*` only: whatever else a request carries may be changed on its way by
/// proxies and front ends (versity/versitygw#2045, rclone/rclone#6670).
HttpRequest Sign(const S3Request& request, const Signer& signer, SigningKeys& keys);

}  // namespace airfreight::s3
