#include "document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base64.h"
#include "encoder.h"
#include "escaped.h"
#include "levels.h"
#include "moments.h"
#include "names.h"
#include "pickled.h"
#include "plain.h"
#include "segments.h"
#include "text.h"
#include "zones.h"

namespace airfreight::json {
namespace {

// What the content of a tag holds; the numbers are those of values/_unsupported.py.
constexpr int kRaw = 0;
constexpr int kItems = 1;
constexpr int kPairs = 2;
constexpr int kFields = 3;
constexpr int kKey = 4;

// Bytes that lie beside a document, where they can: as in values/bundle.py.
constexpr Py_ssize_t kLongBytes = 4 << 10;

// Tells the exception that is on its way at which step it is.
void AddStep(int kind, PyObject* step) {
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (error != nullptr && step != nullptr && PyObject_HasAttrString(error, "at") != 0) {
    const Ref done = Ref::Own(PyObject_CallMethod(error, "at", "iO", kind, step));
    if (!done) PyErr_Clear();
  }
  PyErr_Restore(type, error, trace);
}

void AddIndex(Py_ssize_t index) { AddStep(kItems, Ref::Own(PyLong_FromSsize_t(index)).get()); }

// Writes documents. All of its functions return false when an exception was raised, or the memory
// of the text ran out, which the text itself tells.
//
// The tagger, and handlers of signals, are code of Python, which may change any list or dict
// meanwhile: what is looked at is held, and sizes are asked for again.
class Writer {
 public:
  // Without a tagger it writes what needs none, and gives up, without an exception, at what does.
  Writer(const Types& types, PyObject* tag, int depth, bool heavy)
      : types_(types), tag_(tag), heavy_(heavy), depth_(depth), levels_(depth) {}

  bool Write(PyObject* value);

  Segments& out() { return out_; }
  int levels() const { return levels_; }
  bool tagged() const { return tagged_; }

 private:
  // What became of a value that has a tag of its own.
  enum class Outcome { kWritten, kFailed, kNotHere };

  bool WriteText(PyObject* value);
  bool WriteInteger(PyObject* value);
  bool WriteDouble(PyObject* value);
  bool WriteList(PyObject* list);
  bool WriteTuple(PyObject* tuple);
  bool WriteDict(PyObject* dict);
  bool WriteMembers(PyObject* dict, int step);
  bool WritePairsOf(PyObject* dict);
  bool WritePair(PyObject* key, PyObject* item);
  bool WritePairs(PyObject* pairs);
  bool WriteItems(PyObject* list);
  bool Ask(PyObject* value);
  bool WriteTagName(PyObject* name);
  bool WriteContent(PyObject* content, int holds);

  Outcome WriteOther(PyObject* value);
  Outcome WriteDate(PyObject* value);
  Outcome WriteMoment(PyObject* value);
  Outcome WriteTimedelta(PyObject* value);
  Outcome WriteDecimal(PyObject* value);
  Outcome WriteUuid(PyObject* value);
  Outcome WriteBytes(PyObject* value);
  Outcome WriteSet(PyObject* set);

  bool IsPlainDict(PyObject* dict);

  bool Descend() {
    levels_ = std::max(levels_, ++depth_);
    return true;
  }
  bool Fits(int levels) const { return depth_ + levels <= kMaxDepth; }
  // Writes the beginning of a tag that takes some levels.
  void Open(std::string_view text, int levels) {
    tagged_ = true;
    levels_ = std::max(levels_, depth_ + levels);
    out_.Append(text);
  }
  bool good() const { return !out_.failed(); }
  Outcome Written() const { return good() ? Outcome::kWritten : Outcome::kFailed; }

