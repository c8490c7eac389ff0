#pragma once

/// \file
/// \brief OpenStore for tests that must not wait for its waits.

#include <memory>
#include <string_view>

#include "airfreight/store.h"
#include "store/retrying_store.h"

namespace airfreight {

/// OpenStore, with the clock, the waits and the random numbers of its retry layer as arguments.
Result<std::shared_ptr<ObjectStore>> OpenStore(std::string_view uri, const StoreSettings& settings,
                                               RetryHooks hooks);

}  // namespace airfreight
