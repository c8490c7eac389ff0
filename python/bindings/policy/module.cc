// The extension airfreight._policy: the policy's text alone, read by the core's own parser. A
// module of its own because Airflow's import checks the text, in processes that never need the
// core.

#include <Python.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/rules.h"
#include "rules/hint.h"
#include "rules/settings.h"

namespace airfreight {
namespace {

constexpr const char* kCapsule = "airfreight.Rules";

// No exception of C++ may reach Python.
template <typename Call>
PyObject* Guarded(Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* Text(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// Null where the item is null or does not fit; takes the item over.
bool Append(PyObject* list, PyObject* item) {
  if (item == nullptr) return false;
  const int failed = PyList_Append(list, item);
  Py_DECREF(item);
  return failed == 0;
}

bool SetItem(PyObject* dict, const std::string& key, PyObject* value) {
  if (value == nullptr) return false;
  PyObject* const name = Text(key);
  const bool set = name != nullptr && PyDict_SetItem(dict, name, value) == 0;
  Py_XDECREF(name);
  Py_DECREF(value);
  return set;
}

PyObject* Object(const std::string& text) { return Text(text); }
PyObject* Object(int number) { return PyLong_FromLong(number); }
PyObject* Object(const Patterns& patterns) {
  PyObject* const list = PyList_New(0);
  for (const std::string& pattern : patterns) {
    if (list == nullptr || !Append(list, Text(pattern))) {
      Py_XDECREF(list);
      return nullptr;
    }
  }
  return list;
}

template <typename Value>
PyObject* Dict(const std::map<std::string, Value>& entries) {
  PyObject* const dict = PyDict_New();
  if (dict == nullptr) return nullptr;
  for (const auto& [key, value] : entries) {
    if (!SetItem(dict, key, Object(value))) {
      Py_DECREF(dict);
      return nullptr;
    }
  }
  return dict;
}

bool Fill(const std::vector<std::string>& problems, const Rules& rules, PyObject* told,
          PyObject* stores, PyObject* aliases) {
  for (const std::string& problem : problems) {
    if (!Append(told, Text(problem))) return false;
  }
  for (const auto& [name, store] : rules.stores) {
    PyObject* const settings = Dict(store.settings);
    PyObject* const uri = Text(store.uri);
    PyObject* const pair =
        settings != nullptr && uri != nullptr ? PyTuple_Pack(2, uri, settings) : nullptr;
    Py_XDECREF(settings);
    Py_XDECREF(uri);
    if (!SetItem(stores, name, pair)) return false;
  }
  for (const auto& [from, to] : rules.aliases) {
    PyObject* const one = Text(from);
    PyObject* const other = Text(to);
    PyObject* const pair =
        one != nullptr && other != nullptr ? PyTuple_Pack(2, one, other) : nullptr;
    Py_XDECREF(one);
    Py_XDECREF(other);
    if (!Append(aliases, pair)) return false;
  }
  return true;
}

void Destroy(PyObject* capsule) {
  delete static_cast<Rules*>(PyCapsule_GetPointer(capsule, kCapsule));
}

PyObject* ParseCall(PyObject* /*module*/, PyObject* arguments) {
  const char* text = nullptr;
  Py_ssize_t size = 0;
  const char* source = nullptr;
  if (PyArg_ParseTuple(arguments, "s#s:parse", &text, &size, &source) == 0) return nullptr;
  return Guarded([&]() -> PyObject* {
    std::vector<std::string> problems;
    auto rules = std::make_unique<Rules>(
        ParseRules(std::string_view(text, static_cast<size_t>(size)), source, &problems));
    bool sized = false;
    for (const Rule& rule : rules->rules) sized |= rule.min_size || rule.below_size;
    PyObject* const told = PyList_New(0);
    PyObject* const stores = PyDict_New();
    PyObject* const aliases = PyList_New(0);
    PyObject* const lines = Dict(rules->lines);
    PyObject* const capsule = PyCapsule_New(rules.get(), kCapsule, Destroy);
    const Rules* const read = capsule != nullptr ? rules.release() : rules.get();
    PyObject* found = nullptr;
    if (told != nullptr && stores != nullptr && aliases != nullptr && lines != nullptr &&
        capsule != nullptr && Fill(problems, *read, told, stores, aliases)) {
      found = PyTuple_Pack(6, told, stores, aliases, lines, capsule, sized ? Py_True : Py_False);
    }
    for (PyObject* object : {told, stores, aliases, lines, capsule}) Py_XDECREF(object);
    return found;
  });
}

PyObject* FindCall(PyObject* /*module*/, PyObject* arguments) {
  PyObject* capsule = nullptr;
  const char* dag = nullptr;
  const char* task = nullptr;
  const char* key = nullptr;
  const char* type = nullptr;
  long long size = 0;
  if (PyArg_ParseTuple(arguments, "OssssL:find", &capsule, &dag, &task, &key, &type, &size) == 0) {
    return nullptr;
  }
  const auto* const rules = static_cast<const Rules*>(PyCapsule_GetPointer(capsule, kCapsule));
  if (rules == nullptr) return nullptr;
  return Guarded([&]() -> PyObject* {
    const Rule* const rule =
        rules->Find({dag, task, key, type,
                     size < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(size))});
    if (rule == nullptr) Py_RETURN_NONE;
    PyObject* const name = Text(rule->name);
    PyObject* const line = PyLong_FromLong(rule->line);
    PyObject* const values = Dict(rule->values);
    PyObject* const lines = Dict(rule->lines);
    PyObject* const found =
        name != nullptr && line != nullptr && values != nullptr && lines != nullptr
            ? PyTuple_Pack(4, name, line, values, lines)
            : nullptr;
    for (PyObject* object : {name, line, values, lines}) Py_XDECREF(object);
    return found;
  });
}

// (name, line, matchers, values, lines); null after an error.
PyObject* Told(const Rule& rule) {
  PyObject* const parts[] = {Text(rule.name), PyLong_FromLong(rule.line), Dict(rule.matchers),
                             Dict(rule.values), Dict(rule.lines)};
  PyObject* told = nullptr;
  if (std::none_of(std::begin(parts), std::end(parts), [](PyObject* p) { return p == nullptr; })) {
    told = PyTuple_Pack(5, parts[0], parts[1], parts[2], parts[3], parts[4]);
  }
  for (PyObject* part : parts) Py_XDECREF(part);
  return told;
}

PyObject* RulesCall(PyObject* /*module*/, PyObject* capsule) {
  const auto* const rules = static_cast<const Rules*>(PyCapsule_GetPointer(capsule, kCapsule));
  if (rules == nullptr) return nullptr;
  return Guarded([&]() -> PyObject* {
    PyObject* const all = PyList_New(0);
    for (const Rule& rule : rules->rules) {
      if (all == nullptr || !Append(all, Told(rule))) {
        Py_XDECREF(all);
        return nullptr;
      }
    }
    return all;
  });
}

PyObject* NearestCall(PyObject* /*module*/, PyObject* arguments) {
  const char* name = nullptr;
  PyObject* list = nullptr;
  if (PyArg_ParseTuple(arguments, "sO!:nearest", &name, &PyList_Type, &list) == 0) return nullptr;
  return Guarded([&]() -> PyObject* {
    std::vector<std::string_view> known;
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      Py_ssize_t size = 0;
      const char* const text = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), &size);
      if (text == nullptr) return nullptr;
      known.emplace_back(text, static_cast<size_t>(size));
    }
    return Text(std::string(Nearest(name, known)));
  });
}

