#pragma once

/// \file
/// \brief Documents (formats/document.md): values to JSON with tags, and back.

#include "python.h"

namespace airfreight::json {

/// `airfreight._json.tagged`: a tuple of a value's JSON form and its levels. What stands for itself
/// is in it as it is, not copied; whatever else there is becomes `{name: content}`, as
/// `tag(object, levels around it)` returns (name, content, what the content
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
PyObject* Tagged(PyObject* value, PyObject* tag, int depth);

/// `airfreight._json.untagged`: the inverse, for JSON that was read already. Lists and dicts are
/// new.
PyObject* Untagged(PyObject* encoded, PyObject* untag);

/// What an object of one member stands for, its content being decoded.
Ref Untag(PyObject* untag, PyObject* name, PyObject* content);
/// Whether an object of one member, with this name, is a tag.
bool IsTag(PyObject* name);

}  // namespace airfreight::json
