#pragma once

/// \file
/// \brief Chunks that no head names: of uploads that are under way, of those whose writer was
/// killed, and of objects that ended a moment ago. They end by themselves within a day.

#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/redis/objects.h"

namespace airfreight::redis {

/// As ObjectStore's. An upload's id is the generation of its chunks. Looks through the whole
/// database, as a list of objects does.
Result<UploadPage> ListUploads(Objects& objects, std::string_view prefix, std::string_view token,
                               int limit, const Context& context);
/// As ObjectStore's. Chunks that a head names are left where they are.
Status AbortUpload(Objects& objects, std::string_view key, std::string_view id,
                   const Context& context);

}  // namespace airfreight::redis