  const Types& types_;
  PyObject* const tag_;
  const bool heavy_;
  Segments out_;
  Names names_;
  Zones zones_;
  int depth_;
  int levels_;
  bool tagged_ = false;
};

bool Writer::Write(PyObject* value) {
  if (!good()) return false;
  if (IsExactly(value, PyUnicode_Type)) return WriteText(value);
  if (IsExactly(value, PyLong_Type)) return WriteInteger(value);
  if (IsExactly(value, PyFloat_Type)) return WriteDouble(value);
  if (value == Py_None) {
    out_.Append("null");
    return good();
  }
  if (value == Py_True || value == Py_False) {
    out_.Append(value == Py_True ? "true" : "false");
    return good();
  }
  if (IsExactly(value, PyDict_Type)) return WriteDict(value);
  if (IsExactly(value, PyList_Type)) return WriteList(value);
  if (IsExactly(value, PyTuple_Type)) return WriteTuple(value);
  switch (WriteOther(value)) {
    case Outcome::kWritten:
      return true;
    case Outcome::kFailed:
      return false;
    case Outcome::kNotHere:
      break;
  }
  return Ask(value);
}

bool Writer::WriteText(PyObject* value) {
  const Utf8 text(value);
  if (text.plain()) {
    SpellText(text.view(), &out_);
    return good();
  }
  if (PyErr_Occurred() != nullptr) return false;
  const Ref bytes = Ref::Own(PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass"));
  if (!bytes) return false;
  Open(R"({"~str":")", 1);
  SpellBase64({PyBytes_AsString(bytes.get()), static_cast<size_t>(PyBytes_Size(bytes.get()))},
              &out_);
  out_.Append("\"}");
  return good();
}

bool Writer::WriteInteger(PyObject* value) {
  NumberText text;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) {
    out_.Append(SpellInteger(number, &text));
    return good();
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() == nullptr) {
      out_.Append(SpellInteger(large, &text));
      return good();
    }
    PyErr_Clear();
  }
  const Ref digits = Ref::Own(PyNumber_ToBase(value, 16));
  if (!digits) return false;
  const Utf8 spelt(digits.get());
  if (!spelt.good()) return false;
  Open(R"({"~int":)", 1);
  SpellText(spelt.view(), &out_);
  out_.Append("}");
  return good();
}

bool Writer::WriteDouble(PyObject* value) {
  const double number = PyFloat_AsDouble(value);
  NumberText text;
  if (std::isfinite(number) && StaysInRow(number)) {
    out_.Append(SpellDouble(number, &text));
    return good();
  }
  Open(R"({"~float":")", 1);
  if (std::isnan(number)) {
    out_.Append("nan");
  } else if (std::isinf(number)) {
    out_.Append(number > 0 ? "inf" : "-inf");
  } else {
    out_.Append(SpellDouble(number, &text));
  }
  out_.Append("\"}");
  return good();
}

bool Writer::WriteItems(PyObject* list) {
  out_.Append("[");
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const Ref item = Ref::Borrow(PyList_GetItem(list, i));
    // Handlers of signals may run in this, and shorten the list: the item is held by now.
    if (i > 0) out_.Append(",");
    if (!Write(item.get())) {
      AddIndex(i);
      return false;
    }
  }
  out_.Append("]");
  return good();
}

bool Writer::WriteList(PyObject* list) {
  if (!Fits(1)) return Ask(list);
  const bool written = Descend() && WriteItems(list);
  --depth_;
  return written;
}

bool Writer::WriteTuple(PyObject* tuple) {
  if (!Fits(2)) return Ask(tuple);
  Open(R"({"~tuple":[)", 2);
  depth_ += 2;
  const Py_ssize_t size = PyTuple_Size(tuple);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (i > 0) out_.Append(",");
    if (!Write(PyTuple_GetItem(tuple, i))) {
      AddIndex(i);
      return false;
    }
  }
  depth_ -= 2;
  out_.Append("]}");
  return good();
}

