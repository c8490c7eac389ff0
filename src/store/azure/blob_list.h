#pragma once

/// \file
/// \brief Pages of List Blobs (learn.microsoft.com/rest/api/storageservices/list-blobs), whatever
/// they list. Pure functions over bytes from outside.

#include <functional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::azure {

/// `key` is the blob's name without the root; nodes are good until it returns.
using TakeBlob = std::function<Status(std::string key, const pugi::xml_node& entry,
                                      const pugi::xml_node& properties)>;

/// \brief Calls `take` for each blob of a page whose names all begin with `root` (a prefix with its
/// slash, or nothing); the marker of the next page, empty on the last.
///
/// Folders of an account with a hierarchical namespace are left out. Errors: Internal when the
/// document is anything else; those of `take`, which end it.
Result<std::string> EachBlob(std::string_view text, std::string_view root, const TakeBlob& take);

/// Size, version and time of a blob. Internal without a size.
Result<ObjectInfo> BlobInfo(std::string key, const pugi::xml_node& properties);

}  // namespace airfreight::azure
