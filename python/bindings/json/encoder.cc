#include "encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "segments.h"
#include "text.h"

namespace airfreight::json {
namespace {

// As values/json_.py has them, where the reasons are.
constexpr int kNot = 0;
constexpr int kDeep = 1;
constexpr int kFloats = 2;
constexpr int kPlain = 3;
constexpr int kRowDepth = 100;
constexpr int kMaxDepth = 250;
constexpr double kMaxRowFloat = 1e16;

// By these keys Airflow's serializers, and we, tell our own from a user's.
constexpr std::array<std::string_view, 10> kMarkers = {
    "__classname__", "__version__", "__data__",  "__id__",      "__type",
    "__var",         "__source",    "__cache__", "_airfreight", "_xcom_backend"};

bool IsMarker(std::string_view key) {
  return key.starts_with('_') && std::find(kMarkers.begin(), kMarkers.end(), key) != kMarkers.end();
}

// The UTF-8 form of a `str`, for as long as this lives.
class Utf8 {
 public:
  // From this length on it is worth a call to learn whether Python has to make a copy, which it
  // would keep for as long as the `str` lives.
  static constexpr Py_ssize_t kLong = 4096;

  // Without an exception when there is no such form (a lone surrogate), or no memory for it.
  explicit Utf8(PyObject* text) {
    Py_ssize_t size = 0;
    const char* data = nullptr;
    if (PyUnicode_GetLength(text) >= kLong && !IsAscii(text)) {
      bytes_ = Ref::Own(PyUnicode_AsUTF8String(text));
      if (bytes_) {
        data = PyBytes_AsString(bytes_.get());
        size = PyBytes_Size(bytes_.get());
      }
    } else {
      data = PyUnicode_AsUTF8AndSize(text, &size);
    }
    if (data == nullptr) {
      PyErr_Clear();
      return;
    }
    view_ = {data, static_cast<size_t>(size)};
    plain_ = view_.find('\0') == std::string_view::npos;
  }

  // Whether every database keeps it: no NUL, no lone surrogate.
  bool plain() const { return plain_; }
  std::string_view view() const { return view_; }

 private:
  static bool IsAscii(PyObject* text) {
    const Ref answer = Ref::Own(PyObject_CallMethod(text, "isascii", nullptr));
    if (!answer) PyErr_Clear();
    return answer.get() == Py_True;
  }

  Ref bytes_;
  std::string_view view_;
  bool plain_ = false;
};

class Encoder {
 public:
  // Without `tag`, what is not plain JSON ends the encoding.
  explicit Encoder(PyObject* tag) : tag_(tag) {}

  // How it went. kRefused: not plain JSON, no exception. kRaised: there is an exception.
  enum class Outcome { kDone, kRefused, kRaised };

  // `raw`: the content of a tag, which is JSON as it is.
  Outcome Write(PyObject* value, bool raw);

  int kind() const { return kind_; }
  int levels() const { return levels_; }
  Ref Finish() { return out_.Finish(); }

 private:
  Outcome WriteInteger(PyObject* value, bool raw);
  Outcome WriteDouble(PyObject* value, bool raw);
  Outcome WriteList(PyObject* list, bool raw);
  Outcome WriteDict(PyObject* dict, bool raw);
  Outcome WriteTag(PyObject* value);
  Outcome WriteOther(PyObject* value, bool raw);
  // A dict whose members stand for themselves in a document.
  static bool IsPlainDict(PyObject* dict);

  bool Descend() {
    if (depth_ == kMaxDepth) return false;
    levels_ = std::max(levels_, ++depth_);
    if (depth_ > kRowDepth) kind_ = std::min(kind_, kDeep);
    return true;
  }

  PyObject* const tag_;
  Segments out_;
  int depth_ = 0;
  int levels_ = 0;
  int kind_ = kPlain;
};

Encoder::Outcome Encoder::Write(PyObject* value, bool raw) {
  if (IsExactly(value, PyUnicode_Type)) {
    const Utf8 text(value);
    if (!text.plain()) return WriteOther(value, raw);
    SpellText(text.view(), &out_);
    return Outcome::kDone;
  }
  if (value == Py_None) {
    out_.Append("null");
    return Outcome::kDone;
  }
  if (value == Py_True || value == Py_False) {
    out_.Append(value == Py_True ? "true" : "false");
    return Outcome::kDone;
  }
  if (IsExactly(value, PyLong_Type)) return WriteInteger(value, raw);
  if (IsExactly(value, PyFloat_Type)) return WriteDouble(value, raw);
  const bool list = IsExactly(value, PyList_Type);
  if (!list && !(IsExactly(value, PyDict_Type) && (tag_ == nullptr || raw || IsPlainDict(value)))) {
    return WriteOther(value, raw);
  }
  if (!Descend()) return WriteOther(value, raw);
  const Outcome outcome = list ? WriteList(value, raw) : WriteDict(value, raw);
  --depth_;
  return outcome;
}

Encoder::Outcome Encoder::WriteInteger(PyObject* value, bool raw) {
  NumberText text;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) {
    out_.Append(SpellInteger(number, &text));
    return Outcome::kDone;
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() == nullptr) {
      out_.Append(SpellInteger(large, &text));
      return Outcome::kDone;
    }
    PyErr_Clear();
  }
  return WriteOther(value, raw);
}

