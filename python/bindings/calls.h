#pragma once

// What every binding stands on: buffers, errors as exceptions, calls without the GIL.

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "airfreight/store.h"
#include "interruption.h"

namespace airfreight {

namespace nb = nanobind;

// Whatever has the buffer protocol, as contiguous bytes. Holding one pins the memory.
using BytesLike = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline ByteView View(const BytesLike& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

// A module of Python's, in each call: what is imported already is found without the import
// machinery, which takes longer than all else that a call needs.
inline nb::object Module(const char* name) {
  const nb::object key = nb::steal(PyUnicode_InternFromString(name));
  if (key.is_valid()) {
    if (PyObject* found = PyImport_GetModule(key.ptr())) return nb::steal(found);
  }
  PyErr_Clear();
  return nb::module_::import_(name);
}

// The exception that `airfreight.errors.from_core` makes of an error.
inline nb::object Exception(const Error& error) {
  return Module("airfreight.errors")
      .attr("from_core")(ErrorCodeName(error.code), error.message, error.store, error.key,
                         error.http_status, error.service_code, error.request_id, error.retryable);
}

[[noreturn]] inline void Raise(const Error& error) {
  // A signal handler that raised (a time-out, SIGTERM) is why the call was cancelled: its exception
  // is the one the task must see.
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const nb::object exception = Exception(error);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

template <typename T>
T ValueOrRaise(Result<T> result) {
  if (!result) Raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// Runs `call` with the GIL released and Python's signal handlers polled (a native call holds them
// back otherwise, and with them `execution_timeout` and SIGTERM). `airfreight._limits` says how
// long it may take, and whether anybody still waits for it.
template <typename Call>
auto WithoutGil(Call call) {
  Context context;
  const nb::object limits = Module("airfreight._limits");
  if (const nb::object left = limits.attr("remaining")(); !left.is_none()) {
    context.deadline =
        Context::Clock::now() + std::chrono::duration_cast<Context::Clock::duration>(
                                    std::chrono::duration<double>(nb::cast<double>(left)));
  }
  bool raised = false;
  context.cancelled = [&raised, &limits] {
    if (raised || Interruption::IsThere()) return true;
    const nb::gil_scoped_acquire gil;
    raised = PyErr_CheckSignals() != 0;  // Runs handlers in the main thread only; 0 elsewhere.
    if (raised) return true;
    try {
      return nb::cast<bool>(limits.attr("cancelled")());
    } catch (nb::python_error& error) {
      error.restore();
      raised = true;
      return true;
    }
  };
  auto result = [&] {
    const nb::gil_scoped_release release;
    return call(context);
  }();
  // A transfer that ended well although a handler raised meanwhile: the exception still counts.
  if (raised) throw nb::python_error();
  Interruption::RaiseIfThere();
  return ValueOrRaise(std::move(result));
}

// Python's view of a buffer, which lives as long as the view.
inline nb::object Memory(Buffer result) {
  auto buffer = std::make_unique<Buffer>(std::move(result));
  const size_t size = buffer->size();
  void* data = buffer->data();
  // An empty buffer has no memory, and a view must point somewhere.
  static uint8_t nothing = 0;
  nb::capsule owner(buffer.release(),
                    [](void* pointer) noexcept { delete static_cast<Buffer*>(pointer); });
  return nb::cast(nb::ndarray<uint8_t, nb::memview, nb::ndim<1>>(data == nullptr ? &nothing : data,
                                                                 {size}, owner));
}

}  // namespace airfreight
