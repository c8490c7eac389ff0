#pragma once

/// \file
/// \brief Bytes that are written once and never copied as a whole.

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "python.h"

namespace airfreight::json {

/// Text that grows: gathered in memory that stays in the processor's cache, and cut into `bytes`.
///
/// Threads: one, with the GIL. Ownership: of all segments until `Finish`. Errors: want of memory,
/// or what a handler of a signal raised;
/// `Finish` tells. Python code may run, in such handlers, whenever a segment is full.
class Segments {
 public:
  /// A segment. What a store is sent at once is larger; what fits into a cache near the processor
  /// is not.
  static constexpr size_t kSize = size_t{256} << 10;

  void Append(std::string_view text) {
    if (text.size() <= room()) {
      std::memcpy(at_, text.data(), text.size());
      at_ += text.size();
    } else {
      AppendSlowly(text);
    }
  }

  /// Where up to `size` bytes may be written at once, of which `Advance` tells how many there are;
  /// nothing when there is no such room just now.
  char* Room(size_t size) { return size <= room() ? at_ : nullptr; }
  void Advance(size_t size) { at_ += size; }

  size_t size() const { return cut_ + used(); }

  /// The segments as a list of `bytes`; nothing, and an exception, when memory ran out.
  Ref Finish() {
    if (!failed_ && (used() > 0 || size() == 0)) Cut();
    if (!failed_) return std::move(list_);
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();
    return {};
  }

  /// As `Finish`, as one `bytes`; what comes after it is the next text. The memory is kept.
  Ref Whole() {
    if (!failed_ && !list_) {
      Ref whole =
          Ref::Own(PyBytes_FromStringAndSize(buffer_.get(), static_cast<Py_ssize_t>(used())));
      at_ = buffer_.get();
      return whole;
    }
    const Ref segments = Finish();
    list_ = {};
    cut_ = 0;
    const Ref empty = segments ? Ref::Own(PyBytes_FromStringAndSize(nullptr, 0)) : Ref();
    return empty ? Ref::Own(PyObject_CallMethod(empty.get(), "join", "O", segments.get())) : Ref();
  }

  /// Whether memory ran out, or a handler of a signal raised, whose exception is set then.
  bool failed() const { return failed_; }

 private:
  size_t room() const { return static_cast<size_t>(end_ - at_); }
  size_t used() const { return static_cast<size_t>(at_ - buffer_.get()); }

  void AppendSlowly(std::string_view text) {
    while (!text.empty()) {
      if (room() == 0 && !MakeRoom(text.size())) return;
      const std::string_view part = text.substr(0, room());
      std::memcpy(at_, part.data(), part.size());
      at_ += part.size();
      text.remove_prefix(part.size());
    }
  }

  // Most values are small: the memory grows with them, up to a segment.
  bool MakeRoom(size_t wanted) {
    if (failed_) return false;
    const size_t now = used();
    if (now == kSize) return Cut() && CheckSignals();
    size_t capacity = now == 0 ? 1024 : now * 4;
    if (capacity < now + wanted) capacity = now + wanted;
    if (capacity > kSize) capacity = kSize;
    std::unique_ptr<char[]> larger(new (std::nothrow) char[capacity]);
    if (!larger) return Fail();
    if (now > 0) std::memcpy(larger.get(), buffer_.get(), now);
    buffer_ = std::move(larger);
    at_ = buffer_.get() + now;
    end_ = buffer_.get() + capacity;
    return true;
  }

  bool Cut() {
    if (failed_) return false;
    if (!list_) list_ = Ref::Own(PyList_New(0));
    const Ref segment =
        Ref::Own(PyBytes_FromStringAndSize(buffer_.get(), static_cast<Py_ssize_t>(used())));
    if (!list_ || !segment || PyList_Append(list_.get(), segment.get()) != 0) return Fail();
    cut_ += used();
    at_ = buffer_.get();
    return true;
  }

  // `execution_timeout` and SIGTERM end a task in the middle of a large value too.
  bool CheckSignals() {
    if (PyErr_CheckSignals() == 0) return true;
    failed_ = true;
    at_ = end_ = buffer_.get();
    return false;
  }

  bool Fail() {
    PyErr_Clear();
    failed_ = true;
    at_ = end_ = buffer_.get();
    return false;
  }

  std::unique_ptr<char[]> buffer_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  Ref list_;
  size_t cut_ = 0;
  bool failed_ = false;
};

}  // namespace airfreight::json
