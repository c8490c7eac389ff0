#pragma once

/// \file
/// \brief Text that must not be printed.

#include <openssl/crypto.h>

#include <string>
#include <string_view>
#include <utility>

namespace airfreight {

/// \brief A secret key or a token. Has no stream operator, no formatter and no conversion to text,
/// so that it cannot get into a message by accident, and wipes its memory when it goes.
///
/// Threads: as a `std::string`. Ownership: copies are wiped each for itself.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept { value_.swap(other.value_); }
  Secret& operator=(Secret other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Secret() { Wipe(); }

  /// The secret itself: for signing, and for the header that carries a session token.
  std::string_view Reveal() const { return value_; }
  bool empty() const { return value_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  void Wipe() {
    OPENSSL_cleanse(value_.data(), value_.size());
    value_.clear();
  }

  std::string value_;
};

}  // namespace airfreight
