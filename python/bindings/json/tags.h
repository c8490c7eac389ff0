#pragma once

/// \file
/// \brief Tags of documents (formats/document.md) to the values that they stand for.

#include <cstddef>
#include <string_view>
#include <vector>

#include "python.h"
#include "types.h"

namespace airfreight::json {

/// Makes the values of tags.
///
/// Those of Python's own frequent types are made here, as long as their content is what we write.
/// All others, and whatever is wrong with a content, are for `untag(name, content)` in Python.
///
/// Threads: one, with the GIL. Ownership: `types` and `untag` must outlive it.
class TagReader {
 public:
  TagReader(const Types& types, PyObject* untag) : types_(types), untag_(untag) {}

  /// The value of a tag whose content was read, without code of Python. Nothing, without an
  /// exception, when Python has to be asked; with one when memory ran out.
  Ref Make(PyObject* name, PyObject* content) const;
  /// The value of a tag as Python makes it; nothing, and an exception, when it is wrong.
  Ref Ask(PyObject* name, PyObject* content);

 private:
  struct Zone {
    Ref content;
    Ref zone;
  };
  static constexpr size_t kZones = 16;

  Ref MakeMoment(PyObject* content, bool dated) const;
  Ref MakeDate(PyObject* content) const;
  Ref MakeTimedelta(PyObject* content) const;
  Ref MakeUuid(PyObject* content) const;
  // A borrowed reference; null when it is not known here.
  PyObject* FindZone(PyObject* content) const;
  void LearnZone(std::string_view tag, PyObject* content, PyObject* made);

  const Types& types_;
  PyObject* const untag_;
  std::vector<Zone> zones_;
  size_t next_zone_ = 0;
};

/// Whether an object of one member, with this name, is a tag.
bool IsTag(PyObject* name);

/// `airfreight._json.untagged`: the value of JSON that was read already. Lists and dicts are new.
PyObject* Untagged(const Types& types, PyObject* encoded, PyObject* untag);

}  // namespace airfreight::json