bool Writer::IsPlainDict(PyObject* dict) {
  const bool single = PyDict_Size(dict) == 1;
  Py_ssize_t position = 0;
  PyObject* next = nullptr;
  while (PyDict_Next(dict, &position, &next, nullptr) != 0) {
    const Ref key = Ref::Borrow(next);
    const std::string_view name = names_.Find(key.get());
    if (name.empty() || (single && name.starts_with(R"(,"~)"))) return false;
  }
  return true;
}

bool Writer::WriteDict(PyObject* dict) {
  if (!Fits(1)) return Ask(dict);
  if (IsPlainDict(dict)) {
    const bool written = Descend() && WriteMembers(dict, kItems);
    --depth_;
    return written;
  }
  if (PyErr_Occurred() != nullptr) return false;
  return Fits(3) ? WritePairsOf(dict) : Ask(dict);
}

bool Writer::WriteMembers(PyObject* dict, int step) {
  const Py_ssize_t size = PyDict_Size(dict);
  Py_ssize_t position = 0;
  PyObject* next_key = nullptr;
  PyObject* next_item = nullptr;
  bool first = true;
  out_.Append("{");
  while (PyDict_Next(dict, &position, &next_key, &next_item) != 0) {
    if (!good()) return false;  // Nothing of Python is called with an exception on its way.
    const Ref key = Ref::Borrow(next_key);
    const Ref item = Ref::Borrow(next_item);
    // Fields lie in a tag: there a name may be one that Airflow or we tell dicts by.
    std::string_view name = names_.Find(key.get(), /*or_marker=*/step == kFields);
    if (name.empty()) {
      if (PyErr_Occurred() == nullptr) {
        PyErr_SetString(PyExc_TypeError, "a name that is no plain text");
      }
      return false;
    }
    if (first) name.remove_prefix(1);
    first = false;
    out_.Append(name);
    if (!Write(item.get())) {
      AddStep(step, key.get());
      return false;
    }
    if (PyDict_Size(dict) != size) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size while it was encoded");
      return false;
    }
  }
  out_.Append("}");
  return good();
}

bool Writer::WritePair(PyObject* key, PyObject* item) {
  Descend();
  out_.Append("[");
  if (!Write(key)) {
    AddStep(kKey, key);
    return false;
  }
  out_.Append(",");
  if (!Write(item)) {
    AddStep(kItems, key);
    return false;
  }
  out_.Append("]");
  --depth_;
  return good();
}

bool Writer::WritePairsOf(PyObject* dict) {
  Open(R"({"~dict":[)", 2);
  depth_ += 2;
  const Py_ssize_t size = PyDict_Size(dict);
  Py_ssize_t position = 0;
  PyObject* next_key = nullptr;
  PyObject* next_item = nullptr;
  bool first = true;
  while (PyDict_Next(dict, &position, &next_key, &next_item) != 0) {
    const Ref key = Ref::Borrow(next_key);
    const Ref item = Ref::Borrow(next_item);
    if (!first) out_.Append(",");
    first = false;
    if (!WritePair(key.get(), item.get())) return false;
    if (PyDict_Size(dict) != size) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size while it was encoded");
      return false;
    }
  }
  depth_ -= 2;
  out_.Append("]}");
  return good();
}

bool Writer::WritePairs(PyObject* pairs) {
  out_.Append("[");
  for (Py_ssize_t i = 0; i < PyList_Size(pairs); ++i) {
    const Ref pair = Ref::Borrow(PyList_GetItem(pairs, i));
    if (PyTuple_Check(pair.get()) == 0 || PyTuple_Size(pair.get()) != 2) {
      PyErr_SetString(PyExc_TypeError, "a pair is a tuple of key and value");
      return false;
    }
    if (i > 0) out_.Append(",");
    if (!WritePair(PyTuple_GetItem(pair.get(), 0), PyTuple_GetItem(pair.get(), 1))) return false;
  }
  out_.Append("]");
  return good();
}

// --- Tags that Python makes ----------------------------------------------------------------------

