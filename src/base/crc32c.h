#pragma once

/// \file
/// \brief CRC-32C, the Castagnoli checksum of iSCSI (https://www.rfc-editor.org/rfc/rfc3720,
/// section 12.1 and appendix B.4), of Google Cloud Storage and of S3.

#include <cstdint>

#include "airfreight/bytes.h"

namespace airfreight {

/// The checksum of what `crc` is the checksum of, followed by `bytes`. Begin with 0. Pure; by the
/// processor's own instruction where it has one.
uint32_t ExtendCrc32c(uint32_t crc, ByteView bytes);

inline uint32_t Crc32c(ByteView bytes) { return ExtendCrc32c(0, bytes); }
/// Of all segments of a body, in their order.
inline uint32_t Crc32c(const Body& body) {
  uint32_t crc = 0;
  for (const ByteView bytes : body.segments()) crc = ExtendCrc32c(crc, bytes);
  return crc;
}

/// \brief Joins checksums of neighbouring runs whose second one has a given length.
///
/// A CRC is linear: what the first run adds to the checksum of both is its own, moved over as many
/// zero bytes as the second run has, which is one multiplication by x^(8 * length) modulo the
/// polynomial. Making the factor takes up to 64 multiplications, using it takes one, so that
/// whoever joins many runs of one length keeps this.
///
/// Threads: immutable. Ownership, blocking, errors: none.
class Crc32cJoin {
 public:
  explicit Crc32cJoin(uint64_t second_length);
  uint64_t second_length() const { return second_length_; }
  /// The checksum of both runs, from that of each.
  uint32_t operator()(uint32_t first, uint32_t second) const;

 private:
  uint64_t second_length_;
  uint32_t factor_;
};

/// The checksum of A followed by B, from the checksum of each and the length of B.
inline uint32_t Crc32cCombine(uint32_t crc_a, uint32_t crc_b, uint64_t length_b) {
  return Crc32cJoin(length_b)(crc_a, crc_b);
}

namespace internal {

/// The two ways that ExtendCrc32c chooses from, for tests that compare them.
uint32_t ExtendCrc32cPortable(uint32_t crc, ByteView bytes);
/// To be called only where HasHardwareCrc32c().
uint32_t ExtendCrc32cHardware(uint32_t crc, ByteView bytes);
bool HasHardwareCrc32c();

}  // namespace internal
}  // namespace airfreight
