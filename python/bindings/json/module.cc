// The extension airfreight._json: JSON in one pass. A module of its own because nearly every XCom
// needs it and few need the core, with which come libcurl and OpenSSL.

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>

#include "decoder.h"
#include "encoder.h"
#include "python.h"
#include "tagger.h"

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

PyObject* TaggedCall(PyObject* /*module*/, PyObject* arguments) {
  PyObject* value = nullptr;
  PyObject* tag = nullptr;
  int depth = 0;
  if (PyArg_ParseTuple(arguments, "OO|i:tagged", &value, &tag, &depth) == 0) return nullptr;
  return Guarded([&] { return Tagged(value, tag, depth); });
}

PyObject* UntaggedCall(PyObject* /*module*/, PyObject* arguments) {
  PyObject* encoded = nullptr;
  PyObject* untag = nullptr;
  if (PyArg_ParseTuple(arguments, "OO:untagged", &encoded, &untag) == 0) return nullptr;
  return Guarded([&] { return Untagged(encoded, untag); });
}

PyObject* DecodeCall(PyObject* /*module*/, PyObject* arguments) {
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
  return Guarded([&] { return Decode(text, untag == Py_None ? nullptr : untag); });
}

PyMethodDef methods[] = {
    {"encode", EncodeCall, METH_O,
     "encode(value, /)\n--\n\n"
     "The kind of a value that is plain JSON, and the segments of its text; None for others."},
    {"dump", DumpCall, METH_O,
     "dump(value, /)\n--\n\nThe segments of the text of what is JSON already. TypeError: it is "
     "not."},
    {"tagged", TaggedCall, METH_VARARGS,
     "tagged(value, tag, depth=0, /)\n--\n\n"
     "The JSON form of a value, and its levels; tag(object, levels around it) returns (name, "
     "content, what that holds) for what does not stand for itself."},
    {"untagged", UntaggedCall, METH_VARARGS,
     "untagged(encoded, untag, /)\n--\n\n"
     "The value of a JSON form; untag(name, content) makes that of a tag."},
    {"decode", DecodeCall, METH_VARARGS,
     "decode(data, untag=None, /)\n--\n\n"
     "What json.loads makes of bytes; untag(name, content) makes the value of a tag.\n\n"
     "Raises:\n    ValueError: it is not JSON; names the place, in bytes."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot slots[] = {{0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_json",
                          "JSON in one pass, for airfreight.values.",
                          0,
                          methods,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace airfreight::json

PyMODINIT_FUNC PyInit__json() { return PyModuleDef_Init(&airfreight::json::definition); }
