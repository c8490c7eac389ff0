// The extension airfreight._json: JSON in one pass. A module of its own because nearly every XCom
// needs it and few need the core, with which come libcurl and OpenSSL.

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>

#include "decoder.h"
#include "encoder.h"
#include "python.h"

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

PyObject* EncodeDocumentCall(PyObject* /*module*/, PyObject* arguments) {
  PyObject* value = nullptr;
  PyObject* tag = nullptr;
  if (PyArg_ParseTuple(arguments, "OO:encode_document", &value, &tag) == 0) return nullptr;
  return Guarded([&] { return EncodeDocument(value, tag); });
}

PyObject* DecodeCall(PyObject* /*module*/, PyObject* arguments) {
  PyObject* data = nullptr;
  PyObject* untag = Py_None;
  if (PyArg_ParseTuple(arguments, "O|O:decode", &data, &untag) == 0) return nullptr;
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
    {"encode_document", EncodeDocumentCall, METH_VARARGS,
     "encode_document(value, tag, /)\n--\n\n"
     "The levels and the segments of a document; tag(object, levels around it) returns (name, "
     "content, whether it holds values) for what does not stand for itself."},
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
