#pragma once

/// \file
/// \brief Python's C API, and what C++ needs to hold its objects. The limited API of 3.10
/// throughout.

#include <Python.h>

#include <utility>

namespace airfreight::json {

/// A strong reference to an object of Python, or nothing. Needs the GIL.
class Ref {
 public:
  Ref() = default;
  /// Takes over a reference that is owned already (what most functions of the API return).
  static Ref Own(PyObject* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  /// Takes a reference of its own to an object that somebody else holds.
  static Ref Borrow(PyObject* object) {
    Py_XINCREF(object);
    return Own(object);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object_); }

  explicit operator bool() const { return object_ != nullptr; }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

/// Whether an object is of exactly this type.
inline bool IsExactly(PyObject* object, const PyTypeObject& type) {
  return Py_TYPE(object) == &type;
}

}  // namespace airfreight::json
