#pragma once

/// \file
/// \brief What a sealed object looks like from outside: its lengths, and its envelope.
/// Specification: `formats/sealed.md`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "airfreight/bytes.h"
#include "airfreight/result.h"

namespace airfreight {

inline constexpr int64_t kSealedVersion = 1;
inline constexpr uint64_t kEnvelopeBytes = 1024;
inline constexpr uint64_t kFrameBytes = uint64_t{64} << 10;
inline constexpr uint64_t kSealedFrameBytes = kFrameBytes + 16;  ///< With its tag.
inline constexpr size_t kMaxWrappedBytes = 900;

/// The length of an object that holds so much.
constexpr uint64_t SealedSize(uint64_t plain) {
  return plain + (kSealedFrameBytes - kFrameBytes) * (plain / kFrameBytes + 1) + kEnvelopeBytes;
}
/// What an object of a length holds; nothing where no value gives that length.
std::optional<uint64_t> PlainSize(uint64_t sealed);

struct Envelope {
  std::array<std::byte, 32> salt{};
  std::string key_id;
  std::string wrapped;

  /// Its kEnvelopeBytes. Key id and wrapped key must be of the lengths that the format allows.
  std::string Encode() const;
  /// Of an object's last kEnvelopeBytes. Corrupt where it is none; NewerFormat where its version is
  /// above ours.
  static Result<Envelope> Parse(ByteView bytes);
};

}  // namespace airfreight
