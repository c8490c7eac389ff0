#pragma once

/// \file
/// \brief From an ObjectStore's verb to a request. Pure functions.
///
/// All are of the JSON API (cloud.google.com/storage/docs/json_api/v1/objects) but the one that
/// gets an object's bytes: the JSON API sends no metadata of one's own with those, and the XML API
/// does
/// (`x-goog-meta-`: cloud.google.com/storage/docs/xml-api/reference-headers#xgoogmeta), for the
/// same price, permission (storage.objects.get) and token. So a read that finds another object than
/// its reference told knows whose it is, without a second request.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"
#include "http/transport.h"
#include "store/cloud/endpoint.h"
#include "store/gcs/options.h"

namespace airfreight::gcs {

/// cloud.google.com/storage/quotas#objects: the largest object, however it comes.
inline constexpr uint64_t kMaxObjectBytes = uint64_t{5} << 40;
/// cloud.google.com/storage/docs/json_api/v1/objects/compose
inline constexpr size_t kMaxComposed = 32;
/// Two levels of Compose. Ten thousand parts, as S3 has them, would want three.
inline constexpr int kMaxParts = static_cast<int>(kMaxComposed * kMaxComposed);

/// The folder under the store's prefix in which parts of uploads lie until they are one object. No
/// coordinate has such a name: `~` is not among the bytes that a part of a key may have
/// (`formats/key.md`).
inline constexpr std::string_view kPartsFolder = "~parts/";
/// In a part's metadata: the key of the object that it belongs to, percent-encoded.
inline constexpr char kPartOf[] = "airfreight-key";

enum class Operation {
  kPut,
  kGet,
  kHead,
  kRemove,
  kList,
  kPutPart,
  kCompose,
  kRemovePart,
  kListVersions,
  kRemoveVersion,
};

/// What is asked, before it is known of whom. Owns what its body's segments are views of, but for
/// the caller's own bytes.
struct GcsRequest {
  Operation operation = Operation::kGet;
  std::string method = "GET";
  std::string path;   ///< Below the endpoint, encoded.
  std::string query;  ///< Encoded, without its `?`.
  Headers headers;
  std::string head;  ///< Sent before the caller's bytes,
  std::string tail;  ///< and after them.
  Body bytes;        ///< The caller's.
  bool conditional = false;
  std::optional<std::chrono::seconds> idle_timeout;
};

/// As Google writes a CRC-32C: base64 of its four bytes, the highest first
/// (cloud.google.com/storage/docs/json_api/v1/objects#resource-representations).
std::string Crc32cText(uint32_t crc32c);

/// A fresh boundary of a multipart body: text that is not in the bytes but by a chance of 2^-128.
/// One request (`uploadType=multipart`) carries the bytes, their CRC-32C, metadata and type, with
/// condition and key in the query; a body of media alone has no place for metadata.
GcsRequest BuildPut(std::string_view bucket, std::string_view key, const Body& body,
                    const PutOptions& put, uint32_t crc32c, std::string_view boundary,
                    const GcsOptions& options);
/// The metadata of what becomes a part of `object_key`: so that those who clear away what was left
/// know whose it was.
Metadata PartMetadata(std::string_view object_key);
/// A part of an upload, as an object of its own, in place of an earlier try. `put` has its key and
/// its metadata.
GcsRequest BuildPutPart(std::string_view bucket, std::string_view key, const Body& body,
                        uint32_t crc32c, std::string_view boundary, const PutOptions& put,
                        const GcsOptions& options);
/// By the XML API; range and condition go in headers.
GcsRequest BuildGet(std::string_view bucket, std::string_view key, const GetOptions& get,
                    const GcsOptions& options);
GcsRequest BuildHead(std::string_view bucket, std::string_view key, const GcsOptions& options);
GcsRequest BuildRemove(std::string_view bucket, std::string_view key, const Condition& condition,
                       const GcsOptions& options);
GcsRequest BuildRemovePart(std::string_view bucket, std::string_view key,
                           const GcsOptions& options);
GcsRequest BuildList(std::string_view bucket, std::string_view prefix, std::string_view token,
                     int limit, const GcsOptions& options);

/// \name Administration
/// With noncurrent generations; with metadata where that is asked for.
/// @{
GcsRequest BuildListVersions(std::string_view bucket, std::string_view prefix,
                             std::string_view token, int limit, bool metadata,
                             const GcsOptions& options);
GcsRequest BuildHeadVersion(std::string_view bucket, std::string_view key,
                            std::string_view generation, const GcsOptions& options);
GcsRequest BuildRemoveVersion(std::string_view bucket, std::string_view key,
                              std::string_view generation, const GcsOptions& options);
/// @}

/// What Compose joins.
struct Component {
  std::string key;
  std::string generation;
  uint64_t size = 0;
  uint32_t crc32c = 0;
};
/// Makes `key` of the components, which are gone afterwards (`deleteSourceObjects`), under a
/// condition on what lies at `key`. `put` describes the object.
GcsRequest BuildCompose(std::string_view bucket, std::string_view key,
                        const std::vector<Component>& components, const PutOptions& put,
                        const Condition& condition, const GcsOptions& options);

/// What goes over the wire. The result's body is a view of `request`. `token` may be empty.
HttpRequest Address(const GcsRequest& request, const Endpoint& endpoint, std::string_view token);

}  // namespace airfreight::gcs