PyObject* SettingCall(PyObject* /*module*/, PyObject* arguments) {
  const char* name = nullptr;
  const char* text = nullptr;
  Py_ssize_t size = 0;
  if (PyArg_ParseTuple(arguments, "ss#:setting", &name, &text, &size) == 0) return nullptr;
  return Guarded([&]() -> PyObject* {
    std::string problem;
    const std::optional<std::string> value =
        CanonicalSetting(name, std::string_view(text, static_cast<size_t>(size)), &problem);
    PyObject* const told = Text(problem);
    PyObject* const made = value ? Text(*value) : nullptr;
    PyObject* found = nullptr;
    if (told != nullptr && (made != nullptr || !value)) {
      found = PyTuple_Pack(2, made != nullptr ? made : Py_None, told);
    }
    Py_XDECREF(told);
    Py_XDECREF(made);
    return found;
  });
}

PyMethodDef methods[] = {
    {"parse", ParseCall, METH_VARARGS,
     "parse(text, source, /)\n--\n\n"
     "What is wrong with a policy; its stores and aliases; the lines of these; its rules, for "
     "find; "
     "whether one looks at sizes."},
    {"find", FindCall, METH_VARARGS,
     "find(rules, dag, task, key, type, size, /)\n--\n\n"
     "Name, line, values and their lines of the first rule that matches; None. A size below 0 is "
     "not known."},
    {"setting", SettingCall, METH_VARARGS,
     "setting(name, text, /)\n--\n\n"
     "What a rule's setting is in its one spelling, or None; and what is wrong with it."},
    {"rules", RulesCall, METH_O,
     "rules(rules, /)\n--\n\n"
     "Name, line, matchers, values, and the lines of both, of each rule."},
    {"nearest", NearestCall, METH_VARARGS,
     "nearest(name, known, /)\n--\n\n"
     "The known name that is most like another one; empty where none is."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot slots[] = {{0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_policy",
                          "The text of the policy.",
                          0,
                          methods,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace airfreight

PyMODINIT_FUNC PyInit__policy() { return PyModuleDef_Init(&airfreight::definition); }
