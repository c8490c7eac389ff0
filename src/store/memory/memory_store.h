#pragma once

/// \file
/// \brief Objects in this process's memory.

#include <memory>

#include "airfreight/store.h"
#include "store/uri.h"

namespace airfreight {

/// \brief Opens `memory://name[/prefix]`: a store for tests, ours and our users'.
///
/// All stores of one name in one process see the same objects, until the process ends. Conditions
/// are real. A forked child starts with none of its parent's.
///
/// Threads: as ObjectStore; one lock for each name, held while a map is looked at, not while bytes
/// are copied. Ownership: copies bytes in and out. Blocking: never. Errors: as ObjectStore.
/// Settings: none.
Result<std::shared_ptr<ObjectStore>> OpenMemoryStore(const StoreUri& uri,
                                                     const StoreSettings& settings);

}  // namespace airfreight
