#pragma once

/// \file
/// \brief What Python pickles a value as, by which its fields are known (types.h).

#include <cstddef>
#include <utility>

#include "python.h"
#include "types.h"

namespace airfreight::json {

/// What a value is pickled as: a tuple, or nothing. `method` is one of `types`.
inline Ref Reduced(const Types& types, PyObject* value, const Ref& method) {
  PyObject* const protocol = method.get() == types.reduce_ex.get() ? types.protocol.get() : nullptr;
  const Ref reduced = Ref::Own(PyObject_CallMethodObjArgs(value, method.get(), protocol, nullptr));
  if (!reduced || PyTuple_Check(reduced.get()) == 0 || PyTuple_Size(reduced.get()) != 2) return {};
  Ref state = Ref::Borrow(PyTuple_GetItem(reduced.get(), 1));
  return PyTuple_Check(state.get()) != 0 ? std::move(state) : Ref();
}

/// The bytes at the front of a pickled state, if there are so many.
inline const unsigned char* BytesOf(const Ref& state, size_t size) {
  PyObject* const bytes = PyTuple_Size(state.get()) > 0 ? PyTuple_GetItem(state.get(), 0) : nullptr;
  if (bytes == nullptr || PyBytes_CheckExact(bytes) == 0) return nullptr;
  if (static_cast<size_t>(PyBytes_Size(bytes)) != size) return nullptr;
  return reinterpret_cast<const unsigned char*>(PyBytes_AsString(bytes));
}

}  // namespace airfreight::json
