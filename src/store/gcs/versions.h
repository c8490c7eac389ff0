#pragma once

/// \file
/// \brief What Google Cloud Storage answers to an administrator's lists. Pure functions over bytes
/// from outside.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::gcs {

/// Parses a page of a list with `versions=true` whose keys all begin with `root` (a prefix with its
/// slash, or nothing), which is taken off them; parts of uploads are left out. Internal when the
/// document is anything else.
Result<VersionPage> DecodeVersions(std::string_view text, std::string_view root);

/// One generation of a part of an upload, or of some that were joined.
struct PartVersion {
  std::string name;  ///< Full key in the bucket.
  std::string generation;
  std::string upload;      ///< 32 hexadecimal digits.
  std::string object_key;  ///< What it is a part of; empty where it does not say so.
  int64_t created_unix = 0;
};
struct PartPage {
  std::vector<PartVersion> parts;
  std::string next_token;
};

/// The same for what lies in `root` + kPartsFolder; what is no part there is left out.
Result<PartPage> DecodeParts(std::string_view text, std::string_view root);

/// Whether it may be an upload's id.
bool IsUploadId(std::string_view id);

}  // namespace airfreight::gcs
