#include "http/transport.h"

#include <fmt/format.h>

#include <algorithm>

namespace airfreight {
namespace {

// First memory for a body of unknown length: what one call of the transport delivers at most.
constexpr size_t kFirstChunk = size_t{512} << 10;

}  // namespace

Status BufferSink::Begin(const HttpResponse& head) {
  const uint64_t length = head.content_length.value_or(std::min(expected_, limit_));
  if (length > limit_) {
    return Fail(ErrorCode::kTooLarge,
                fmt::format("the answer has {} bytes, the limit is {}", length, limit_));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(buffer_, Buffer::Allocate(length));
  return {};
}

Status BufferSink::Write(ByteView bytes) {
  if (bytes.size() > limit_ - buffer_.size()) {
    return Fail(ErrorCode::kTooLarge, fmt::format("the answer has more than {} bytes", limit_));
  }
  if (buffer_.capacity() == 0) {
    AIRFREIGHT_ASSIGN_OR_RETURN(buffer_, Buffer::Allocate(std::max(kFirstChunk, bytes.size())));
  }
  return buffer_.AppendGrowing(bytes);
}

}  // namespace airfreight
