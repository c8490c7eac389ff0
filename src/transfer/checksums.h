#pragma once

/// \file
/// \brief All checksums of a value that is sent while it is being made, in one pass over its bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/bytes.h"
#include "base/crc32c.h"
#include "base/digest.h"

namespace airfreight {

/// \brief The digest of the whole, and CRC-32C of each part, of each block and of the tail.
///
/// The bytes are looked at once, while they are hot; sums of longer runs are joined from those of
/// shorter ones.
///
/// Threads: one at a time. Ownership: keeps four bytes for each block. Blocking: never. Errors:
/// none.
class Checksums {
 public:
  Checksums(DigestKind kind, uint64_t block_bytes);

  void Update(ByteView bytes);
  /// The sum of what came since the last EndPart.
  uint32_t EndPart();
  /// The sums of all blocks so far; the last may be shorter. What comes afterwards is the tail, and
  /// belongs to no block. Once; later calls give the same.
  const std::vector<uint32_t>& SealBlocks();

  uint64_t size() const { return size_; }
  uint32_t crc32c();
  std::optional<uint64_t> tail_offset() const { return tail_offset_; }
  uint32_t tail_crc32c();
  /// The text of the whole's digest. Once, as the last call.
  std::string FinishDigest();

 private:
  // A sum that grows by runs.
  struct Sum {
    uint32_t crc = 0;
    uint64_t size = 0;
  };
  void Join(Sum& sum);
  void EndRun();

  const DigestKind kind_;
  const uint64_t block_bytes_;
  Digester sha256_;
  uint64_t size_ = 0;
  Sum run_;  // Since the last end of a block or a part: not yet in the sums below.
  Sum whole_;
  Sum part_;
  Sum block_;
  Sum tail_;
  Crc32cJoin join_{0};  // Of the last length, as most runs have the same one.
  std::vector<uint32_t> blocks_;
  std::optional<uint64_t> tail_offset_;
};

}  // namespace airfreight
