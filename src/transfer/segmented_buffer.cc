#include "transfer/segmented_buffer.h"

#include <algorithm>
#include <utility>

namespace airfreight {
namespace {

// Small values cost one small allocation; from some megabytes on each segment is its own mapping of
// whole huge pages (see Buffer), and 8 MiB is a multipart part that any store takes.
constexpr size_t kFirstSegment = size_t{64} << 10;
constexpr size_t kLargestSegment = size_t{8} << 20;

}  // namespace

Status SegmentedBuffer::Append(ByteView bytes) {
  while (!bytes.empty()) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const ByteView copy, AppendSome(bytes));
    bytes = bytes.subspan(copy.size());
  }
  return {};
}

Result<ByteView> SegmentedBuffer::AppendSome(ByteView bytes) {
  if (bytes.empty()) return bytes;
  if (segments_.empty() || segments_.back().size() == segments_.back().capacity()) {
    // Doubling until the largest, and never smaller than what is there to be written.
    const size_t wanted = std::max<uint64_t>({kFirstSegment, size_, bytes.size()});
    AIRFREIGHT_ASSIGN_OR_RETURN(Buffer segment,
                                Buffer::Allocate(std::min(wanted, kLargestSegment)));
    segments_.push_back(std::move(segment));
  }
  Buffer& last = segments_.back();
  const ByteView now = bytes.first(std::min(bytes.size(), last.capacity() - last.size()));
  last.Append(now);
  size_ += now.size();
  return last.view().last(now.size());
}

Body SegmentedBuffer::body() const {
  Body body;
  for (const Buffer& segment : segments_) body.Append(segment.view());
  return body;
}

}  // namespace airfreight
