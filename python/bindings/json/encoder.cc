#include "encoder.h"

#include <algorithm>
#include <cmath>

#include "names.h"
#include "plain.h"
#include "text.h"

namespace airfreight::json {
namespace {

class Encoder {
 public:
  // What is written: plain JSON only, or any JSON.
  enum class Mode { kPlain, kAny };

  Encoder(Mode mode, Segments* out) : mode_(mode), out_(*out) {}

  // Whether the value could be written. Leaves no exception but those of Segments.
  bool Write(PyObject* value);

  int kind() const { return kind_; }

 private:
  bool WriteText(PyObject* value);
  bool WriteInteger(PyObject* value);
  bool WriteDouble(PyObject* value);
  bool WriteList(PyObject* list);
  bool WriteTuple(PyObject* tuple);
  bool WriteDict(PyObject* dict);
  bool WriteName(PyObject* name, bool first);

  bool Descend() {
    // Any JSON is that of a document, with the levels of its tags' contents.
    if (depth_ == (mode_ == Mode::kPlain ? kMaxDepth : 2 * kMaxDepth)) return false;
    if (++depth_ > kRowDepth) kind_ = std::min(kind_, kDeep);
    return true;
  }

  const Mode mode_;
  Segments& out_;
  Names names_;
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
    const Ref item = Ref::Borrow(PyList_GetItem(list, i));
    // Handlers of signals may run in this, and shorten the list: the item is held by now.
    if (i > 0) out_.Append(",");
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
    if (!WriteName(key.get(), first) || !Write(item.get())) return false;
    first = false;
    if (PyDict_Size(dict) != size) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size while it was encoded");
      return false;
    }
  }
  out_.Append("}");
  return true;
}

bool Encoder::WriteName(PyObject* name, bool first) {
  std::string_view spelt = names_.Find(name);
  if (!spelt.empty()) {
    if (first) spelt.remove_prefix(1);
    out_.Append(spelt);
    return true;
  }
  if (mode_ == Mode::kPlain || !IsExactly(name, PyUnicode_Type)) return false;
  const Utf8 text(name);
  if (!text.good()) return false;
  if (!first) out_.Append(",");
  SpellText(text.view(), &out_);
  out_.Append(":");
  return true;
}

}  // namespace

PyObject* Encode(PyObject* value) {
  Segments out;
  Encoder encoder(Encoder::Mode::kPlain, &out);
  if (!encoder.Write(value)) {
    if (out.failed()) return out.Finish().release();
    if (PyErr_Occurred() != nullptr) return nullptr;
    Py_RETURN_NONE;
  }
  const Ref segments = out.Finish();
  return segments ? Py_BuildValue("(iO)", encoder.kind(), segments.get()) : nullptr;
}

bool WriteJson(PyObject* value, Segments* out) {
  Encoder encoder(Encoder::Mode::kAny, out);
  if (encoder.Write(value)) return true;
  if (!out->failed() && PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_TypeError, "not JSON");
  }
  return false;
}

PyObject* Dump(PyObject* value) {
  Segments out;
  if (!WriteJson(value, &out) && !out.failed()) return nullptr;
  return out.Finish().release();
}

}  // namespace airfreight::json
