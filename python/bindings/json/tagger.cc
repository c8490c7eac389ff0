#include "tagger.h"

#include <algorithm>
#include <cmath>

#include "plain.h"

namespace airfreight::json {
namespace {

// What the content of a tag holds; the numbers are those of values/document.py.
constexpr int kRaw = 0;
constexpr int kItems = 1;
constexpr int kPairs = 2;
constexpr int kFields = 3;
constexpr int kKey = 4;

// Levels of lists and dicts in JSON, up to a limit that ends a value that contains itself.
int Levels(PyObject* value, int limit) {
  int deepest = 0;
  if (limit == 0) return 0;
  if (PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PyList_Size(value); ++i) {
      deepest = std::max(deepest, Levels(PyList_GetItem(value, i), limit - 1));
    }
  } else if (PyDict_Check(value)) {
    Py_ssize_t position = 0;
    PyObject* item = nullptr;
    while (PyDict_Next(value, &position, nullptr, &item) != 0) {
      deepest = std::max(deepest, Levels(item, limit - 1));
    }
  } else {
    return 0;
  }
  return deepest + 1;
}

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

// The tagger is code of Python, which may change any list or dict meanwhile: what is looked at is
// held, and sizes are asked for again.
class Tagger {
 public:
  Tagger(PyObject* tag, int depth) : tag_(tag), depth_(depth), levels_(depth) {}

  // The JSON form; nothing, and an exception, when there is none.
  Ref Form(PyObject* value);
  int levels() const { return levels_; }

 private:
  static bool StandsForItself(PyObject* value);
  static bool IsPlainDict(PyObject* dict);
  Ref List(PyObject* list);
  Ref Dict(PyObject* dict, int kind);
  Ref Pairs(PyObject* pairs);
  Ref Tag(PyObject* value);

  void Descend() { levels_ = std::max(levels_, ++depth_); }

  PyObject* const tag_;
  int depth_;
  int levels_;
};

Ref Tagger::Form(PyObject* value) {
  if (StandsForItself(value)) return Ref::Borrow(value);
  if (PyErr_Occurred() != nullptr) return {};
  const bool list = IsExactly(value, PyList_Type);
  const bool dict = !list && IsExactly(value, PyDict_Type) && IsPlainDict(value);
  if (PyErr_Occurred() != nullptr) return {};
  if (depth_ >= kMaxDepth || (!list && !dict)) return Tag(value);
  Descend();
  Ref form = list ? List(value) : Dict(value, kItems);
  --depth_;
  return form;
}

bool Tagger::StandsForItself(PyObject* value) {
  if (IsExactly(value, PyUnicode_Type)) return Utf8(value).plain();
  if (value == Py_None || value == Py_True || value == Py_False) return true;
  if (IsExactly(value, PyLong_Type)) {
    int overflow = 0;
    (void)PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow <= 0) return overflow == 0;
    (void)PyLong_AsUnsignedLongLong(value);
    const bool fits = PyErr_Occurred() == nullptr;
    PyErr_Clear();
    return fits;
  }
  if (!IsExactly(value, PyFloat_Type)) return false;
  const double number = PyFloat_AsDouble(value);
  return std::isfinite(number) && StaysInRow(number);
}

bool Tagger::IsPlainDict(PyObject* dict) {
  const bool single = PyDict_Size(dict) == 1;
  Py_ssize_t position = 0;
  PyObject* next = nullptr;
  while (PyDict_Next(dict, &position, &next, nullptr) != 0) {
    const Ref key = Ref::Borrow(next);
    if (!IsExactly(key.get(), PyUnicode_Type)) return false;
    const Utf8 text(key.get());
    if (!text.plain() || IsMarker(text.view())) return false;
    if (single && text.view().starts_with('~')) return false;
  }
  return true;
}

Ref Tagger::List(PyObject* list) {
  Ref changed;
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const Ref item = Ref::Borrow(PyList_GetItem(list, i));
    const Ref form = Form(item.get());
    if (!form) {
      AddIndex(i);
      return {};
    }
    if (form.get() == item.get() && !changed) continue;
    if (!changed) {
      changed = Ref::Own(PyList_GetSlice(list, 0, i));
      if (!changed) return {};
    }
    if (PyList_Append(changed.get(), form.get()) != 0) return {};
  }
  return changed ? std::move(changed) : Ref::Borrow(list);
}

