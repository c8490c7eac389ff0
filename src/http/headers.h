#pragma once

/// \file
/// \brief HTTP header fields, and the parser of the lines in which a server sends them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace airfreight {

/// Equality of ASCII text without regard to case; bytes above 127 compare as they are.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

/// \brief Header fields in the order in which they were set; names compare without regard to case
/// (www.rfc-editor.org/rfc/rfc9110#section-5.1).
///
/// Plain data. Threads: as a `std::vector`.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  Headers() = default;
  Headers(std::initializer_list<Field> fields);

  /// Sets `name`, in place of what it had.
  void Set(std::string_view name, std::string_view value);
  /// As a recipient does with a field that comes again: the values become one list
  /// (www.rfc-editor.org/rfc/rfc9110#section-5.3).
  void Combine(std::string_view name, std::string_view value);
  /// The value of `name`; absent when there is none.
  std::optional<std::string_view> Find(std::string_view name) const;
  /// The value of `name`, or "" when there is none.
  std::string_view Get(std::string_view name) const { return Find(name).value_or(""); }

  bool empty() const { return fields_.empty(); }
  size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  void clear() { fields_.clear(); }

 private:
  std::vector<Field> fields_;
};

/// \brief What a server's head says, built line by line as the lines arrive. Interim answers
/// (status 100–199) and trailers leave nothing behind.
///
/// Threads: one at a time. Errors: a line that is no field is skipped, as browsers and libcurl do;
/// too many bytes end the transfer.
class HeadParser {
 public:
  /// More than any honest store sends: S3 keeps 2 KB of metadata, servers of the common kinds send
  /// at most 8 to 16 KiB in all.
  static constexpr size_t kMaxBytes = size_t{64} << 10;

  enum class Progress {
    kMore,      ///< The head goes on.
    kComplete,  ///< The head of the final answer has ended; the body follows.
    kTooLarge,  ///< Above kMaxBytes.
  };

  /// Takes one line as it came, with or without its line end.
  Progress Feed(std::string_view line);

  int status() const { return status_; }
  Headers& headers() { return headers_; }
  const Headers& headers() const { return headers_; }
  /// Of the final answer; absent when there is none or it is no number.
  std::optional<uint64_t> content_length() const;

 private:
  int status_ = 0;
  bool complete_ = false;
  size_t bytes_ = 0;
  Headers headers_;
};

/// A decimal number and nothing else: no sign, no blank, no overflow.
std::optional<uint64_t> ParseDecimal(std::string_view text);

}  // namespace airfreight
