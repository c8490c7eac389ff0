#include "cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include "plain.h"

namespace airfreight::json {
namespace {

// Calls `look(cell)` until it returns false, which it may with an exception.
template <typename Look>
void ForEach(const Cells& cells, Look look) {
  // Objects lie all over the memory: the processor is told early which come next.
  constexpr Py_ssize_t kAhead = 16;
  for (Py_ssize_t i = 0; i < cells.count; ++i) {
    if (i + kAhead < cells.count) __builtin_prefetch(cells[i + kAhead]);
    if (!look(cells[i])) return;
  }
}

// A set of types. Most objects have the type of the one before.
class TypeSet {
 public:
  void Add(PyTypeObject* type) {
    if (type == last_) return;
    last_ = type;
    if (std::find(found_.begin(), found_.end(), type) == found_.end()) found_.push_back(type);
  }
  Ref Made() const {
    Ref types = Ref::Own(PySet_New(nullptr));
    if (!types) return {};
    for (PyTypeObject* const type : found_) {
      if (PySet_Add(types.get(), reinterpret_cast<PyObject*>(type)) != 0) return {};
    }
    return types;
  }

 private:
  PyTypeObject* last_ = nullptr;
  std::vector<PyTypeObject*> found_;
};

// The number in an attribute; -1, and an exception, when there is none.
long NumberIn(PyObject* object, const Ref& name) {
  const Ref number = Ref::Own(PyObject_GetAttr(object, name.get()));
  return number ? PyLong_AsLong(number.get()) : -1;
}

struct Digits {
  int digits = 0;
  int places = 0;
};

// Of the text of a finite Decimal (https://speleotrove.com/decimal/daconvs.html) that is no
// negative zero; false for all others.
bool ReadDecimal(std::string_view text, Digits* found) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  *found = {};
  bool point = false;
  bool zero = true;
  bool leading = true;
  size_t at = 0;
  for (; at < text.size() && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    if (text[at] < '0' || text[at] > '9') return false;
    if (text[at] != '0') zero = leading = false;
    if (!leading) ++found->digits;
    if (point) ++found->places;
  }
  if (zero) found->digits = 1;
  if (at < text.size()) {
    int exponent = 0;
    const char* const begin = text.data() + at + (text[at + 1] == '+' ? 2 : 1);
    const char* const end = text.data() + text.size();
    if (std::from_chars(begin, end, exponent).ec != std::errc()) return false;
    found->places -= exponent;
  }
  return !(negative && zero);
}

}  // namespace

PyObject* TypesAt(const Cells& cells) {
  TypeSet types;
  ForEach(cells, [&](PyObject* cell) {
    types.Add(Py_TYPE(cell));
    return true;
  });
  return types.Made().release();
}

PyObject* FloatsAt(const Cells& cells) {
  bool numbers = false;
  bool nans = false;
  ForEach(cells, [&](PyObject* cell) {
    if (!IsExactly(cell, PyFloat_Type)) return true;
    (std::isnan(PyFloat_AsDouble(cell)) ? nans : numbers) = true;
    return !(numbers && nans);
  });
  return Py_BuildValue("(OO)", numbers ? Py_True : Py_False, nans ? Py_True : Py_False);
}

PyObject* NaiveAt(const Types& types, const Cells& cells) {
  bool naive = true;
  ForEach(cells, [&](PyObject* cell) {
    if (!IsExactly(cell, types.datetime) && !IsExactly(cell, types.time)) return true;
    const Ref zone = Ref::Own(PyObject_GetAttr(cell, types.tzinfo.get()));
    naive = zone.get() == Py_None && NumberIn(cell, types.fold) == 0;
    return naive;
  });
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyBool_FromLong(naive ? 1 : 0);
}

PyObject* DaysAt(const Types& types, const Cells& cells) {
  long most = 0;
  ForEach(cells, [&](PyObject* cell) {
    if (!IsExactly(cell, types.timedelta)) return true;
    most = std::max(most, std::labs(NumberIn(cell, types.days)));
    return true;
  });
  return PyErr_Occurred() != nullptr ? nullptr : PyLong_FromLong(most);
}

PyObject* DecimalsAt(const Types& types, const Cells& cells) {
  Digits most;
  bool first = true;
  bool kept = true;
  ForEach(cells, [&](PyObject* cell) {
    if (!IsExactly(cell, types.decimal)) return true;
    const Ref text = Ref::Own(PyObject_Str(cell));
    if (!text) return false;
    const Utf8 spelt(text.get());
    Digits found;
    kept =
        spelt.good() && ReadDecimal(spelt.view(), &found) && (first || found.places == most.places);
    most = {std::max({most.digits, found.digits, found.places}), found.places};
    first = false;
    return kept;
  });
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (!kept || first) Py_RETURN_NONE;
  return Py_BuildValue("(ii)", most.digits, most.places);
}

PyObject* ListsAt(const Cells& cells) {
  TypeSet types;
  Py_ssize_t total = 0;
  ForEach(cells, [&](PyObject* cell) {
    if (!IsExactly(cell, PyList_Type)) return true;
    const Py_ssize_t size = PyList_Size(cell);
    total += size;
    for (Py_ssize_t i = 0; i < size; ++i) types.Add(Py_TYPE(PyList_GetItem(cell, i)));
    return true;
  });
  const Ref found = types.Made();
  return found ? Py_BuildValue("(On)", found.get(), total) : nullptr;
}

}  // namespace airfreight::json
