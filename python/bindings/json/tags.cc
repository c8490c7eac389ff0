#include "tags.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base64.h"
#include "moments.h"
#include "plain.h"

namespace airfreight::json {
namespace {

// The text of a `str`; empty for all others. It has no use for that of an empty one.
std::string_view TextOf(PyObject* object) {
  if (!IsExactly(object, PyUnicode_Type)) return {};
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(object, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return {};
  }
  return {data, static_cast<size_t>(size)};
}

// What is not ours to tell is for Python to say once more, with the words for it.
Ref OrAsk(Ref made) {
  if (!made && PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_MemoryError) == 0) {
    PyErr_Clear();
  }
  return made;
}

Ref StateOf(const MomentState& state, size_t size) {
  return Ref::Own(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(state.data()),
                                            static_cast<Py_ssize_t>(size)));
}

// Whether to hash a value, or to compare it, runs no code of Python.
bool HashesAlone(PyObject* object, int levels = 8) {
  if (IsExactly(object, PyTuple_Type)) {
    const Py_ssize_t size = PyTuple_Size(object);
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (levels == 0 || !HashesAlone(PyTuple_GetItem(object, i), levels - 1)) return false;
    }
    return true;
  }
  return IsExactly(object, PyUnicode_Type) || IsExactly(object, PyLong_Type) ||
         IsExactly(object, PyFloat_Type) || IsExactly(object, PyBytes_Type) ||
         IsExactly(object, PyBool_Type) || object == Py_None;
}

Ref MakeBytes(PyObject* content, bool constant) {
  if (!IsExactly(content, PyUnicode_Type)) return {};
  const std::string_view text = TextOf(content);
  if (text.empty() && PyUnicode_GetLength(content) != 0) return {};
  Ref bytes =
      Ref::Own(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(text.size() / 4 * 3)));
  if (!bytes) return {};
  const size_t size = ReadBase64(text, PyBytes_AsString(bytes.get()));
  if (size == kNoBase64) return {};
  if (size != text.size() / 4 * 3) {
    const Ref longer = std::move(bytes);
    bytes = Ref::Own(
        PyBytes_FromStringAndSize(PyBytes_AsString(longer.get()), static_cast<Py_ssize_t>(size)));
  }
  return constant || !bytes ? std::move(bytes) : Ref::Own(PyByteArray_FromObject(bytes.get()));
}

Ref MakeSet(PyObject* content, bool changeable) {
  if (!IsExactly(content, PyList_Type)) return {};
  const Py_ssize_t size = PyList_Size(content);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!HashesAlone(PyList_GetItem(content, i))) return {};
  }
  return Ref::Own(changeable ? PySet_New(content) : PyFrozenSet_New(content));
}

Ref MakeDict(PyObject* content) {
  if (!IsExactly(content, PyList_Type)) return {};
  Ref dict = Ref::Own(PyDict_New());
  if (!dict) return {};
  const Py_ssize_t size = PyList_Size(content);
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const pair = PyList_GetItem(content, i);
    if (!IsExactly(pair, PyList_Type) || PyList_Size(pair) != 2) return {};
    PyObject* const key = PyList_GetItem(pair, 0);
    if (!HashesAlone(key)) return {};
    if (PyDict_SetItem(dict.get(), key, PyList_GetItem(pair, 1)) != 0) return {};
  }
  return dict;
}

// Whether the contents of two zones are the same, of texts, integers and None as they are.
bool SameZone(PyObject* one, PyObject* other) {
  const Py_ssize_t size = PyList_Size(one);
  if (PyList_Size(other) != size) return false;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* const first = PyList_GetItem(one, i);
    PyObject* const second = PyList_GetItem(other, i);
    if (first == second) continue;
    const bool texts = IsExactly(first, PyUnicode_Type) && IsExactly(second, PyUnicode_Type);
    const bool numbers = IsExactly(first, PyLong_Type) && IsExactly(second, PyLong_Type);
    if ((!texts && !numbers) || PyObject_RichCompareBool(first, second, Py_EQ) != 1) return false;
  }
  return true;
}

constexpr std::string_view kDatetime = "~datetime";
constexpr std::string_view kTime = "~time";

}  // namespace

