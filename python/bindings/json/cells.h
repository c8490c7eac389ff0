#pragma once

/// \file
/// \brief A look at the cells of numpy's arrays of objects: what decides whether Arrow keeps them
/// (values/_objects.py), at a tenth of what it takes to convert them.

#include <cstdint>

#include "python.h"
#include "types.h"

namespace airfreight::json {

/// The pointers to objects in the memory of an array (numpy.ndarray.__array_interface__), which
/// must not change meanwhile. A null pointer is numpy's None.
struct Cells {
  uintptr_t address;
  Py_ssize_t count;
  /// Bytes between two pointers.
  Py_ssize_t stride;

  PyObject* operator[](Py_ssize_t i) const {
    // In the arithmetic of unsigned numbers a stride may be negative.
    PyObject* const object =
        *reinterpret_cast<PyObject* const*>(address + static_cast<uintptr_t>(i * stride));
    return object != nullptr ? object : Py_None;
  }
};

/// `airfreight._json.types_at`: the set of the types of cells.
PyObject* TypesAt(const Cells& cells);

// Of the cells of one type, whatever the others are:

/// `airfreight._json.floats_at`: whether there are numbers, and whether there is NaN.
PyObject* FloatsAt(const Cells& cells);
/// `airfreight._json.naive_at`: whether no `datetime` and no `time` has a zone or a fold.
PyObject* NaiveAt(const Types& types, const Cells& cells);
/// `airfreight._json.days_at`: the most days of a `timedelta`, without its sign.
PyObject* DaysAt(const Types& types, const Cells& cells);
/// `airfreight._json.decimals_at`: digits, with those after the point, and places, which are the
/// same for each `Decimal`; None when they are not, or one is not finite or a negative zero.
PyObject* DecimalsAt(const Types& types, const Cells& cells);
/// `airfreight._json.lists_at`: the set of the types of what lies in lists, and how much there is.
PyObject* ListsAt(const Cells& cells);

}  // namespace airfreight::json
