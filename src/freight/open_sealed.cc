#include "freight/open_sealed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "freight/pull.h"
#include "store/checks.h"

namespace airfreight {
namespace {

FrameBinding BindingOf(const Reference& reference) {
  return {reference.coordinate.Hash(), reference.write};
}

// The frames of an object, by its envelope.
Result<FrameOpener> OpenerFor(ByteView envelope_bytes, const ObjectInfo& info,
                              const Reference& reference, DataKeys& keys) {
  auto envelope = Envelope::Parse(envelope_bytes);
  if (!envelope) {
    if (envelope.error().code != ErrorCode::kCorrupt) return Fail(std::move(envelope).error());
    return Fail(NotAsPromised(info, reference, std::move(envelope).error().message));
  }
  auto key = keys.ForObject(*envelope);
  if (!key) {
    if (key.error().code != ErrorCode::kCorrupt) return Fail(std::move(key).error());
    return Fail(NotAsPromised(info, reference, std::move(key).error().message));
  }
  return FrameOpener(*key, BindingOf(reference), ValueSize(reference));
}

}  // namespace

Status CheckSealed(const Reference& reference) {
  if (reference.sealed == 0) return {};
  if (reference.sealed > kSealedVersion) {
    return Fail(
        ErrorCode::kNewerFormat,
        fmt::format("the object is sealed in version {}, and this release knows {}; install "
                    "the release of airfreight that wrote it",
                    reference.sealed, kSealedVersion));
  }
  const auto plain = PlainSize(reference.size_bytes);
  if (plain && (!reference.tail || reference.tail->offset <= *plain)) return {};
  return Fail(ErrorCode::kInvalid,
              fmt::format("the reference tells of a sealed object of {} bytes, a length or a tail "
                          "that none has",
                          reference.size_bytes));
}

uint64_t ValueSize(const Reference& reference) {
  if (reference.sealed == 0) return reference.size_bytes;
  return PlainSize(reference.size_bytes).value_or(0);
}

Status OpenSealed(DownloadTarget& target, const ObjectInfo& info, const Reference& reference,
                  DigestKind kind, DataKeys& keys, const Context& context) {
  const uint64_t frames_end = reference.size_bytes - kEnvelopeBytes;
  AIRFREIGHT_ASSIGN_OR_RETURN(const ByteView end, target.ReadBack(frames_end, kEnvelopeBytes));
  AIRFREIGHT_ASSIGN_OR_RETURN(FrameOpener opener, OpenerFor(end, info, reference, keys));
  AIRFREIGHT_ASSIGN_OR_RETURN(Buffer frame, Buffer::Allocate(kFrameBytes));
  frame.Resize(kFrameBytes);
  Digester digester(kind);
  bool opened = true;
  for (uint64_t index = 0; index <= opener.last(); ++index) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_ASSIGN_OR_RETURN(const ByteView sealed, target.ReadBack(PartOpener::Begin(index),
                                                                       opener.SealedBytes(index)));
    // All of it, though a frame does not open: whether it was damaged or moved the digest tells.
    digester.Update(sealed);
    opened = opened && opener.Open(index, sealed, frame.data());
    if (!opened) continue;
    const ByteView plain = frame.view().first(opener.PlainBytes(index));
    AIRFREIGHT_RETURN_IF_ERROR(target.WriteAt(index * kFrameBytes, plain));
  }
  if (const std::string digest = digester.Finish(); digest != reference.digest) {
    return Fail(
        NotAsPromised(info, reference,
                      fmt::format("the digest of its {} bytes of frames is {}, and {} was written",
                                  frames_end, digest, reference.digest)));
  }
  if (!opened) {
    return Fail(
        ErrorCode::kForged,
        "the object is not what was sealed for this XCom: its frames are those that the "
        "reference tells of, and do not open as such. Somebody has put the object of another "
        "XCom or of another push in its place, or has changed reference and object together");
  }
  return target.Truncate(ValueSize(reference));
}

PartOpener::PartOpener(const Reference& reference, DataKeys& keys)
    : reference_(reference), keys_(keys) {}

bool PartOpener::ready() const {
  const std::lock_guard lock(mutex_);
  return frames_.has_value();
}

Status PartOpener::SetEnvelope(ByteView bytes, const ObjectInfo& info) {
  AIRFREIGHT_ASSIGN_OR_RETURN(FrameOpener opener, OpenerFor(bytes, info, reference_, keys_));
  const std::lock_guard lock(mutex_);
  if (!frames_) frames_.emplace(std::move(opener));
  return {};
}

Status PartOpener::Open(uint64_t index, ByteView sealed, std::byte* out, const ObjectInfo& info) {
  {
    const std::lock_guard lock(mutex_);
    if (frames_->Open(index, sealed, out)) return {};
  }
  return Fail(
      NotAsPromised(info, reference_,
                    fmt::format("frame {} of it, at byte {}, is not what was sealed for this XCom",
                                index, Begin(index))));
}

uint64_t PartOpener::PlainBytes(uint64_t index) const {
  return index < last() ? kFrameBytes : ValueSize(reference_) % kFrameBytes;
}

uint64_t PartOpener::SealedBytes(uint64_t first, uint64_t end) const {
  const uint64_t stop = end > last() ? reference_.size_bytes - kEnvelopeBytes : Begin(end);
  return stop - Begin(first);
}

}  // namespace airfreight
