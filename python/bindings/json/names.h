#pragma once

/// \file
/// \brief Names of members that repeat, spelt once.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plain.h"
#include "python.h"
#include "text.h"

namespace airfreight::json {

/// Plain names as they are spelt between a comma and a value: `,"name":`.
///
/// The dicts of a list share the objects of their names: a name is known by its object, which is
/// held. One entry for each place: a later name takes the place of an earlier one.
class Names {
 public:
  /// The spelling, until the next call; empty when it is no plain name (another type, NUL, a lone
  /// surrogate, a marker where none may be), or, with an exception, when memory ran out.
  std::string_view Find(PyObject* name, bool or_marker = false) {
    if (entries_.empty()) entries_.resize(kEntries);  // Many values have no dict at all.
    Entry& entry = entries_[Hash(name) % kEntries];
    if (entry.name.get() == name) return entry.spelt;
    if (!IsExactly(name, PyUnicode_Type)) return {};
    const Utf8 text(name);
    const bool marker = IsMarker(text.view());
    if (!text.plain() || (marker && !or_marker)) return {};
    const bool kept = !marker && text.view().size() <= kLongest;
    std::string& spelt = kept ? entry.spelt : long_;
    spelt.clear();
    String out{&spelt};
    out.Append(",");
    SpellText(text.view(), &out);
    out.Append(":");
    if (kept) entry.name = Ref::Borrow(name);
    return spelt;
  }

 private:
  static constexpr size_t kEntries = 128;
  // Longer ones repeat seldom.
  static constexpr size_t kLongest = 64;

  struct Entry {
    Ref name;
    std::string spelt;
  };
  struct String {
    std::string* text;
    void Append(std::string_view more) { text->append(more); }
  };

  static size_t Hash(PyObject* name) {
    const auto address = reinterpret_cast<uintptr_t>(name) >> 4;  // Objects are aligned to 16.
    return address ^ (address >> 8);
  }

  std::vector<Entry> entries_;
  std::string long_;
};

}  // namespace airfreight::json
