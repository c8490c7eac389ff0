#include "decoder.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/json_reader.h"

namespace airfreight::json {
namespace {

// Short texts that came before: records repeat their names, and categories their values.
//
// One entry for each place: a later text takes the place of an earlier one. A text is known by its
// bytes in the input, which stays where it is.
class Texts {
 public:
  // Longer ones repeat seldom, and cost more to compare.
  static constexpr size_t kLongest = 32;

  Texts() : entries_(kEntries) {}

  // A new reference to the `str` of ASCII bytes that lie in the input.
  Ref Get(std::string_view ascii) {
    Entry& entry = entries_[Hash(ascii) % kEntries];
    if (entry.bytes == ascii && entry.text) return Ref::Borrow(entry.text.get());
    Ref text =
        Ref::Own(PyUnicode_FromStringAndSize(ascii.data(), static_cast<Py_ssize_t>(ascii.size())));
    if (text) {
      entry.bytes = ascii;
      entry.text = Ref::Borrow(text.get());
    }
    return text;
  }

 private:
  static constexpr size_t kEntries = 1024;

  struct Entry {
    std::string_view bytes;
    Ref text;
  };

  // Length, first and last bytes, mixed by a multiplication (the constant is 2^64 over the golden
  // ratio: Knuth, The Art of Computer Programming, 6.4).
  static size_t Hash(std::string_view text) {
    uint64_t head = 0;
    uint64_t tail = 0;
    if (text.size() >= 8) {
      std::memcpy(&head, text.data(), 8);
      std::memcpy(&tail, text.data() + text.size() - 8, 8);
    } else {
      for (const char c : text) head = head << 8 | static_cast<unsigned char>(c);
    }
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
    uint64_t hash = (head ^ (tail * 31) ^ text.size()) * kGolden;
    hash ^= hash >> 32;
    return static_cast<size_t>((hash * kGolden) >> 40);
  }

  std::vector<Entry> entries_;
};

// Keeps the garbage collector from looking at all that was made again and again: nothing of it is
// garbage. It is the whole process's, and so at rest only while the GIL is held.
class CollectorAtRest {
 public:
  CollectorAtRest() { Rest(); }
  CollectorAtRest(const CollectorAtRest&) = delete;
  CollectorAtRest& operator=(const CollectorAtRest&) = delete;
  ~CollectorAtRest() { Wake(); }

  void Rest() { was_on_ = PyGC_Disable() != 0; }
  void Wake() {
    if (was_on_) PyGC_Enable();
  }

 private:
  bool was_on_ = false;
};

// Makes the objects. All of its functions return false when an exception was raised.
class Maker {
 public:
  Maker(TagReader* tags, CollectorAtRest& collector) : tags_(tags), collector_(collector) {}
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  ~Maker() {
    for (PyObject* object : objects_) Py_DECREF(object);
  }

  bool Null() { return Push(Ref::Borrow(Py_None)); }
  bool Bool(bool value) { return Push(Ref::Borrow(value ? Py_True : Py_False)); }
  bool Integer(std::string_view spelt);
  bool Fraction(std::string_view spelt);
  bool Key(const JsonText& text) { return String(text); }
  bool String(const JsonText& text);
  bool BeginArray() { return Begin(); }
  bool BeginObject() { return Begin(); }
  bool EndArray();
  bool EndObject();

  // Whether the last exception is that a text is not UTF-8.
  bool met_bad_text() const { return bad_text_; }

  // The value, after all was read.
  PyObject* Take() {
    PyObject* value = objects_.back();
    objects_.pop_back();
    return value;
  }

 private:
  bool Push(Ref object) {
    if (!object) return false;
    objects_.push_back(object.get());
    (void)object.release();
    return true;
  }
  bool Begin() {
    starts_.push_back(objects_.size());
    return true;
  }
  // Replaces what the innermost container holds.
  bool Close(size_t start, Ref container) {
    if (!container) return false;
    for (size_t i = start; i < objects_.size(); ++i) Py_DECREF(objects_[i]);
    objects_.resize(start);
    return Push(std::move(container));
  }
  Ref MakeTag(PyObject* name, PyObject* content);