Encoder::Outcome Encoder::WriteDouble(PyObject* value, bool raw) {
  const double number = PyFloat_AsDouble(value);
  if (!std::isfinite(number)) return WriteOther(value, raw);
  if (std::fabs(number) >= kMaxRowFloat || (number == 0 && std::signbit(number))) {
    if (tag_ != nullptr) return WriteOther(value, raw);
    kind_ = std::min(kind_, kFloats);
  }
  NumberText text;
  out_.Append(SpellDouble(number, &text));
  return Outcome::kDone;
}

Encoder::Outcome Encoder::WriteList(PyObject* list, bool raw) {
  // The tagger may run any code: the list may be another by then.
  out_.Append("[");
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const Ref item = Ref::Borrow(PyList_GetItem(list, i));
    if (i > 0) out_.Append(",");
    if (const Outcome outcome = Write(item.get(), raw); outcome != Outcome::kDone) return outcome;
  }
  out_.Append("]");
  return Outcome::kDone;
}

Encoder::Outcome Encoder::WriteDict(PyObject* dict, bool raw) {
  const Py_ssize_t size = PyDict_Size(dict);
  Py_ssize_t position = 0;
  PyObject* next_key = nullptr;
  PyObject* next_item = nullptr;
  bool first = true;
  out_.Append("{");
  while (PyDict_Next(dict, &position, &next_key, &next_item) != 0) {
    const Ref key = Ref::Borrow(next_key);
    const Ref item = Ref::Borrow(next_item);
    if (!IsExactly(key.get(), PyUnicode_Type)) return Outcome::kRefused;
    const Utf8 text(key.get());
    if (!text.plain()) return Outcome::kRefused;
    if (tag_ == nullptr && IsMarker(text.view())) return Outcome::kRefused;
    if (!first) out_.Append(",");
    first = false;
    SpellText(text.view(), &out_);
    out_.Append(":");
    if (const Outcome outcome = Write(item.get(), raw); outcome != Outcome::kDone) return outcome;
    if (PyDict_Size(dict) != size) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size while it was encoded");
      return Outcome::kRaised;
    }
  }
  out_.Append("}");
  return Outcome::kDone;
}

bool Encoder::IsPlainDict(PyObject* dict) {
  const bool single = PyDict_Size(dict) == 1;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  while (PyDict_Next(dict, &position, &key, nullptr) != 0) {
    if (!IsExactly(key, PyUnicode_Type)) return false;
    const Utf8 text(key);
    if (!text.plain() || IsMarker(text.view())) return false;
    if (single && text.view().starts_with('~')) return false;
  }
  return true;
}

Encoder::Outcome Encoder::WriteOther(PyObject* value, bool raw) {
  if (tag_ == nullptr) return Outcome::kRefused;
  if (raw) {
    PyErr_SetString(PyExc_TypeError, "the content of a tag is not plain JSON");
    return Outcome::kRaised;
  }
  return WriteTag(value);
}

Encoder::Outcome Encoder::WriteTag(PyObject* value) {
  const Ref tag = Ref::Own(PyObject_CallFunction(tag_, "Oi", value, depth_));
  if (!tag) return Outcome::kRaised;
  if (!PyTuple_Check(tag.get()) || PyTuple_Size(tag.get()) != 3 ||
      !PyUnicode_Check(PyTuple_GetItem(tag.get(), 0))) {
    PyErr_SetString(PyExc_TypeError, "a tag is a tuple of name, content and whether it nests");
    return Outcome::kRaised;
  }
  const int nests = PyObject_IsTrue(PyTuple_GetItem(tag.get(), 2));
  if (nests < 0) return Outcome::kRaised;
  if (!Descend()) {
    PyErr_SetString(PyExc_TypeError, "a tag lies too deep");
    return Outcome::kRaised;
  }
  const Utf8 name(PyTuple_GetItem(tag.get(), 0));
  out_.Append("{");
  SpellText(name.view(), &out_);
  out_.Append(":");
  const Outcome outcome = Write(PyTuple_GetItem(tag.get(), 1), nests == 0);
  out_.Append("}");
  --depth_;
  return outcome;
}

// What one encoding leaves: (number, segments), None, or an exception.
PyObject* Result(Encoder::Outcome outcome, Encoder* encoder, bool document) {
  switch (outcome) {
    case Encoder::Outcome::kRaised:
      return nullptr;
    case Encoder::Outcome::kRefused:
      Py_RETURN_NONE;
    case Encoder::Outcome::kDone:
      break;
  }
  const Ref segments = encoder->Finish();
  if (!segments) return nullptr;
  return Py_BuildValue("(iO)", document ? encoder->levels() : encoder->kind(), segments.get());
}

}  // namespace

PyObject* Encode(PyObject* value) {
  Encoder encoder(nullptr);
  return Result(encoder.Write(value, false), &encoder, false);
}

PyObject* EncodeDocument(PyObject* value, PyObject* tag) {
  Encoder encoder(tag);
  return Result(encoder.Write(value, false), &encoder, true);
}

static_assert(kNot < kDeep && kDeep < kFloats && kFloats < kPlain);

}  // namespace airfreight::json
