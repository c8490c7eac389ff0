#include "transfer/checksums.h"

#include <algorithm>

namespace airfreight {

Checksums::Checksums(DigestKind kind, uint64_t block_bytes)
    : kind_(kind), block_bytes_(block_bytes), sha256_(kind) {}

void Checksums::Update(ByteView bytes) {
  if (kind_ == DigestKind::kSha256) sha256_.Update(bytes);
  size_ += bytes.size();
  while (!bytes.empty()) {
    uint64_t room = bytes.size();
    if (!tail_offset_) room = std::min(room, block_bytes_ - block_.size - run_.size);
    const ByteView piece = bytes.first(room);
    run_.crc = ExtendCrc32c(run_.crc, piece);
    run_.size += piece.size();
    bytes = bytes.subspan(piece.size());
    if (!tail_offset_ && block_.size + run_.size == block_bytes_) EndRun();
  }
}

void Checksums::Join(Sum& sum) {
  if (join_.second_length() != run_.size) join_ = Crc32cJoin(run_.size);
  sum.crc = join_(sum.crc, run_.crc);
  sum.size += run_.size;
}

void Checksums::EndRun() {
  if (run_.size > 0) {
    Join(whole_);
    Join(part_);
    Join(tail_offset_ ? tail_ : block_);
    run_ = {};
  }
  if (!tail_offset_ && block_.size == block_bytes_) {
    blocks_.push_back(block_.crc);
    block_ = {};
  }
}

uint32_t Checksums::EndPart() {
  EndRun();
  const uint32_t crc = part_.crc;
  part_ = {};
  return crc;
}

const std::vector<uint32_t>& Checksums::SealBlocks() {
  if (tail_offset_) return blocks_;
  EndRun();
  if (block_.size > 0) blocks_.push_back(block_.crc);
  tail_offset_ = size_;
  return blocks_;
}

uint32_t Checksums::crc32c() {
  EndRun();
  return whole_.crc;
}

uint32_t Checksums::tail_crc32c() {
  EndRun();
  return tail_.crc;
}

std::string Checksums::FinishDigest() {
  return kind_ == DigestKind::kSha256 ? sha256_.Finish() : Crc32cText(crc32c());
}

}  // namespace airfreight
