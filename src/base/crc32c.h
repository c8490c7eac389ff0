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

namespace internal {

/// The two ways that ExtendCrc32c chooses from, for tests that compare them.
uint32_t ExtendCrc32cPortable(uint32_t crc, ByteView bytes);
/// To be called only where HasHardwareCrc32c().
uint32_t ExtendCrc32cHardware(uint32_t crc, ByteView bytes);
bool HasHardwareCrc32c();

}  // namespace internal
}  // namespace airfreight
