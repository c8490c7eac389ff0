#pragma once

/// \file
/// \brief Objects of Python to JSON in one pass, which also tells what kind of JSON they are.

#include "python.h"
#include "segments.h"

namespace airfreight::json {

/// `airfreight._json.encode`: a tuple of the kind (as `airfreight.values.json_.Kind`) and the
/// segments of the text; None when the value is not plain JSON (formats/document.md). A dict or
/// list is only looked at; no code of Python runs meanwhile.
PyObject* Encode(PyObject* value);

/// `airfreight._json.dump`: the segments of the text of what is JSON already, a document's for one:
/// NUL, markers and tuples (as arrays) included. TypeError when it is none.
PyObject* Dump(PyObject* value);

/// Writes, within another text, what `Dump` would. False, with an exception or `out` failed.
bool WriteJson(PyObject* value, Segments* out);

}  // namespace airfreight::json
