#pragma once

/// \file
/// \brief Many small pieces of work, several at once.

#include <cstddef>
#include <functional>

#include "airfreight/store.h"

namespace airfreight {

/// Runs `task(0)` to `task(count - 1)`, each once, on the calling thread and on up to `threads - 1`
/// others, and returns when all have ended. The first error ends it: tasks under way are told by
/// their context, further ones are not begun, and it is returned.
///
/// Each task is given the context to use. Only the calling thread asks `context.cancelled`, at
/// least every 100 ms as long as tasks do on the thread that they run on.
Status ForEach(size_t count, int threads, const Context& context,
               const std::function<Status(size_t index, const Context& context)>& task);

}  // namespace airfreight
