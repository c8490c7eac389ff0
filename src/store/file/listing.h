#pragma once

/// \file
/// \brief The objects below a directory, in the order of their keys, page by page.

#include <functional>
#include <string>
#include <string_view>

#include "airfreight/store.h"

namespace airfreight {

/// A page of the objects below the directory `root` whose keys begin with `prefix` and follow
/// `token`. Reads only the directories that can hold such keys. What vanishes meanwhile is left
/// out; what is hidden, a symbolic link or no regular file is no object.
///
/// Cancelled and Timeout as `context` says.
Result<ListPage> ListFiles(int root, std::string_view prefix, std::string_view token, int limit,
                           const Context& context);

/// Calls `look(directory, name)` for each entry of the folder whose key is `folder` ("" or "a/b/"),
/// but `.` and `..`, in no order. Nothing when it is not there.
Status ReadFolder(int root, const std::string& folder,
                  const std::function<void(int directory, const char* name)>& look);

}  // namespace airfreight