Ref TagReader::Make(PyObject* name, PyObject* content) const {
  const std::string_view tag = TextOf(name);
  if (tag == "~tuple") {
    if (!IsExactly(content, PyList_Type)) return {};
    return Ref::Own(PyList_AsTuple(content));
  }
  if (tag == kDatetime) return OrAsk(MakeMoment(content, /*dated=*/true));
  if (tag == kTime) return OrAsk(MakeMoment(content, /*dated=*/false));
  if (tag == "~date") return OrAsk(MakeDate(content));
  if (tag == "~timedelta") return OrAsk(MakeTimedelta(content));
  if (tag == "~uuid") return OrAsk(MakeUuid(content));
  if (tag == "~bytes") return OrAsk(MakeBytes(content, /*constant=*/true));
  if (tag == "~bytearray") return OrAsk(MakeBytes(content, /*constant=*/false));
  if (tag == "~set") return OrAsk(MakeSet(content, /*changeable=*/true));
  if (tag == "~frozenset") return OrAsk(MakeSet(content, /*changeable=*/false));
  if (tag == "~dict") return OrAsk(MakeDict(content));
  if (!IsExactly(content, PyUnicode_Type)) return {};
  if (tag == "~float") return OrAsk(Ref::Own(PyFloat_FromString(content)));
  if (tag == "~decimal") {
    // The constructor is exact whatever the context's precision.
    return OrAsk(Ref::Own(PyObject_CallFunctionObjArgs(types_.decimal.get(), content, nullptr)));
  }
  return {};
}

Ref TagReader::Ask(PyObject* name, PyObject* content) {
  Ref made = Ref::Own(PyObject_CallFunctionObjArgs(untag_, name, content, nullptr));
  if (made) LearnZone(TextOf(name), content, made.get());
  return made;
}

Ref TagReader::MakeDate(PyObject* content) const {
  MomentState state;
  if (!ReadDate(TextOf(content), state.data())) return {};
  const Ref bytes = StateOf(state, kDateBytes);
  return bytes ? Ref::Own(PyObject_CallFunctionObjArgs(types_.date.get(), bytes.get(), nullptr))
               : Ref();
}

Ref TagReader::MakeMoment(PyObject* content, bool dated) const {
  if (!IsExactly(content, PyList_Type) || PyList_Size(content) != 3) return {};
  std::string_view text = TextOf(PyList_GetItem(content, 0));
  PyObject* const zone = FindZone(PyList_GetItem(content, 1));
  PyObject* const folds = PyList_GetItem(content, 2);
  if (zone == nullptr || !IsExactly(folds, PyLong_Type)) return {};
  const long fold = PyLong_AsLong(folds);
  if (fold != 0 && fold != 1) return {};
  MomentState state;
  const size_t date_bytes = dated ? kDateBytes : 0;
  if (dated) {
    if (text.size() < 11 || text[10] != 'T' || !ReadDate(text.substr(0, 10), state.data())) {
      return {};
    }
    text.remove_prefix(11);
  }
  if (!ReadTime(text, state.data() + date_bytes)) return {};
  // The fold is the highest bit of what comes first beside the year: the month, or the hour.
  if (fold == 1) state[dated ? 2 : 0] |= 0x80;
  const Ref bytes = StateOf(state, date_bytes + kTimeBytes);
  if (!bytes) return {};
  const Ref& type = dated ? types_.datetime : types_.time;
  return Ref::Own(PyObject_CallFunctionObjArgs(type.get(), bytes.get(), zone, nullptr));
}

Ref TagReader::MakeTimedelta(PyObject* content) const {
  if (!IsExactly(content, PyList_Type) || PyList_Size(content) != 3) return {};
  std::array<PyObject*, 3> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = PyList_GetItem(content, static_cast<Py_ssize_t>(i));
    if (!IsExactly(parts[i], PyLong_Type)) return {};
  }
  return Ref::Own(
      PyObject_CallFunctionObjArgs(types_.timedelta.get(), parts[0], parts[1], parts[2], nullptr));
}

