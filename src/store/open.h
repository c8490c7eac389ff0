#pragma once

/// \file
/// \brief The layers of a store; and OpenStore for tests that must not wait for its waits.

#include <memory>
#include <string_view>

#include "airfreight/store.h"
#include "store/retrier.h"

namespace airfreight {

/// A bare store in the layers that every store has: breaker, retry, then the store.
std::shared_ptr<ObjectStore> InLayers(std::shared_ptr<ObjectStore> bare, const RetryOptions& retry,
                                      RetryHooks hooks);

/// OpenStore, with the clock, the waits and the random numbers of its layers as arguments.
Result<std::shared_ptr<ObjectStore>> OpenStore(std::string_view uri, const StoreSettings& settings,
                                               RetryHooks hooks);

}  // namespace airfreight