bool Writer::Ask(PyObject* value) {
  if (tag_ == nullptr) return false;
  const Ref tag = Ref::Own(PyObject_CallFunction(tag_, "Oi", value, depth_));
  if (!tag) return false;
  PyObject* name = nullptr;
  PyObject* content = nullptr;
  PyObject* head = nullptr;
  int holds = kRaw;
  if (PyTuple_Check(tag.get()) == 0) {
    PyErr_SetString(PyExc_TypeError, "a tag is a tuple");
    return false;
  }
  if (PyArg_ParseTuple(tag.get(), "OOi|O", &name, &content, &holds, &head) == 0) return false;
  const int before = depth_;
  Descend();
  if (!WriteTagName(name)) return false;
  if (head != nullptr) {
    Descend();
    out_.Append("[");
    if (!WriteJson(head, &out_)) return false;
    out_.Append(",");
  }
  if (!WriteContent(content, holds)) return false;
  out_.Append(head != nullptr ? "]}" : "}");
  depth_ = before;
  if (holds == kRaw) zones_.Learn(types_, value, content);
  return good() && PyErr_Occurred() == nullptr;
}

bool Writer::WriteTagName(PyObject* name) {
  if (PyUnicode_Check(name) != 0) {
    const Utf8 text(name);
    if (text.plain() && text.view().starts_with('~')) {
      out_.Append("{");
      SpellText(text.view(), &out_);
      out_.Append(":");
      return good();
    }
    if (PyErr_Occurred() != nullptr) return false;
  }
  PyErr_SetString(PyExc_TypeError, "a tag's name is plain text that begins with ~");
  return false;
}

bool Writer::WriteContent(PyObject* content, int holds) {
  if (holds == kRaw) {
    levels_ = std::max(levels_, depth_ + Levels(content, kMaxDepth));
    return WriteJson(content, &out_);
  }
  Descend();
  if (holds == kItems && PyList_CheckExact(content) != 0) return WriteItems(content);
  if (holds == kPairs && PyList_CheckExact(content) != 0) return WritePairs(content);
  if (holds == kFields && PyDict_CheckExact(content) != 0) return WriteMembers(content, kFields);
  PyErr_SetString(PyExc_TypeError, "a tag with another content than it says");
  return false;
}

// --- Tags that are made here ---------------------------------------------------------------------

Writer::Outcome Writer::WriteOther(PyObject* value) {
  if (IsExactly(value, types_.datetime) || IsExactly(value, types_.time)) return WriteMoment(value);
  if (IsExactly(value, types_.date)) return WriteDate(value);
  if (IsExactly(value, types_.decimal)) return WriteDecimal(value);
  if (IsExactly(value, types_.timedelta)) return WriteTimedelta(value);
  if (IsExactly(value, types_.uuid)) return WriteUuid(value);
  if (IsExactly(value, PyBytes_Type) || IsExactly(value, PyByteArray_Type)) {
    return WriteBytes(value);
  }
  if (IsExactly(value, PySet_Type) || IsExactly(value, PyFrozenSet_Type)) return WriteSet(value);
  return Outcome::kNotHere;
}

Writer::Outcome Writer::WriteDate(PyObject* value) {
  const Ref state = Reduced(types_, value, types_.reduce);
  if (!state) return PyErr_Occurred() != nullptr ? Outcome::kFailed : Outcome::kNotHere;
  const unsigned char* const bytes = BytesOf(state, kDateBytes);
  if (bytes == nullptr) return Outcome::kNotHere;
  MomentText text;
  const char* const end = SpellDate(bytes, text.data());
  Open(R"({"~date":")", 1);
  out_.Append({text.data(), static_cast<size_t>(end - text.data())});
  out_.Append("\"}");
  return Written();
}

