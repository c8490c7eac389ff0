#pragma once

/// \file
/// \brief A value's bytes as frames that are encrypted each by itself. Specification:
/// `formats/sealed.md`.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "base/secret.h"
#include "seal/aes_gcm.h"
#include "seal/envelope.h"

namespace airfreight {

/// What frames are bound to.
struct FrameBinding {
  std::string coordinate;  ///< The hash of `key.md`.
  std::string write;       ///< The write id.
};

/// \brief Encrypts a value while it is made.
///
/// Threads: one at a time. Ownership: holds one frame, as it came; what is appended is copied
/// before anything is computed of it, so that whoever changes it meanwhile changes nothing.
/// Blocking: as `out`. Errors: those of `out`.
class FrameSealer {
 public:
  /// Takes what is to be stored, in order; views that end with the call.
  using Out = std::function<Status(ByteView)>;

  FrameSealer(const Secret& object_key, const FrameBinding& binding);
  ~FrameSealer();
  FrameSealer(const FrameSealer&) = delete;
  FrameSealer& operator=(const FrameSealer&) = delete;

  Status Append(ByteView plain, const Out& out);
  /// Gives the last frame. Once.
  Status Finish(const Out& out);
  /// The CRC-32C of what was appended so far, by frames, the last of which may be shorter; what
  /// comes afterwards is in none. Once; later calls give the same.
  const std::vector<uint32_t>& SealBlocks();
  /// Bytes that were appended.
  uint64_t size() const { return size_; }

 private:
  Status Give(bool last, const Out& out);

  AesGcm cipher_;
  const std::string associated_;
  Buffer frame_;
  uint64_t size_ = 0;
  uint64_t filled_ = 0;  // Of the frame at hand.
  uint64_t index_ = 0;
  std::vector<uint32_t> blocks_;
  bool blocks_sealed_ = false;
};

/// \brief Opens frames, in any order.
///
/// Threads: one at a time. Ownership: none of the bytes. Blocking: never. Errors: false.
class FrameOpener {
 public:
  /// \param plain_size of the value, which says which frame is the last one.
  FrameOpener(const Secret& object_key, const FrameBinding& binding, uint64_t plain_size);

  uint64_t last() const { return plain_size_ / kFrameBytes; }
  uint64_t PlainBytes(uint64_t index) const {
    return index < last() ? kFrameBytes : plain_size_ % kFrameBytes;
  }
  uint64_t SealedBytes(uint64_t index) const { return PlainBytes(index) + kGcmTagBytes; }
  /// Writes PlainBytes(index), of SealedBytes(index); `out` may be where `sealed` is. False, and
  /// nothing of it in `out`, where they are not that frame of this object.
  [[nodiscard]] bool Open(uint64_t index, ByteView sealed, std::byte* out);

 private:
  AesGcm cipher_;
  const std::string associated_;
  const uint64_t plain_size_;
};

}  // namespace airfreight
