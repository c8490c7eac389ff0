#pragma once

/// \file
/// \brief The keys below a prefix.

#include <string>
#include <vector>

#include "airfreight/result.h"
#include "store/redis/session.h"

namespace airfreight::redis {

enum class Scanned { kObjects, kChunks };

/// All keys that begin with `prefix`, those of chunks or those of all else, in order and each once.
/// Looks through the whole database.
Result<std::vector<std::string>> ScanKeys(Session& session, const std::string& prefix,
                                          Scanned which);

}  // namespace airfreight::redis
