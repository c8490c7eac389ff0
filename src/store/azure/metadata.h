#pragma once

/// \file
/// \brief An object's metadata in the names and values that Azure takes.

#include <optional>
#include <string>
#include <string_view>

namespace airfreight::azure {

/// The name of `x-ms-meta-<name>` for one of `Metadata`. Azure's are identifiers of C#
/// (learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata#metadata-names),
/// which have no '-' and no digit in front: '-' becomes '_', and a name that begins with a digit,
/// or with the "n-" which says that, gets "n-" in front. One-to-one, as `Metadata` has no '_'.
std::string EncodeMetadataName(std::string_view name);
/// What was encoded, from the name in any letter case, which Azure does not tell apart.
std::string DecodeMetadataName(std::string_view encoded);

/// A value that means the same to whoever signs it. Blanks at its ends and in a row are what
/// services and proxies fold (Azure/azure-sdk-for-net#16873; "linear whitespace" in
/// learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key): they become "%20", and
/// '%' "%25".
std::string EncodeMetadataValue(std::string_view value);
/// What was encoded; a text that is no encoding (someone else wrote it) as it is.
std::string DecodeMetadataValue(std::string_view encoded);

}  // namespace airfreight::azure
