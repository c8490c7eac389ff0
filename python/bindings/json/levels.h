#pragma once

/// \file
/// \brief How deep JSON is.

#include <algorithm>

#include "python.h"

namespace airfreight::json {

/// Levels of lists and dicts in JSON, up to a limit that ends a value that contains itself.
inline int Levels(PyObject* value, int limit) {
  int deepest = 0;
  if (limit == 0) return 0;
  if (PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PyList_Size(value); ++i) {
      deepest = std::max(deepest, Levels(PyList_GetItem(value, i), limit - 1));
    }
  } else if (PyDict_Check(value)) {
    Py_ssize_t position = 0;
    PyObject* item = nullptr;
    while (PyDict_Next(value, &position, nullptr, &item) != 0) {
      deepest = std::max(deepest, Levels(item, limit - 1));
    }
  } else {
    return 0;
  }
  return deepest + 1;
}

}  // namespace airfreight::json
