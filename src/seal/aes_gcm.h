#pragma once

/// \file
/// \brief AES-256-GCM (doi.org/10.6028/NIST.SP.800-38D), by OpenSSL.

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "airfreight/bytes.h"
#include "base/secret.h"

namespace airfreight {

inline constexpr size_t kAesKeyBytes = 32;
inline constexpr size_t kGcmTagBytes = 16;
using GcmNonce = std::array<std::byte, 12>;

/// \brief One key, made ready once.
///
/// Threads: one at a time. Ownership: move-only. Blocking: never. Errors: Open says false; throws
/// std::bad_alloc where OpenSSL has no memory.
class AesGcm {
 public:
  /// \param key of kAesKeyBytes.
  explicit AesGcm(const Secret& key);
  AesGcm(AesGcm&&) noexcept;
  AesGcm& operator=(AesGcm&&) noexcept;
  ~AesGcm();

  /// Writes as many bytes as `plain` has and the tag behind them. `out` may be where `plain` is.
  void Encrypt(const GcmNonce& nonce, std::string_view associated, ByteView plain, std::byte* out);
  /// Writes what `sealed`, with its tag at the end, was made of: kGcmTagBytes fewer. False, and
  /// nothing of it in `out`, where it is not what was encrypted under this key, nonce and data.
  [[nodiscard]] bool Decrypt(const GcmNonce& nonce, std::string_view associated, ByteView sealed,
                             std::byte* out);

 private:
  struct Contexts;  // Keeps OpenSSL's headers out of ours.
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace airfreight
