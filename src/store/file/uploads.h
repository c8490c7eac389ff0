#pragma once

/// \file
/// \brief What writers have not finished: temporary files below a directory.

#include <string_view>

#include "airfreight/store.h"

namespace airfreight {

/// A page of the temporary files in folders whose key ("a/b/", or nothing for the directory itself)
/// begins with `prefix`. An upload's key is the folder's, its id the file's name, and its time that
/// of its last write: which object it was to become only its writer knows.
Result<UploadPage> ListTemporaryFiles(int root, std::string_view prefix, std::string_view token,
                                      int limit, const Context& context);

/// Removes one of them. A success where it is not there; Invalid for a name that is no temporary
/// file's.
Status RemoveTemporaryFile(int root, std::string_view folder, std::string_view name);

}  // namespace airfreight