Ref TagReader::MakeUuid(PyObject* content) const {
  const std::string_view text = TextOf(content);
  if (text.size() != 36) return {};
  std::string hex;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !digit) return {};
    if (!dash) hex += text[i];
  }
  const Ref number = Ref::Own(PyLong_FromString(hex.c_str(), nullptr, 16));
  auto* const type = reinterpret_cast<PyTypeObject*>(types_.uuid.get());
  // What its __init__ does, without looking at the number; the class forbids to set attributes.
  Ref made = number ? Ref::Own(PyType_GenericAlloc(type, 0)) : Ref();
  if (!made || PyObject_GenericSetAttr(made.get(), types_.integer.get(), number.get()) != 0 ||
      PyObject_GenericSetAttr(made.get(), types_.is_safe.get(), types_.unknown_safety.get()) != 0) {
    return {};
  }
  return made;
}

PyObject* TagReader::FindZone(PyObject* content) const {
  if (content == Py_None) return Py_None;
  if (TextOf(content) == "utc") return types_.utc.get();
  if (!IsExactly(content, PyList_Type)) return nullptr;
  for (const Zone& known : zones_) {
    if (SameZone(known.content.get(), content)) return known.zone.get();
  }
  return nullptr;
}

// Time zones never change, and are one for many times.
void TagReader::LearnZone(std::string_view tag, PyObject* content, PyObject* made) {
  if (tag != kDatetime && tag != kTime) return;
  if (!IsExactly(content, PyList_Type) || PyList_Size(content) != 3) return;
  PyObject* const packed = PyList_GetItem(content, 1);
  if (!IsExactly(packed, PyList_Type)) return;
  Ref zone = Ref::Own(PyObject_GetAttr(made, types_.tzinfo.get()));
  if (!zone) {
    PyErr_Clear();
    return;
  }
  if (zones_.size() < kZones) zones_.emplace_back();
  Zone& place = zones_[next_zone_++ % kZones];
  place.content = Ref::Borrow(packed);
  place.zone = std::move(zone);
}

namespace {

// Makes values of JSON that was read already; as deep as a reader reads.
class Untagger {
 public:
  Untagger(const Types& types, PyObject* untag) : tags_(types, untag) {}

  Ref Value(PyObject* encoded) {
    const bool list = IsExactly(encoded, PyList_Type);
    if (!list && !IsExactly(encoded, PyDict_Type)) return Ref::Borrow(encoded);
    if (depth_ == kDeepest) {
      PyErr_SetString(PyExc_ValueError, "a document deeper than 1024 levels");
      return {};
    }
    ++depth_;
    Ref value = list ? List(encoded) : Object(encoded);
    --depth_;
    return value;
  }

 private:
  static constexpr int kDeepest = 1024;

  Ref List(PyObject* encoded) {
    Ref list = Ref::Own(PyList_New(0));
    if (!list) return {};
    for (Py_ssize_t i = 0; i < PyList_Size(encoded); ++i) {
      const Ref item = Ref::Borrow(PyList_GetItem(encoded, i));
      const Ref value = Value(item.get());
      if (!value || PyList_Append(list.get(), value.get()) != 0) return {};
    }
    return list;
  }

  Ref Object(PyObject* encoded) {
    const bool single = PyDict_Size(encoded) == 1;
    Ref dict = Ref::Own(PyDict_New());
    if (!dict) return {};
    Py_ssize_t position = 0;
    PyObject* next_key = nullptr;
    PyObject* next_item = nullptr;
    while (PyDict_Next(encoded, &position, &next_key, &next_item) != 0) {
      const Ref key = Ref::Borrow(next_key);
      const Ref item = Ref::Borrow(next_item);
      const Ref value = Value(item.get());
      if (!value) return {};
      if (single && IsTag(key.get())) {
        Ref made = tags_.Make(key.get(), value.get());
        if (made || PyErr_Occurred() != nullptr) return made;
        return tags_.Ask(key.get(), value.get());
      }
      if (PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) return {};
    }
    return dict;
  }

  TagReader tags_;
  int depth_ = 0;
};

}  // namespace

bool IsTag(PyObject* name) {
  return PyUnicode_Check(name) != 0 && PyUnicode_GetLength(name) > 0 &&
         PyUnicode_ReadChar(name, 0) == '~';
}

PyObject* Untagged(const Types& types, PyObject* encoded, PyObject* untag) {
  return Untagger(types, untag).Value(encoded).release();
}

}  // namespace airfreight::json
