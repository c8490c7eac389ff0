#pragma once

/// \file
/// \brief CRC-64/NVME, the checksum of NVM Express (NVM Command Set Specification 1.1, 5.2.1.3.4)
/// and of Azure's `x-ms-content-crc64`
/// (learn.microsoft.com/rest/api/storageservices/put-blob#request-headers-all-blob-types).

#include <cstdint>

#include "airfreight/bytes.h"

namespace airfreight {

/// The checksum of what `crc` is the checksum of, followed by `bytes`. Begin with 0. Pure; by the
/// processor's carry-less multiplication where it has one.
uint64_t ExtendCrc64(uint64_t crc, ByteView bytes);

namespace internal {

/// The two ways that ExtendCrc64 chooses from, for tests that compare them.
uint64_t ExtendCrc64Portable(uint64_t crc, ByteView bytes);
/// To be called only where HasHardwareCrc64().
uint64_t ExtendCrc64Hardware(uint64_t crc, ByteView bytes);
bool HasHardwareCrc64();

}  // namespace internal
}  // namespace airfreight
