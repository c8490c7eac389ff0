#pragma once

/// \file
/// \brief What was got of a sealed object, opened. Specification: `formats/sealed.md`.

#include <cstdint>
#include <mutex>
#include <optional>

#include "airfreight/bytes.h"
#include "airfreight/reference.h"
#include "airfreight/result.h"
#include "airfreight/store.h"
#include "base/digest.h"
#include "seal/frames.h"
#include "seal/sealing_keys.h"
#include "transfer/download.h"

namespace airfreight {

/// Whether this release can open what the reference tells of, by its texts: NewerFormat where it is
/// sealed in a later way, Invalid where its lengths are those of no sealed object.
Status CheckSealed(const Reference& reference);

/// The length of the value: of a sealed one that of what is in its frames.
uint64_t ValueSize(const Reference& reference);

/// \brief Puts the value in the place of the sealed object that `target` holds whole.
///
/// Errors: Corrupt and Replaced as NotAsPromised where the digest is not the reference's, or the
/// envelope none; Forged where it is and a frame does not open; those of the keys and the target.
/// After one the target holds nothing of use.
Status OpenSealed(DownloadTarget& target, const ObjectInfo& info, const Reference& reference,
                  DigestKind kind, DataKeys& keys, const Context& context);

/// \brief Opens the frames of one object in parts.
///
/// Threads: any number at once, each opening waits for the others. Ownership: must not outlive the
/// keys. Blocking: SetEnvelope as the keys.
class PartOpener {
 public:
  PartOpener(const Reference& reference, DataKeys& keys);

  bool ready() const;
  /// Of the object's last kEnvelopeBytes.
  Status SetEnvelope(ByteView bytes, const ObjectInfo& info);
  /// Writes the bytes of frame `index`, which `sealed` is. Corrupt and Replaced, as NotAsPromised.
  Status Open(uint64_t index, ByteView sealed, std::byte* out, const ObjectInfo& info);

  /// Where frame `index` begins in the object.
  static uint64_t Begin(uint64_t index) { return index * kSealedFrameBytes; }
  uint64_t last() const { return ValueSize(reference_) / kFrameBytes; }
  /// How many bytes the frames [first, end) take.
  uint64_t SealedBytes(uint64_t first, uint64_t end) const;
  /// How many bytes of the value frame `index` holds.
  uint64_t PlainBytes(uint64_t index) const;

 private:
  const Reference& reference_;
  DataKeys& keys_;
  mutable std::mutex mutex_;
  std::optional<FrameOpener> frames_;
};

}  // namespace airfreight
