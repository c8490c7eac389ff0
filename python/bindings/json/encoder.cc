#include "encoder.h"

#include <algorithm>
#include <cmath>

#include "plain.h"
#include "segments.h"
#include "text.h"

namespace airfreight::json {
namespace {

class Encoder {
 public:
  // What is written: plain JSON only, or any JSON.
  enum class Mode { kPlain, kAny };

  explicit Encoder(Mode mode) : mode_(mode) {}

  // Whether the value could be written. Leaves no exception but those of Segments.
  bool Write(PyObject* value);

  int kind() const { return kind_; }
  bool failed() const { return out_.failed(); }
  Ref Finish() { return out_.Finish(); }

 private:
  bool WriteText(PyObject* value);
  bool WriteInteger(PyObject* value);
  bool WriteDouble(PyObject* value);
  bool WriteList(PyObject* list);
  bool WriteTuple(PyObject* tuple);
  bool WriteDict(PyObject* dict);

  bool Descend() {
    // Any JSON is that of a document, with the levels of its tags' contents.
    if (depth_ == (mode_ == Mode::kPlain ? kMaxDepth : 2 * kMaxDepth)) return false;
    if (++depth_ > kRowDepth) kind_ = std::min(kind_, kDeep);
    return true;
  }

  const Mode mode_;
  Segments out_;
  int depth_ = 0;
  int kind_ = kPlain;
};

bool Encoder::Write(PyObject* value) {
  if (out_.failed()) return false;
  if (IsExactly(value, PyUnicode_Type)) return WriteText(value);
  if (IsExactly(value, PyLong_Type)) return WriteInteger(value);
  if (IsExactly(value, PyFloat_Type)) return WriteDouble(value);
  if (value == Py_None) {
    out_.Append("null");
    return true;
  }
  if (value == Py_True || value == Py_False) {
    out_.Append(value == Py_True ? "true" : "false");
    return true;
  }
  bool (Encoder::*write)(PyObject*) = nullptr;
  if (IsExactly(value, PyDict_Type)) {
    write = &Encoder::WriteDict;
  } else if (IsExactly(value, PyList_Type)) {
    write = &Encoder::WriteList;
  } else if (mode_ == Mode::kAny && IsExactly(value, PyTuple_Type)) {
    write = &Encoder::WriteTuple;
  }
  if (write == nullptr || !Descend() || !(this->*write)(value)) return false;
  --depth_;
  return true;
}

bool Encoder::WriteText(PyObject* value) {
  const Utf8 text(value);
  if (!text.good() || (mode_ == Mode::kPlain && !text.plain())) return false;
  SpellText(text.view(), &out_);
  return true;
}

bool Encoder::WriteInteger(PyObject* value) {
  NumberText text;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) {
    out_.Append(SpellInteger(number, &text));
    return true;
  }
  if (overflow < 0) return false;
  const unsigned long long large = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  out_.Append(SpellInteger(large, &text));
  return true;
}

bool Encoder::WriteDouble(PyObject* value) {
  const double number = PyFloat_AsDouble(value);
  if (!std::isfinite(number)) return false;
  if (!StaysInRow(number)) kind_ = std::min(kind_, kFloats);
  NumberText text;
  out_.Append(SpellDouble(number, &text));
  return true;
}

// Handlers of signals may run meanwhile, and change any list or dict: what is looked at is held,
// and sizes are asked for again.

bool Encoder::WriteList(PyObject* list) {
  out_.Append("[");
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    if (i > 0) out_.Append(",");
    const Ref item = Ref::Borrow(PyList_GetItem(list, i));
    if (!Write(item.get())) return false;
  }
  out_.Append("]");
  return true;
}

bool Encoder::WriteTuple(PyObject* tuple) {
  const Py_ssize_t size = PyTuple_Size(tuple);
  out_.Append("[");
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (i > 0) out_.Append(",");
    if (!Write(PyTuple_GetItem(tuple, i))) return false;
  }
  out_.Append("]");
  return true;
}

bool Encoder::WriteDict(PyObject* dict) {
  const Py_ssize_t size = PyDict_Size(dict);
  Py_ssize_t position = 0;
  PyObject* next_key = nullptr;
  PyObject* next_item = nullptr;
  bool first = true;
  out_.Append("{");
  while (PyDict_Next(dict, &position, &next_key, &next_item) != 0) {
    if (out_.failed()) return false;
    const Ref key = Ref::Borrow(next_key);
    const Ref item = Ref::Borrow(next_item);
    if (!IsExactly(key.get(), PyUnicode_Type)) return false;
    const Utf8 text(key.get());
    if (!text.good()) return false;
    if (mode_ == Mode::kPlain && (!text.plain() || IsMarker(text.view()))) return false;
    if (!first) out_.Append(",");
    first = false;
    SpellText(text.view(), &out_);
    out_.Append(":");
    if (!Write(item.get())) return false;
    if (PyDict_Size(dict) != size) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size while it was encoded");
      return false;
    }
  }
  out_.Append("}");
  return true;
}

}  // namespace

PyObject* Encode(PyObject* value) {
  Encoder encoder(Encoder::Mode::kPlain);
  if (!encoder.Write(value)) {
    if (encoder.failed()) return encoder.Finish().release();
    if (PyErr_Occurred() != nullptr) return nullptr;
    Py_RETURN_NONE;
  }
  const Ref segments = encoder.Finish();
  return segments ? Py_BuildValue("(iO)", encoder.kind(), segments.get()) : nullptr;
}

PyObject* Dump(PyObject* value) {
  Encoder encoder(Encoder::Mode::kAny);
  if (!encoder.Write(value)) {
    if (encoder.failed()) return encoder.Finish().release();
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "not JSON");
    return nullptr;
  }
  return encoder.Finish().release();
}

}  // namespace airfreight::json
