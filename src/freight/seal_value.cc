#include "freight/seal_value.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "seal/envelope.h"

namespace airfreight {

Result<Buffer> SealValue(const Body& body, const FrameBinding& binding, DataKeys& keys) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const DataKeys::Made made, keys.ForNewObject());
  AIRFREIGHT_ASSIGN_OR_RETURN(Buffer sealed, Buffer::Allocate(SealedSize(body.size())));
  const auto append = [&](ByteView bytes) { return sealed.AppendGrowing(bytes); };
  FrameSealer frames(made.object_key, binding);
  for (const ByteView segment : body.segments()) {
    AIRFREIGHT_RETURN_IF_ERROR(frames.Append(segment, append));
  }
  AIRFREIGHT_RETURN_IF_ERROR(frames.Finish(append));
  AIRFREIGHT_RETURN_IF_ERROR(append(AsBytes(made.envelope.Encode())));
  return sealed;
}

Error NotOfASealedLength(uint64_t size) {
  Error error;
  error.code = ErrorCode::kCorrupt;
  error.message = fmt::format("its {} bytes are a length that no sealed object has", size);
  return error;
}

Result<Buffer> OpenValue(ByteView bytes, const FrameBinding& binding, DataKeys& keys) {
  const std::optional<uint64_t> size = PlainSize(bytes.size());
  if (!size) return Fail(NotOfASealedLength(bytes.size()));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Envelope envelope, Envelope::Parse(bytes.last(kEnvelopeBytes)));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Secret key, keys.ForObject(envelope));
  AIRFREIGHT_ASSIGN_OR_RETURN(Buffer value, Buffer::Allocate(*size));
  value.Resize(*size);
  FrameOpener frames(key, binding, *size);
  for (uint64_t index = 0; index <= frames.last(); ++index) {
    const ByteView sealed = bytes.subspan(index * kSealedFrameBytes, frames.SealedBytes(index));
    if (frames.Open(index, sealed, value.data() + index * kFrameBytes)) continue;
    return Fail(ErrorCode::kForged,
                fmt::format("frame {} of it does not open as what was sealed for this XCom: "
                            "somebody has put there what was sealed for another one, or by "
                            "another push, or it is damaged",
                            index));
  }
  return value;
}

}  // namespace airfreight
