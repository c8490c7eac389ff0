#pragma once

/// \file
/// \brief A reader of JSON (RFC 8259: https://www.rfc-editor.org/rfc/rfc8259) that makes nothing
/// itself: values of Python, or of a test, are made by a handler while the text is read.
///
/// Why not a library: what is read here must be what Python's `json` reads (integers of any length,
/// a lone surrogate in an escape, the last of two members of a name), while objects of Python are
/// made on the way. simdjson refuses the first two; nlohmann's SAX parser copies every text.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace airfreight {

/// Finds the end of the run of characters that stand for themselves in a JSON string.
///
/// \param high Set when a byte of the run is not ASCII; left as it is otherwise.
/// \return The first quotation mark, backslash or control character at or after `at`, or `end`.
inline const char* SkipPlainCharacters(const char* at, const char* end, bool* high) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = kOnes * 0x80;
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - at >= 8; at += 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      // The lowest byte that is found is right; those above it may be taken for one by a borrow.
      const uint64_t quotes = word ^ (kOnes * '"');
      const uint64_t slashes = word ^ (kOnes * '\\');
      const uint64_t found = (((quotes - kOnes) & ~quotes) | ((slashes - kOnes) & ~slashes) |
                              ((word - kOnes * 0x20) & ~word)) &
                             kHighs;
      if (found != 0) {
        const uint64_t before = (found & (~found + 1)) - 1;
        if ((word & kHighs & before) != 0) *high = true;
        return at + std::countr_zero(found) / 8;
      }
      if ((word & kHighs) != 0) *high = true;
    }
  }
  for (; at != end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '"' || byte == '\\' || byte < 0x20) break;
    if (byte >= 0x80) *high = true;
  }
  return at;
}

/// Reads one JSON text and tells a handler what is in it, in its order.
///
/// `Handler` has these, each of which returns whether to go on:
///
///     Null()  Bool(bool)  Integer(std::string_view)  Fraction(std::string_view)
///     Key(const JsonText&)  String(const JsonText&)
///     BeginArray()  EndArray()  BeginObject()  EndObject()
///
/// Numbers are given as they are spelt, a Fraction with a `.` or an exponent. That texts are UTF-8
/// is for the handler to see: Python checks it anyway when it makes a `str`.
///
/// Threads: one reader, one thread. Ownership: text and handler must outlive it. Blocking: never;
/// no recursion, whatever the input. Errors: `error` and `offset`.
template <typename Handler>
class JsonReader;

/// A string of a JSON text.
struct JsonText {
  /// Without its escapes: the text itself, or a copy that lives until the next string is read. A
  /// surrogate that was escaped alone is there as the three bytes that UTF-8 would have for it.
  std::string_view utf8;
  /// Whether all of it is ASCII.
  bool ascii;
  /// Whether `utf8` is a copy.
  bool copied;
  /// Whether there is a lone surrogate that came from an escape. What stood in the text itself was
  /// well-formed in that regard.
  bool surrogates;
};

template <typename Handler>
class JsonReader {
 public:
  /// Levels of arrays and objects that are read. Python's `json` ends at its recursion limit, some
  /// 1,000; what Airfreight writes has at most 250 (formats/document.md).
  static constexpr size_t kMaxDepth = 1024;

  JsonReader(std::string_view text, Handler& handler)
      : start_(text.data()), at_(text.data()), end_(text.data() + text.size()), handler_(handler) {}

  /// Reads all of the text. False: it is not JSON, or the handler did not want to go on.
  bool Read();

  /// What was expected; nothing when it was the handler that ended it.
  const char* error() const { return error_; }
  /// Where the reading ended, in bytes.
  size_t offset() const { return static_cast<size_t>(at_ - start_); }

 private:
  enum class Level : char { kArray, kObject };

