#pragma once

/// \file
/// \brief What S3 answers to an administrator's lists: of versions, and of unfinished uploads. Pure
/// functions over bytes from outside.

#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::s3 {

/// Parses a page of ListObjectVersions whose keys all begin with `root` (a prefix with its slash,
/// or nothing), and takes that off them. Internal when the document is anything else.
Result<VersionPage> DecodeVersions(std::string_view text, std::string_view root);

/// The same of ListMultipartUploads.
Result<UploadPage> DecodeUploads(std::string_view text, std::string_view root);

}  // namespace airfreight::s3