  TagReader* const tags_;
  CollectorAtRest& collector_;
  bool bad_text_ = false;
  Texts texts_;
  // What was made and has no container yet; of an object its names and values by turns.
  std::vector<PyObject*> objects_;
  std::vector<size_t> starts_;
};

bool Maker::Integer(std::string_view spelt) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(spelt.data(), spelt.data() + spelt.size(), number);
  if (error == std::errc()) return Push(Ref::Own(PyLong_FromLongLong(number)));
  // Of any length, up to the limit that Python itself has (sys.set_int_max_str_digits).
  return Push(Ref::Own(PyLong_FromString(std::string(spelt).c_str(), nullptr, 10)));
}

bool Maker::Fraction(std::string_view spelt) {
  double number = 0;
#if defined(__cpp_lib_to_chars)
  const auto [end, error] = std::from_chars(spelt.data(), spelt.data() + spelt.size(), number);
  const bool made = error == std::errc();
#else
  const bool made = false;
#endif
  if (!made) {
    // Too large or too small: as Python has it, infinity or zero.
    number = PyOS_string_to_double(std::string(spelt).c_str(), nullptr, nullptr);
    if (number == -1.0 && PyErr_Occurred() != nullptr) return false;
  }
  return Push(Ref::Own(PyFloat_FromDouble(number)));
}

bool Maker::String(const JsonText& text) {
  if (text.ascii && !text.copied && text.utf8.size() <= Texts::kLongest) {
    return Push(texts_.Get(text.utf8));
  }
  Ref made =
      Ref::Own(PyUnicode_DecodeUTF8(text.utf8.data(), static_cast<Py_ssize_t>(text.utf8.size()),
                                    text.surrogates ? "surrogatepass" : nullptr));
  bad_text_ = !made && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError) != 0;
  return Push(std::move(made));
}

bool Maker::EndArray() {
  const size_t start = starts_.back();
  starts_.pop_back();
  const size_t count = objects_.size() - start;
  Ref list = Ref::Own(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!list) return false;
  for (size_t i = 0; i < count; ++i) {
    // Takes over the reference.
    PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), objects_[start + i]);
  }
  objects_.resize(start);
  return Push(std::move(list));
}

Ref Maker::MakeTag(PyObject* name, PyObject* content) {
  Ref made = tags_->Make(name, content);
  if (made || PyErr_Occurred() != nullptr) return made;
  collector_.Wake();  // Code of Python: it may let other threads go on.
  made = tags_->Ask(name, content);
  collector_.Rest();
  return made;
}

bool Maker::EndObject() {
  const size_t start = starts_.back();
  starts_.pop_back();
  const size_t count = objects_.size() - start;
  if (tags_ != nullptr && count == 2 && IsTag(objects_[start])) {
    return Close(start, MakeTag(objects_[start], objects_[start + 1]));
  }
  Ref dict = Ref::Own(PyDict_New());
  if (!dict) return false;
  for (size_t i = start; i < objects_.size(); i += 2) {
    if (PyDict_SetItem(dict.get(), objects_[i], objects_[i + 1]) != 0) return false;
  }
  // (A name that came twice is one member, its last.)
  if (tags_ != nullptr && count > 2 && PyDict_Size(dict.get()) == 1 && IsTag(objects_[start])) {
    dict = MakeTag(objects_[start], objects_.back());
  }
  return Close(start, std::move(dict));
}

}  // namespace

PyObject* Decode(std::string_view text, TagReader* tags) {
  CollectorAtRest collector;
  Maker maker(tags, collector);
  JsonReader<Maker> reader(text, maker);
  if (reader.Read()) return maker.Take();
  if (reader.error() != nullptr) {
    return PyErr_Format(PyExc_ValueError, "not JSON: %s at byte %zu", reader.error(),
                        reader.offset());
  }
  if (maker.met_bad_text()) {
    // Its own position is one within the string.
    PyErr_Format(PyExc_ValueError, "not JSON: the string that ends at byte %zu is not UTF-8",
                 reader.offset());
  }
  return nullptr;
}

}  // namespace airfreight::json
