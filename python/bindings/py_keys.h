#pragma once

// Services that keep keys, which the core reaches through their own libraries in Python.

#include <Python.h>
#include <nanobind/nanobind.h>

#include "seal/sealing_keys.h"

namespace airfreight {

/// Wraps a callable `(service, key, id, wraps, bytes) -> bytes` of Python's; none where it is None.
/// With the GIL held. It is called with the GIL, from any thread; exceptions become errors as those
/// of a store in Python do.
KeyService WrapKeyService(nanobind::object ask);

}  // namespace airfreight
