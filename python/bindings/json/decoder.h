#pragma once

/// \file
/// \brief JSON to objects of Python in one pass.

#include <string_view>

#include "python.h"
#include "tags.h"

namespace airfreight::json {

/// `airfreight._json.decode`: what `json.loads` makes of `text`, which must not change meanwhile.
/// With `tags` (else null) an object with one member, whose name begins with `~`, becomes what that
/// makes of it; its content was decoded before.
///
/// Python's cyclic garbage collector rests meanwhile: it would look at every list and dict again
/// and again that is being made, and none of them is garbage. (Reference counts go on.) It is set
/// back to what it was. ValueError, with the place in bytes, for what is not JSON.
PyObject* Decode(std::string_view text, TagReader* tags);

}  // namespace airfreight::json
