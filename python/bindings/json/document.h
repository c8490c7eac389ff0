#pragma once

/// \file
/// \brief Values of Python to the text of documents (formats/document.md), in one pass.

#include "python.h"
#include "types.h"

namespace airfreight::json {

/// `airfreight._json.document`: a tuple of the segments of a value's text, its levels, and whether
/// there is a tag that was made here.
///
/// What stands for itself, and the tags of Python's own frequent types, are written here. For
/// whatever else there is, `tag(object, levels around it)` returns (name, content, what the content
/// holds):
///
///     0  JSON, as it is        1  a list of values       2  a list of (key, value)
///     3  a dict of the fields of an object
///
/// and may add what comes before that in an array of two, as JSON.
///
/// `tag` is also given what lies deeper than a document may, and has to raise then. Where an
/// exception has a method `at`, it is told each step on the way out: `at(container kind, key)`,
/// kind as above, and 4 for a key of a pair.
///
/// \param depth Levels that lie around the value.
/// \param heavy Whether `tag` also wants bytes that are too long for a document.
PyObject* Document(const Types& types, PyObject* value, PyObject* tag, int depth, bool heavy);

/// `airfreight._json.documents`: a list of the texts of the values of a list, each `bytes`, and
/// None for None. The step of an item is the first that an exception is told.
PyObject* Documents(const Types& types, PyObject* values, PyObject* tag);

}  // namespace airfreight::json
