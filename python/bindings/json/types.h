#pragma once

/// \file
/// \brief Types of the standard library that documents hold (formats/document.md), and names.

#include <memory>

#include "python.h"

namespace airfreight::json {

/// What has to be looked up once. Belongs to a module; constant after it was loaded.
///
/// The C API of `datetime` is not part of the limited API. What an object of its types is made of
/// is asked for, and given, in the form in which they are pickled, which can never change: one call
/// for all fields.
struct Types {
  /// Nothing, and an exception, when one is not there.
  static std::unique_ptr<Types> Load();

  Ref date;
  Ref datetime;
  Ref decimal;
  Ref time;
  Ref timedelta;
  Ref timezone;
  /// `datetime.timezone.utc`.
  Ref utc;
  Ref uuid;
  /// `uuid.SafeUUID.unknown`.
  Ref unknown_safety;

  /// Names of attributes.
  Ref days;
  Ref fold;
  Ref getinitargs;
  Ref integer;
  Ref is_safe;
  Ref reduce;
  Ref reduce_ex;
  Ref tzinfo;
  /// The protocol of pickle that keeps `fold`.
  Ref protocol;
};

/// Whether an object is of exactly one of these types.
inline bool IsExactly(PyObject* object, const Ref& type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type.get();
}

}  // namespace airfreight::json
