#pragma once

// Stores that are written in Python (`airfreight.stores.ObjectStore`), as the core knows stores.

#include <Python.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

/// Wraps an object of Python's as a store, with the layer that repeats what failed. `settings` are
/// those of the layer (`retry_timeout`). With the GIL held.
///
/// The store's methods are called with the GIL, from any thread; it is released by whatever they
/// wait for. What is to be written they see as read-only views of the memory itself, which end with
/// the call; what was read is copied once. Exceptions become errors: airfreight.errors.Error as it
/// is, ConditionFailed, FileNotFoundError (NotFound), PermissionError (Denied), TimeoutError and
/// ConnectionError (Unavailable, to be tried again), NotImplementedError (Unsupported), anything
/// else Internal, with its type and text.
Result<std::shared_ptr<ObjectStore>> WrapStore(nanobind::object store,
                                               const StoreSettings& settings);

/// What an exception is for the core, as WrapStore has it. With the GIL held.
Error ErrorOf(nanobind::python_error& raised);

/// Opens a store, in Python where its scheme is none of the core's. With the GIL held.
Result<std::shared_ptr<ObjectStore>> OpenAnyStore(const std::string& uri,
                                                  const StoreSettings& settings);

}  // namespace airfreight
