// The extension airfreight._json: JSON in one pass. A module of its own because nearly every XCom
// needs it and few need the core, with which come libcurl and OpenSSL.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "cells.h"
#include "decoder.h"
#include "document.h"
#include "encoder.h"
#include "python.h"
#include "tags.h"
#include "types.h"

namespace airfreight::json {
namespace {

// No exception of C++ may reach Python.
template <typename Call>
PyObject* Guarded(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* EncodeCall(PyObject* /*module*/, PyObject* value) {
  return Guarded([&] { return Encode(value); });
}

PyObject* DumpCall(PyObject* /*module*/, PyObject* value) {
  return Guarded([&] { return Dump(value); });
}

// What a module keeps, in memory that Python gives it, all zero at first.
struct State {
  Types* types;  // Null until they are needed: plain JSON has no use for them.
};

State* StateOf(PyObject* module) { return static_cast<State*>(PyModule_GetState(module)); }

// Null, and an exception, when a type is not there.
const Types* TypesOf(PyObject* module) {
  State* const state = StateOf(module);
  if (state->types == nullptr) state->types = Types::Load().release();
  return state->types;
}

PyObject* DocumentCall(PyObject* module, PyObject* arguments) {
  PyObject* value = nullptr;
  PyObject* tag = nullptr;
  int depth = 0;
  int heavy = 0;
  if (PyArg_ParseTuple(arguments, "OO|ip:document", &value, &tag, &depth, &heavy) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> PyObject* {
    const Types* const types = TypesOf(module);
    return types == nullptr ? nullptr : Document(*types, value, tag, depth, heavy != 0);
  });
}

PyObject* DocumentsCall(PyObject* module, PyObject* arguments) {
  PyObject* values = nullptr;
  PyObject* tag = nullptr;
  if (PyArg_ParseTuple(arguments, "OO:documents", &values, &tag) == 0) return nullptr;
  return Guarded([&]() -> PyObject* {
    const Types* const types = TypesOf(module);
    return types == nullptr ? nullptr : Documents(*types, values, tag);
  });
}

PyObject* UntaggedCall(PyObject* module, PyObject* arguments) {
  PyObject* encoded = nullptr;
  PyObject* untag = nullptr;
  if (PyArg_ParseTuple(arguments, "OO:untagged", &encoded, &untag) == 0) return nullptr;
  return Guarded([&]() -> PyObject* {
    const Types* const types = TypesOf(module);
    return types == nullptr ? nullptr : Untagged(*types, encoded, untag);
  });
}

PyObject* DecodeCall(PyObject* module, PyObject* arguments) {
  PyObject* data = nullptr;
  PyObject* untag = Py_None;
  if (PyArg_ParseTuple(arguments, "O|O:decode", &data, &untag) == 0) return nullptr;
  if (PyBytes_Check(data) == 0 && PyByteArray_Check(data) == 0 && PyMemoryView_Check(data) == 0) {
    return PyErr_Format(PyExc_TypeError, "JSON text is bytes, a bytearray or a memoryview");
  }
  // The limited API of 3.10 has no buffers: other memory than that of `bytes` is copied.
  const Ref bytes =
      PyBytes_CheckExact(data) != 0 ? Ref::Borrow(data) : Ref::Own(PyBytes_FromObject(data));
  if (!bytes) return nullptr;
  const std::string_view text(PyBytes_AsString(bytes.get()),
                              static_cast<size_t>(PyBytes_Size(bytes.get())));
  return Guarded([&]() -> PyObject* {
    if (untag == Py_None) return Decode(text, nullptr);
    const Types* const types = TypesOf(module);
    if (types == nullptr) return nullptr;
    TagReader tags(*types, untag);
    return Decode(text, &tags);
  });
}

bool ParseCells(PyObject* arguments, Cells* cells) {
  unsigned long long address = 0;
  if (PyArg_ParseTuple(arguments, "Knn", &address, &cells->count, &cells->stride) == 0) {
    return false;
  }
  cells->address = static_cast<uintptr_t>(address);
  return true;
}

// What looks at cells.
template <PyObject* (*look)(const Cells&)>
PyObject* CellsCall(PyObject* /*module*/, PyObject* arguments) {
  Cells cells = {};
  if (!ParseCells(arguments, &cells)) return nullptr;
  return Guarded([&] { return look(cells); });
}

template <PyObject* (*look)(const Types&, const Cells&)>
PyObject* TypedCellsCall(PyObject* module, PyObject* arguments) {
  Cells cells = {};
  if (!ParseCells(arguments, &cells)) return nullptr;
  return Guarded([&]() -> PyObject* {
    const Types* const types = TypesOf(module);
    return types == nullptr ? nullptr : look(*types, cells);
  });
}

PyMethodDef methods[] = {
    {"encode", EncodeCall, METH_O,
     "encode(value, /)\n--\n\n"
     "The kind of a value that is plain JSON, and the segments of its text; None for others."},
    {"dump", DumpCall, METH_O,
     "dump(value, /)\n--\n\nThe segments of the text of what is JSON already. TypeError: it is "
     "not."},
    {"document", DocumentCall, METH_VARARGS,
     "document(value, tag, depth=0, heavy=False, /)\n--\n\n"
     "The segments of a document's text, its levels, and whether tags were made here; tag(object, "
     "levels around it) returns (name, content, what that holds) for all others."},
    {"documents", DocumentsCall, METH_VARARGS,
     "documents(values, tag, /)\n--\n\nThe text of each value of a list; None for None."},
    {"untagged", UntaggedCall, METH_VARARGS,
     "untagged(encoded, untag, /)\n--\n\n"
     "The value of a JSON form; untag(name, content) makes that of a tag."},
    {"decode", DecodeCall, METH_VARARGS,
     "decode(data, untag=None, /)\n--\n\n"
     "What json.loads makes of bytes; untag(name, content) makes the value of a tag.\n\n"
     "Raises:\n    ValueError: it is not JSON; names the place, in bytes."},
    {"types_at", CellsCall<TypesAt>, METH_VARARGS,
     "types_at(address, count, stride, /)\n--\n\n"
     "The types of the objects of an array in memory, which is not checked."},
    {"floats_at", CellsCall<FloatsAt>, METH_VARARGS,
     "floats_at(address, count, stride, /)\n--\n\n"
     "Whether there are numbers among the floats, and whether there is NaN."},
    {"naive_at", TypedCellsCall<NaiveAt>, METH_VARARGS,
     "naive_at(address, count, stride, /)\n--\n\n"
     "Whether no datetime and no time has a zone or a fold."},
    {"days_at", TypedCellsCall<DaysAt>, METH_VARARGS,
     "days_at(address, count, stride, /)\n--\n\nThe most days of a timedelta, without its sign."},
    {"decimals_at", TypedCellsCall<DecimalsAt>, METH_VARARGS,
     "decimals_at(address, count, stride, /)\n--\n\n"
     "Digits and places of all Decimals; None when places differ or one is special."},
    {"lists_at", CellsCall<ListsAt>, METH_VARARGS,
     "lists_at(address, count, stride, /)\n--\n\nThe types of what lies in lists, and its number."},
    {nullptr, nullptr, 0, nullptr}};

void Free(void* module) {
  State* const state = StateOf(static_cast<PyObject*>(module));
  if (state != nullptr) delete std::exchange(state->types, nullptr);
}

PyModuleDef_Slot slots[] = {{0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_json",
                          "JSON in one pass, for airfreight.values.",
                          sizeof(State),
                          methods,
                          slots,
                          nullptr,
                          nullptr,
                          Free};

}  // namespace
}  // namespace airfreight::json

PyMODINIT_FUNC PyInit__json() { return PyModuleDef_Init(&airfreight::json::definition); }