  bool Wrong(const char* error) {
    error_ = error;
    return false;
  }
  void SkipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  char Peek() const { return at_ == end_ ? '\0' : *at_; }
  bool Literal(std::string_view word) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
      return Wrong("expected a value");
    }
    at_ += word.size();
    return true;
  }
  bool Open(Level level) {
    if (levels_.size() == kMaxDepth) return Wrong("deeper than 1024 levels");
    levels_.push_back(level);
    ++at_;
    SkipSpace();
    return true;
  }
  bool Scalar();
  bool Number();
  void SkipDigits() {
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
  }
  bool IsDigit() const { return at_ != end_ && *at_ >= '0' && *at_ <= '9'; }
  bool Text(JsonText* text);
  bool Escape(bool* surrogates);
  bool FourHexDigits(uint32_t* unit);
  void AppendCodePoint(uint32_t code);
  bool KeyAndColon();

  const char* const start_;
  const char* at_;
  const char* const end_;
  Handler& handler_;
  const char* error_ = nullptr;
  std::vector<Level> levels_;
  std::string unescaped_;
};

template <typename Handler>
bool JsonReader<Handler>::Read() {
  SkipSpace();
  while (true) {
    // Here a value is expected.
    const char first = Peek();
    if (first == '{') {
      if (!Open(Level::kObject) || !handler_.BeginObject()) return false;
      if (Peek() != '}') {
        if (!KeyAndColon()) return false;
        continue;
      }
    } else if (first == '[') {
      if (!Open(Level::kArray) || !handler_.BeginArray()) return false;
      if (Peek() != ']') continue;
    } else if (!Scalar()) {
      return false;
    }
    // Here it is over, or the container that was opened last ends at once.
    while (true) {
      if (levels_.empty()) {
        SkipSpace();
        return at_ == end_ || Wrong("expected the end");
      }
      SkipSpace();
      const bool array = levels_.back() == Level::kArray;
      const char next = Peek();
      if (next == (array ? ']' : '}')) {
        if (!(array ? handler_.EndArray() : handler_.EndObject())) return false;
        ++at_;
        levels_.pop_back();
        continue;
      }
      if (next != ',') return Wrong(array ? "expected ',' or ']'" : "expected ',' or '}'");
      ++at_;
      SkipSpace();
      if (!array && !KeyAndColon()) return false;
      break;
    }
  }
}

template <typename Handler>
bool JsonReader<Handler>::KeyAndColon() {
  if (Peek() != '"') return Wrong("expected a name in quotation marks");
  JsonText key;
  if (!Text(&key) || !handler_.Key(key)) return false;
  SkipSpace();
  if (Peek() != ':') return Wrong("expected ':'");
  ++at_;
  SkipSpace();
  return true;
}

template <typename Handler>
bool JsonReader<Handler>::Scalar() {
  switch (Peek()) {
    case '"': {
      JsonText text;
      return Text(&text) && handler_.String(text);
    }
    case 't':
      return Literal("true") && handler_.Bool(true);
    case 'f':
      return Literal("false") && handler_.Bool(false);
    case 'n':
      return Literal("null") && handler_.Null();
    default:
      return Number();
  }
}

template <typename Handler>
bool JsonReader<Handler>::Number() {
  const char* const begin = at_;
  if (Peek() == '-') ++at_;
  if (!IsDigit()) return Wrong(at_ == begin ? "expected a value" : "expected a digit");
  if (*at_ == '0') {
    ++at_;
  } else {
    SkipDigits();
  }
  bool fraction = false;
  if (Peek() == '.') {
    fraction = true;
    ++at_;
    if (!IsDigit()) return Wrong("expected a digit");
    SkipDigits();
  }
  if (Peek() == 'e' || Peek() == 'E') {
    fraction = true;
    ++at_;
    if (Peek() == '+' || Peek() == '-') ++at_;
    if (!IsDigit()) return Wrong("expected a digit");
    SkipDigits();
  }
  const std::string_view spelt(begin, static_cast<size_t>(at_ - begin));
  return fraction ? handler_.Fraction(spelt) : handler_.Integer(spelt);
}