Writer::Outcome Writer::WriteMoment(PyObject* value) {
  const bool dated = IsExactly(value, types_.datetime);
  const size_t date_bytes = dated ? kDateBytes : 0;
  const Ref state = Reduced(types_, value, types_.reduce_ex);
  if (!state) return PyErr_Occurred() != nullptr ? Outcome::kFailed : Outcome::kNotHere;
  const unsigned char* const bytes = BytesOf(state, date_bytes + kTimeBytes);
  if (bytes == nullptr) return Outcome::kNotHere;
  const Zones::Zone* zone = nullptr;
  if (PyTuple_Size(state.get()) > 1) {
    zone = zones_.Find(types_, PyTuple_GetItem(state.get(), 1));
    if (zone == nullptr) {
      return PyErr_Occurred() != nullptr ? Outcome::kFailed : Outcome::kNotHere;
    }
  }
  // The fold is the highest bit of what comes first beside the year: the month, or the hour.
  MomentState fields = {};
  std::memcpy(fields.data(), bytes, date_bytes + kTimeBytes);
  unsigned char& folded = fields[dated ? 2 : 0];
  const bool fold = (folded & 0x80) != 0;
  folded &= 0x7F;
  MomentText text;
  char* end = text.data();
  if (dated) {
    end = SpellDate(fields.data(), end);
    *end++ = 'T';
  }
  end = SpellTime(fields.data() + date_bytes, end);
  Open(dated ? R"({"~datetime":[")" : R"({"~time":[")", 2 + (zone != nullptr ? zone->levels : 0));
  out_.Append({text.data(), static_cast<size_t>(end - text.data())});
  out_.Append("\",");
  out_.Append(zone != nullptr ? std::string_view(zone->text) : "null");
  out_.Append(fold ? ",1]}" : ",0]}");
  return Written();
}

Writer::Outcome Writer::WriteTimedelta(PyObject* value) {
  const Ref state = Reduced(types_, value, types_.reduce);
  if (!state) return PyErr_Occurred() != nullptr ? Outcome::kFailed : Outcome::kNotHere;
  std::array<int, 3> parts = {};
  if (PyArg_ParseTuple(state.get(), "iii", &parts[0], &parts[1], &parts[2]) == 0) {
    return Outcome::kFailed;
  }
  Open(R"({"~timedelta":[)", 2);
  for (size_t i = 0; i < parts.size(); ++i) {
    NumberText text;
    if (i > 0) out_.Append(",");
    out_.Append(SpellInteger(parts[i], &text));
  }
  out_.Append("]}");
  return Written();
}

Writer::Outcome Writer::WriteDecimal(PyObject* value) {
  const Ref text = Ref::Own(PyObject_Str(value));
  if (!text) return Outcome::kFailed;
  const Utf8 spelt(text.get());
  if (!spelt.good()) return Outcome::kFailed;
  Open(R"({"~decimal":)", 1);
  SpellText(spelt.view(), &out_);
  out_.Append("}");
  return Written();
}

Writer::Outcome Writer::WriteUuid(PyObject* value) {
  const Ref number = Ref::Own(PyObject_GetAttr(value, types_.integer.get()));
  const Ref safety = number ? Ref::Own(PyObject_GetAttr(value, types_.is_safe.get())) : Ref();
  if (!safety) return Outcome::kFailed;
  if (safety.get() != types_.unknown_safety.get()) return Outcome::kNotHere;
  const Ref digits = Ref::Own(PyNumber_ToBase(number.get(), 16));
  if (!digits) return Outcome::kFailed;
  const Utf8 hex(digits.get());  // "0x…"
  constexpr size_t kDigits = 32;
  if (!hex.good() || hex.view().size() > kDigits + 2 || !hex.view().starts_with("0x")) {
    return PyErr_Occurred() != nullptr ? Outcome::kFailed : Outcome::kNotHere;
  }
  const std::string_view short_hex = hex.view().substr(2);
  std::string padded(kDigits - short_hex.size(), '0');
  padded += short_hex;
  Open(R"({"~uuid":")", 1);
  for (size_t at = 0; at < kDigits;) {
    const size_t count = at == 0 ? 8 : at == 20 ? 12 : 4;
    if (at > 0) out_.Append("-");
    out_.Append(std::string_view(padded).substr(at, count));
    at += count;
  }
  out_.Append("\"}");
  return Written();
}

Writer::Outcome Writer::WriteBytes(PyObject* value) {
  if (heavy_ && PyObject_Size(value) >= kLongBytes) return Outcome::kNotHere;
  const bool constant = IsExactly(value, PyBytes_Type);
  // A bytearray may change while Python's code runs.
  const Ref bytes = constant ? Ref::Borrow(value) : Ref::Own(PyBytes_FromObject(value));
  if (!bytes) return Outcome::kFailed;
  Open(constant ? R"({"~bytes":")" : R"({"~bytearray":")", 1);
  SpellBase64({PyBytes_AsString(bytes.get()), static_cast<size_t>(PyBytes_Size(bytes.get()))},
              &out_);
  out_.Append("\"}");
  return Written();
}

Writer::Outcome Writer::WriteSet(PyObject* set) {
  if (!Fits(2)) return Outcome::kNotHere;
  struct Item {
    std::string text;
    std::string escaped;  // Where that is another.
    std::string_view key() const { return escaped.empty() ? text : escaped; }
  };
  std::vector<Item> items;
  Writer inner(types_, nullptr, depth_ + 2, heavy_);
  const Ref iterator = Ref::Own(PyObject_GetIter(set));
  if (!iterator) return Outcome::kFailed;
  while (const Ref item = Ref::Own(PyIter_Next(iterator.get()))) {
    if (!inner.Write(item.get()) && PyErr_Occurred() == nullptr && inner.good()) {
      return Outcome::kNotHere;
    }
    const Ref text = PyErr_Occurred() == nullptr ? inner.out().Whole() : Ref();
    if (!text) return Outcome::kFailed;
    Item& added = items.emplace_back();
    added.text.assign(PyBytes_AsString(text.get()), static_cast<size_t>(PyBytes_Size(text.get())));
    const auto escapes = [](char c) { return static_cast<unsigned char>(c) >= 0x7F; };
    if (std::any_of(added.text.begin(), added.text.end(), escapes)) {
      added.escaped = Escaped(added.text);
    }
  }
  if (PyErr_Occurred() != nullptr) return Outcome::kFailed;
  std::sort(items.begin(), items.end(),
            [](const Item& one, const Item& other) { return one.key() < other.key(); });
  Open(IsExactly(set, PySet_Type) ? R"({"~set":[)" : R"({"~frozenset":[)", 2);
  levels_ = std::max(levels_, inner.levels());
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_.Append(",");
    out_.Append(items[i].text);
  }
  out_.Append("]}");
  return Written();
}

}  // namespace

PyObject* Document(const Types& types, PyObject* value, PyObject* tag, int depth, bool heavy) {
  Writer writer(types, tag, depth, heavy);
  if (!writer.Write(value) && !writer.out().failed()) return nullptr;
  const Ref segments = writer.out().Finish();
  if (!segments) return nullptr;
  PyObject* const tagged = writer.tagged() ? Py_True : Py_False;
  return Py_BuildValue("(OiO)", segments.get(), writer.levels(), tagged);
}

PyObject* Documents(const Types& types, PyObject* values, PyObject* tag) {
  if (PyList_Check(values) == 0) {
    PyErr_SetString(PyExc_TypeError, "documents are made of a list");
    return nullptr;
  }
  Writer writer(types, tag, 0, false);
  Ref texts = Ref::Own(PyList_New(0));
  if (!texts) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_Size(values); ++i) {
    const Ref value = Ref::Borrow(PyList_GetItem(values, i));
    Ref text;
    if (value.get() == Py_None) {
      text = Ref::Borrow(Py_None);
    } else if (writer.Write(value.get()) || writer.out().failed()) {
      text = writer.out().Whole();
      if (!text) return nullptr;
    } else {
      AddIndex(i);
      return nullptr;
    }
    if (PyList_Append(texts.get(), text.get()) != 0) return nullptr;
  }
  return texts.release();
}

}  // namespace airfreight::json
