#pragma once

/// \file
/// \brief Time zones that repeat, spelt once.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoder.h"
#include "levels.h"
#include "pickled.h"
#include "plain.h"
#include "python.h"
#include "segments.h"
#include "text.h"
#include "types.h"

namespace airfreight::json {

/// The last time zones that were written. A zone is known by its object.
///
/// Threads: none of its own and no lock; all of it with the GIL, and by one caller at a time, as
/// the encoder that it is a part of. Ownership: holds a reference to each zone that it knows, so
/// that none of another zone comes to lie at its address; these go with it, or when sixteen others
/// have come since. To be destroyed with the GIL held. Blocking: asks a `datetime.timezone` for
/// what it is made of, which runs no Python code; of zones of other classes it only learns what
/// Python has said.
class Zones {
 public:
  /// A time zone as it is written.
  struct Zone {
    Ref zone;
    std::string text;
    int levels = 0;
  };

  /// Until the next call; null where Python has to say it, or, with an exception, where it could
  /// not be asked.
  const Zone* Find(const Types& types, PyObject* zone) {
    for (const Zone& known : zones_) {
      if (known.zone.get() == zone) return &known;
    }
    if (zone == types.utc.get()) return Keep(zone, "\"utc\"", 0);
    if (!IsExactly(zone, types.timezone)) return nullptr;
    const Ref arguments =
        Ref::Own(PyObject_CallMethodObjArgs(zone, types.getinitargs.get(), nullptr));
    if (!arguments || PyTuple_Check(arguments.get()) == 0) return nullptr;
    if (PyTuple_Size(arguments.get()) != 1) return nullptr;  // With a name of its own.
    PyObject* const offset = PyTuple_GetItem(arguments.get(), 0);
    const Ref parts =
        IsExactly(offset, types.timedelta) ? Reduced(types, offset, types.reduce) : Ref();
    int days = 0;
    int seconds = 0;
    int micros = 0;
    if (!parts || PyArg_ParseTuple(parts.get(), "iii", &days, &seconds, &micros) == 0)
      return nullptr;
    const int64_t whole = (int64_t{days} * 86'400 + seconds) * 1'000'000 + micros;
    NumberText text;
    return Keep(zone, "[\"fixed\"," + std::string(SpellInteger(whole, &text)) + ",null]", 1);
  }

  /// The zone of a time that Python has tagged comes again with the next.
  void Learn(const Types& types, PyObject* value, PyObject* content) {
    if (!IsExactly(value, types.datetime) && !IsExactly(value, types.time)) return;
    if (PyList_CheckExact(content) == 0 || PyList_Size(content) != 3) return;
    PyObject* const packed = PyList_GetItem(content, 1);
    const Ref zone = Ref::Own(PyObject_GetAttr(value, types.tzinfo.get()));
    Segments out;
    if (!zone || !WriteJson(packed, &out)) return;
    const Ref text = out.Whole();
    if (!text) return;
    Keep(zone.get(), {PyBytes_AsString(text.get()), static_cast<size_t>(PyBytes_Size(text.get()))},
         Levels(packed, kMaxDepth));
  }

 private:
  static constexpr size_t kZones = 16;

  Zone* Keep(PyObject* zone, std::string text, int levels) {
    if (zones_.size() < kZones) zones_.emplace_back();
    Zone& place = zones_[next_++ % kZones];
    place.zone = Ref::Borrow(zone);
    place.text = std::move(text);
    place.levels = levels;
    return &place;
  }

  std::vector<Zone> zones_;
  size_t next_ = 0;
};

}  // namespace airfreight::json