template <typename Handler>
bool JsonReader<Handler>::Text(JsonText* text) {
  ++at_;
  bool high = false;
  bool surrogates = false;
  const char* run = at_;
  at_ = SkipPlainCharacters(at_, end_, &high);
  if (Peek() == '"') {
    *text = {{run, static_cast<size_t>(at_ - run)}, !high, false, false};
    ++at_;
    return true;
  }
  unescaped_.clear();
  while (true) {
    unescaped_.append(run, at_);
    if (at_ == end_) return Wrong("a string without an end");
    if (*at_ == '"') break;
    if (*at_ != '\\') return Wrong("a control character in a string");
    const size_t before = unescaped_.size();
    if (!Escape(&surrogates)) return false;
    if (static_cast<unsigned char>(unescaped_[before]) >= 0x80) high = true;
    run = at_;
    at_ = SkipPlainCharacters(at_, end_, &high);
    if (surrogates) {
      // The handler has to let surrogates pass; those of the text itself are still none of UTF-8.
      for (const char* byte = run; byte != at_; ++byte) {
        if (*byte == '\xED' && at_ - byte > 1 && static_cast<unsigned char>(byte[1]) >= 0xA0) {
          at_ = byte;
          return Wrong("not UTF-8");
        }
      }
    }
  }
  ++at_;
  *text = {unescaped_, !high, true, surrogates};
  return true;
}

template <typename Handler>
bool JsonReader<Handler>::Escape(bool* surrogates) {
  const char* const escape = at_++;
  const char letter = Peek();
  const char* const known = R"(""\\//b)"
                            "\bf\fn\nr\rt\t";
  if (letter != 'u') {
    for (const char* pair = known; *pair != '\0'; pair += 2) {
      if (*pair == letter) {
        unescaped_ += pair[1];
        ++at_;
        return true;
      }
    }
    at_ = escape;
    return Wrong("an unknown escape");
  }
  ++at_;
  uint32_t code;
  if (!FourHexDigits(&code)) return false;
  if (code >= 0xD800 && code < 0xDC00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
    const char* const second = at_;
    at_ += 2;
    uint32_t low;
    if (!FourHexDigits(&low)) return false;
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else {
      at_ = second;
    }
  }
  if (code >= 0xD800 && code < 0xE000 && !*surrogates) {
    *surrogates = true;
    // What came before has to be looked at too.
    for (size_t i = 0; i + 1 < unescaped_.size(); ++i) {
      if (unescaped_[i] == '\xED' && static_cast<unsigned char>(unescaped_[i + 1]) >= 0xA0) {
        return Wrong("not UTF-8");
      }
    }
  }
  AppendCodePoint(code);
  return true;
}

template <typename Handler>
bool JsonReader<Handler>::FourHexDigits(uint32_t* unit) {
  *unit = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char digit = Peek();
    uint32_t value;
    if (digit >= '0' && digit <= '9') {
      value = static_cast<uint32_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      value = static_cast<uint32_t>(digit - 'a' + 10);
    } else if (digit >= 'A' && digit <= 'F') {
      value = static_cast<uint32_t>(digit - 'A' + 10);
    } else {
      return Wrong("expected four hexadecimal digits");
    }
    *unit = *unit * 16 + value;
  }
  return true;
}

template <typename Handler>
void JsonReader<Handler>::AppendCodePoint(uint32_t code) {
  const auto append = [this](uint32_t byte) { unescaped_ += static_cast<char>(byte); };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xC0 | (code >> 6));
    append(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    append(0xE0 | (code >> 12));
    append(0x80 | ((code >> 6) & 0x3F));
    append(0x80 | (code & 0x3F));
  } else {
    append(0xF0 | (code >> 18));
    append(0x80 | ((code >> 12) & 0x3F));
    append(0x80 | ((code >> 6) & 0x3F));
    append(0x80 | (code & 0x3F));
  }
}

}  // namespace airfreight
