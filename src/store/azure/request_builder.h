#pragma once

/// \file
/// \brief From an ObjectStore's verb to an HTTP request: what is asked, and then the same addressed
/// and signed. Pure functions; clock, credential and place come in as arguments.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/transport.h"
#include "store/azure/account.h"
#include "store/azure/checksum.h"
#include "store/azure/credentials/credential.h"
#include "store/azure/options.h"
#include "store/azure/shared_key.h"

namespace airfreight::azure {

/// The newest version that all features of ours are in, and that services of the last years know:
/// names in lists that XML cannot spell are encoded since 2021-02-12
/// (learn.microsoft.com/rest/api/storageservices/versioning-for-the-azure-storage-services).
inline constexpr std::string_view kApiVersion = "2021-12-02";

/// Limits since version 2019-12-12
/// (learn.microsoft.com/azure/storage/blobs/scalability-targets#scale-targets-for-blob-storage).
inline constexpr uint64_t kMaxPutBytes = uint64_t{5000} << 20;
inline constexpr uint64_t kMaxBlockBytes = uint64_t{4000} << 20;
inline constexpr int kMaxBlocks = 50'000;
inline constexpr uint64_t kMaxObjectBytes = kMaxBlocks * kMaxBlockBytes;

enum class Operation {
  kPut,
  kGet,
  kHead,
  kRemove,
  kList,
  kPutBlock,
  kPutBlockList,
  kRemoveVersion,
};

/// What is asked, before it is known of whom.
struct AzureRequest {
  Operation operation = Operation::kGet;
  std::string key;  ///< Full name in the container, not encoded; empty: the container itself.
  Query query;
  Headers headers;
  Body body;
  bool if_match = false;  ///< Holds If-Match.
  /// How long the server may think without sending a byte; absent: as the transport has it.
  std::optional<std::chrono::seconds> idle_timeout;
};

/// Invalid when CheckKey says so, for a key with a backslash, which the service takes for '/', and
/// where a segment of the whole name ends in a dot, which it takes off
/// (learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata#blob-names):
/// another object than was meant.
Status CheckBlobName(std::string_view key, std::string_view prefix);

/// \name Requests
/// `checksum` is the body's.
/// @{
AzureRequest BuildPut(std::string_view key, const Body& body, const PutOptions& put,
                      const Checksum& checksum, const AzureOptions& options);
AzureRequest BuildGet(std::string_view key, const GetOptions& get);
AzureRequest BuildHead(std::string_view key);
AzureRequest BuildRemove(std::string_view key, const Condition& condition);
AzureRequest BuildList(std::string_view prefix, std::string_view marker, int limit);
/// \param include what is listed besides blobs: "snapshots,versions", "uncommittedblobs".
AzureRequest BuildListAll(std::string_view prefix, std::string_view marker, int limit,
                          std::string_view include);
/// HEAD and DELETE of one version or snapshot; `parameter` is "versionid" or "snapshot".
AzureRequest BuildHeadVersion(std::string_view key, std::string_view parameter,
                              std::string_view value);
AzureRequest BuildRemoveVersion(std::string_view key, std::string_view parameter,
                                std::string_view value);
AzureRequest BuildPutBlock(std::string_view key, std::string_view block_id, const Body& body,
                           const PutOptions& put, const Checksum& checksum,
                           const AzureOptions& options);
/// `document` is what BlockListDocument made; the request's body is a view of it. What describes
/// the object belongs here: the blocks know nothing of it, but for the scope that encrypts them.
AzureRequest BuildPutBlockList(std::string_view key, std::string_view document,
                               const PutOptions& put, const Condition& condition,
                               const Checksum& checksum, const AzureOptions& options);
/// @}

/// The id of block `number` of an upload: base64 of a text whose length is the same for all of
/// them, as the service wants it of all blocks of a blob
/// (learn.microsoft.com/rest/api/storageservices/put-block#uri-parameters). `upload` is 32
/// hexadecimal digits of the upload's own, so that no two uploads of one key share a block.
std::string BlockId(std::string_view upload, int number);

/// The list of an upload's blocks
/// (learn.microsoft.com/rest/api/storageservices/put-block-list#request-body), each the latest of
/// its id: asked again after an answer that was lost, the service finds those that it has already
/// committed.
std::string BlockListDocument(const std::vector<UploadedPart>& parts);

/// Of whom, by whom and when.
struct Signer {
  Account account;
  std::string container;
  Credential credential;
  int64_t unix_seconds = 0;
};

/// The request as it is sent. A shared access signature stands in its URL, which therefore must get
/// into no message. Invalid for a key that is none.
Result<HttpRequest> Sign(const AzureRequest& request, const Signer& signer);

}  // namespace airfreight::azure
