#pragma once

/// \file
/// \brief Objects of Python to JSON in one pass, which also tells what kind of JSON they are.

#include "python.h"

namespace airfreight::json {

/// `airfreight._json.encode`: a tuple of the kind (as `airfreight.values.json_.Kind`) and the
/// segments of the text; None when the value is not plain JSON (formats/document.md). A dict or
/// list is only looked at; no code of Python runs meanwhile.
PyObject* Encode(PyObject* value);

/// `airfreight._json.encode_document`: a tuple of the levels of JSON and the segments of the text.
/// What does not stand for itself in a document is given to `tag(object, levels around it)`, which
/// returns (name, content, whether the content holds values of the same kind rather than JSON).
/// What it raises ends the encoding.
PyObject* EncodeDocument(PyObject* value, PyObject* tag);

}  // namespace airfreight::json
