#pragma once

/// \file
/// \brief Where a codec's output gathers: appended to, never moved.

#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/result.h"

namespace airfreight {

/// \brief A growing run of bytes in segments, so that growing copies nothing and the peak is the
/// encoded size plus at most one segment.
///
/// Threads: one at a time. Ownership: owns its memory; a Body made of it is valid until the next
/// Append or the end of its life. Blocking: never. Errors: TooLarge when the system has no memory.
class SegmentedBuffer {
 public:
  SegmentedBuffer() = default;
  SegmentedBuffer(SegmentedBuffer&&) noexcept = default;
  SegmentedBuffer& operator=(SegmentedBuffer&&) noexcept = default;
  SegmentedBuffer(const SegmentedBuffer&) = delete;
  SegmentedBuffer& operator=(const SegmentedBuffer&) = delete;

  Status Append(ByteView bytes);
  /// Appends a beginning of `bytes`, not empty where they are not, and returns the copy.
  Result<ByteView> AppendSome(ByteView bytes);
  uint64_t size() const { return size_; }
  Body body() const;

 private:
  std::vector<Buffer> segments_;
  uint64_t size_ = 0;
};

}  // namespace airfreight
