#include "seal/frames.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace airfreight {
namespace {

std::string Associated(const FrameBinding& binding) {
  return "airfreight sealed frame 1\n" + binding.coordinate + binding.write;
}

GcmNonce NonceOf(uint64_t index, bool last) {
  GcmNonce nonce{};
  nonce[3] = static_cast<std::byte>(last ? 1 : 0);
  for (size_t i = 0; i < 8; ++i) nonce[4 + i] = static_cast<std::byte>(index >> (56U - 8 * i));
  return nonce;
}

}  // namespace

FrameSealer::FrameSealer(const Secret& object_key, const FrameBinding& binding)
    : cipher_(object_key), associated_(Associated(binding)) {}

FrameSealer::~FrameSealer() {
  if (frame_.data() != nullptr) OPENSSL_cleanse(frame_.data(), frame_.capacity());
}

Status FrameSealer::Append(ByteView plain, const Out& out) {
  if (frame_.data() == nullptr) {
    AIRFREIGHT_ASSIGN_OR_RETURN(frame_, Buffer::Allocate(kSealedFrameBytes));
    frame_.Resize(kSealedFrameBytes);
  }
  while (!plain.empty()) {
    const ByteView piece = plain.first(std::min<uint64_t>(plain.size(), kFrameBytes - filled_));
    std::memcpy(frame_.data() + filled_, piece.data(), piece.size());
    filled_ += piece.size();
    size_ += piece.size();
    plain = plain.subspan(piece.size());
    if (filled_ == kFrameBytes) AIRFREIGHT_RETURN_IF_ERROR(Give(false, out));
  }
  return {};
}

Status FrameSealer::Finish(const Out& out) {
  AIRFREIGHT_RETURN_IF_ERROR(Append({}, out));
  return Give(true, out);
}

Status FrameSealer::Give(bool last, const Out& out) {
  const ByteView plain = frame_.view().first(filled_);
  if (!blocks_sealed_ && !last) blocks_.push_back(Crc32c(plain));
  cipher_.Encrypt(NonceOf(index_, last), associated_, plain, frame_.data());
  const uint64_t size = filled_ + kGcmTagBytes;
  ++index_;
  filled_ = 0;
  return out(frame_.view().first(size));
}

const std::vector<uint32_t>& FrameSealer::SealBlocks() {
  if (!blocks_sealed_ && filled_ > 0) blocks_.push_back(Crc32c(frame_.view().first(filled_)));
  blocks_sealed_ = true;
  return blocks_;
}

FrameOpener::FrameOpener(const Secret& object_key, const FrameBinding& binding, uint64_t plain_size)
    : cipher_(object_key), associated_(Associated(binding)), plain_size_(plain_size) {}

bool FrameOpener::Open(uint64_t index, ByteView sealed, std::byte* out) {
  if (index > last() || sealed.size() != SealedBytes(index)) return false;
  return cipher_.Decrypt(NonceOf(index, index == last()), associated_, sealed, out);
}

}  // namespace airfreight
