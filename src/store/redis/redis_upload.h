#pragma once

/// \file
/// \brief Uploads in parts to Redis.

#include <memory>
#include <string>
#include <string_view>

#include "airfreight/store.h"
#include "store/redis/objects.h"

namespace airfreight::redis {

/// Each part is a chunk that ends with its lease; Complete writes the head. See PartUpload. Makes
/// no request.
Result<std::unique_ptr<PartUpload>> StartRedisUpload(std::shared_ptr<Objects> objects,
                                                     std::string_view key,
                                                     const PutOptions& options,
                                                     const Context& context);

}  // namespace airfreight::redis
