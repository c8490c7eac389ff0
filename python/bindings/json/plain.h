#pragma once

/// \file
/// \brief What plain JSON is (formats/document.md), as `airfreight.values.json_` has it, where the
/// reasons are.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "python.h"

namespace airfreight::json {

/// `airfreight.values.json_.Kind`, but for what is not JSON.
constexpr int kDeep = 1;
constexpr int kFloats = 2;
constexpr int kPlain = 3;

constexpr int kRowDepth = 100;
constexpr int kMaxDepth = 250;

/// Whether a finite float comes back from a database as it was.
inline bool StaysInRow(double number) {
  constexpr double kMaxRowFloat = 1e16;
  return std::fabs(number) < kMaxRowFloat && !(number == 0 && std::signbit(number));
}

/// Whether Airflow's serializers, or we, tell our own from a user's dict by this key.
inline bool IsMarker(std::string_view key) {
  constexpr std::array<std::string_view, 10> kMarkers = {
      "__classname__", "__version__", "__data__",  "__id__",      "__type",
      "__var",         "__source",    "__cache__", "_airfreight", "_xcom_backend"};
  return key.starts_with('_') && std::find(kMarkers.begin(), kMarkers.end(), key) != kMarkers.end();
}

/// The UTF-8 form of a `str`, for as long as this and the `str` live.
class Utf8 {
 public:
  /// Without an exception when there is no such form (a lone surrogate); with one, and not good,
  /// when memory ran out.
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
      if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) != 0) PyErr_Clear();
      return;
    }
    view_ = {data, static_cast<size_t>(size)};
    good_ = true;
  }

  /// Whether there is one.
  bool good() const { return good_; }
  /// Whether every database keeps it: no lone surrogate, no NUL.
  bool plain() const { return good_ && view_.find('\0') == std::string_view::npos; }
  std::string_view view() const { return view_; }

 private:
  // Of a text that is not ASCII Python keeps the UTF-8 form for as long as the text lives: a value
  // of long texts would take twice its memory after it was pushed. From this length on it is worth
  // a call to learn whether that would be so.
  static constexpr Py_ssize_t kLong = 32;

  static bool IsAscii(PyObject* text) {
    // Lives as long as the process.
    static PyObject* const name = PyUnicode_InternFromString("isascii");
    const Ref answer =
        name == nullptr ? Ref() : Ref::Own(PyObject_CallMethodObjArgs(text, name, nullptr));
    if (!answer) PyErr_Clear();
    return answer.get() == Py_True;
  }

  Ref bytes_;
  std::string_view view_;
  bool good_ = false;
};

}  // namespace airfreight::json
