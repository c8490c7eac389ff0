#pragma once

/// \file
/// \brief What Azure answers to an administrator's lists, and how versions are named. Pure
/// functions over bytes from outside.

#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::azure {

/// What a VersionInfo's id names: a version or a snapshot by its time, or, in accounts without
/// versioning, the blob itself by its ETag.
struct VersionName {
  enum class Kind { kVersion, kSnapshot, kBlob };
  Kind kind = Kind::kBlob;
  std::string value;
};
std::string PrintVersionName(const VersionName& name);
std::optional<VersionName> ParseVersionName(std::string_view id);

/// Parses a page of List Blobs with `include=snapshots,versions`
/// (learn.microsoft.com/rest/api/storageservices/list-blobs) whose names all begin with `root` (a
/// prefix with its slash, or nothing), and takes that off them. Folders are left out. Internal when
/// the document is anything else.
Result<VersionPage> DecodeVersions(std::string_view text, std::string_view root);

/// The id of all uncommitted blocks of a blob: Azure tells no upload from another.
inline constexpr std::string_view kBlocksId = "blocks";

/// Of a page with `include=uncommittedblobs`, the blobs that are nothing but blocks: those without
/// a content type, which every blob has (same page, "Uncommitted blobs in the response").
Result<UploadPage> DecodeUploads(std::string_view text, std::string_view root);

}  // namespace airfreight::azure
