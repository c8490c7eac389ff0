#pragma once

/// \file
/// \brief Digests of an object's bytes and their text in a reference (`formats/reference.md`), and
/// the two primitives below them that signing needs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/bytes.h"
#include "airfreight/digest.h"
#include "airfreight/result.h"

namespace airfreight {

using Sha256Value = std::array<std::byte, 32>;

/// SHA-256 (https://doi.org/10.6028/NIST.FIPS.180-4) of `bytes`.
Sha256Value Sha256(ByteView bytes);
/// HMAC-SHA256 (https://www.rfc-editor.org/rfc/rfc2104) of `bytes` under `key`.
Sha256Value HmacSha256(ByteView key, ByteView bytes);

/// \brief Computes a digest over bytes that come in pieces.
///
/// Threads: one at a time. Ownership: move-only; keeps nothing of what it is given. Blocking:
/// never. Errors: none; throws std::bad_alloc where OpenSSL cannot get its few hundred bytes.
class Digester {
 public:
  explicit Digester(DigestKind kind);
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;
  ~Digester();

  void Update(ByteView bytes);
  void Update(const Body& body);
  /// The number so far, of that kind.
  std::optional<uint32_t> crc32c() const;
  /// "crc32c:<8 hex>" or "sha256:<64 hex>". Once, as the last call.
  std::string Finish();

 private:
  struct Sha256Context;  // Keeps OpenSSL's headers out of ours.
  DigestKind kind_;
  uint32_t crc_ = 0;
  std::unique_ptr<Sha256Context> sha256_;
};

/// The text of a CRC-32C that was computed elsewhere: "crc32c:<8 hex>".
std::string Crc32cText(uint32_t crc);

/// The digest of a whole body.
std::string DigestOf(DigestKind kind, const Body& body);

/// Bytes that are hashed between two looks at what the caller wishes: SHA-256 without hardware help
/// does 200 MB/s.
constexpr size_t kDigestPiece = size_t{16} << 20;

/// A digest, and its number where that is a CRC-32C.
struct Digested {
  std::string text;
  std::optional<uint32_t> crc32c;
};

/// The digest of a whole body, which may take seconds: `go_on` is asked before each piece, and its
/// error ends it.
Result<Digested> DigestOf(DigestKind kind, const Body& body, const std::function<Status()>& go_on);

/// The kind that a digest's text names, if the text is well-formed: known name, lower-case
/// hexadecimal of the right length. Two digests of one kind are equal when their texts are.
std::optional<DigestKind> DigestKindOf(std::string_view digest);

}  // namespace airfreight