Ref Tagger::Dict(PyObject* dict, int kind) {
  const Py_ssize_t size = PyDict_Size(dict);
  Ref changed;
  Py_ssize_t position = 0;
  PyObject* next_key = nullptr;
  PyObject* next_item = nullptr;
  while (PyDict_Next(dict, &position, &next_key, &next_item) != 0) {
    const Ref key = Ref::Borrow(next_key);
    const Ref item = Ref::Borrow(next_item);
    const Ref form = Form(item.get());
    if (!form) {
      AddStep(kind, key.get());
      return {};
    }
    if (PyDict_Size(dict) != size) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size while it was encoded");
      return {};
    }
    if (form.get() == item.get()) continue;
    // A copy keeps the order; an item that is replaced keeps its place.
    if (!changed) changed = Ref::Own(PyDict_Copy(dict));
    if (!changed || PyDict_SetItem(changed.get(), key.get(), form.get()) != 0) return {};
  }
  return changed ? std::move(changed) : Ref::Borrow(dict);
}

Ref Tagger::Pairs(PyObject* pairs) {
  Ref forms = Ref::Own(PyList_New(0));
  if (!forms) return {};
  for (Py_ssize_t i = 0; i < PyList_Size(pairs); ++i) {
    const Ref pair = Ref::Borrow(PyList_GetItem(pairs, i));
    if (PyTuple_Check(pair.get()) == 0 || PyTuple_Size(pair.get()) != 2) {
      PyErr_SetString(PyExc_TypeError, "a pair is a tuple of key and value");
      return {};
    }
    PyObject* const key = PyTuple_GetItem(pair.get(), 0);
    Descend();
    const Ref key_form = Form(key);
    if (!key_form) {
      AddStep(kKey, key);
      return {};
    }
    const Ref form = Form(PyTuple_GetItem(pair.get(), 1));
    if (!form) {
      AddStep(kItems, key);
      return {};
    }
    --depth_;
    const Ref both = Ref::Own(Py_BuildValue("[OO]", key_form.get(), form.get()));
    if (!both || PyList_Append(forms.get(), both.get()) != 0) return {};
  }
  return forms;
}

Ref Tagger::Tag(PyObject* value) {
  const Ref tag = Ref::Own(PyObject_CallFunction(tag_, "Oi", value, depth_));
  if (!tag) return {};
  PyObject* name = nullptr;
  PyObject* content = nullptr;
  PyObject* head = nullptr;
  int holds = kRaw;
  if (PyTuple_Check(tag.get()) == 0) {
    PyErr_SetString(PyExc_TypeError, "a tag is a tuple");
    return {};
  }
  if (PyArg_ParseTuple(tag.get(), "OOi|O", &name, &content, &holds, &head) == 0) return {};
  if (!IsTag(name) || !Utf8(name).plain()) {
    PyErr_SetString(PyExc_TypeError, "a tag's name is plain text that begins with ~");
    return {};
  }
  Descend();
  if (head != nullptr) Descend();
  Ref form;
  if (holds == kRaw) {
    form = Ref::Borrow(content);
    levels_ = std::max(levels_, depth_ + Levels(content, kMaxDepth));
  } else {
    Descend();
    if (holds == kItems && PyList_CheckExact(content) != 0) {
      form = List(content);
    } else if (holds == kPairs && PyList_CheckExact(content) != 0) {
      form = Pairs(content);
    } else if (holds == kFields && PyDict_CheckExact(content) != 0) {
      form = Dict(content, kFields);
    } else {
      PyErr_SetString(PyExc_TypeError, "a tag with another content than it says");
    }
    --depth_;
  }
  if (form && head != nullptr) {
    form = Ref::Own(Py_BuildValue("[OO]", head, form.get()));
    --depth_;
  }
  --depth_;
  if (!form) return {};
  Ref object = Ref::Own(PyDict_New());
  if (!object || PyDict_SetItem(object.get(), name, form.get()) != 0) return {};
  return object;
}

// Makes values of JSON that was read already; as deep as a reader reads.
class Untagger {
 public:
  explicit Untagger(PyObject* untag) : untag_(untag) {}

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
      if (single && IsTag(key.get())) return Untag(untag_, key.get(), value.get());
      if (PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) return {};
    }
    return dict;
  }

  PyObject* const untag_;
  int depth_ = 0;
};

}  // namespace

bool IsTag(PyObject* name) {
  return PyUnicode_Check(name) != 0 && PyUnicode_GetLength(name) > 0 &&
         PyUnicode_ReadChar(name, 0) == '~';
}

Ref Untag(PyObject* untag, PyObject* name, PyObject* content) {
  if (PyUnicode_CompareWithASCIIString(name, "~tuple") == 0 && PyList_CheckExact(content) != 0) {
    return Ref::Own(PyList_AsTuple(content));
  }
  return Ref::Own(PyObject_CallFunctionObjArgs(untag, name, content, nullptr));
}

PyObject* Tagged(PyObject* value, PyObject* tag, int depth) {
  Tagger tagger(tag, depth);
  const Ref form = tagger.Form(value);
  return form ? Py_BuildValue("(Oi)", form.get(), tagger.levels()) : nullptr;
}

PyObject* Untagged(PyObject* encoded, PyObject* untag) {
  return Untagger(untag).Value(encoded).release();
}

}  // namespace airfreight::json
