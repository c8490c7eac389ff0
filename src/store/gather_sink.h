#pragma once

/// \file
/// \brief A ReadSink that makes one buffer of what is read: Get on top of Read.

#include <utility>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/checks.h"

namespace airfreight {

/// \brief Gathers a read in one allocation of its length. Threads: one. Ownership: the buffer is
/// the caller's to take; `options` is the caller's and outlives it. Errors: those of the memory and
/// of a range that does not fit.
class GatherSink final : public ReadSink {
 public:
  explicit GatherSink(const GetOptions& options) : options_(options) {}

  Status Begin(const ObjectInfo& info) override {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Range range, ClipRange(options_, info.size));
    AIRFREIGHT_ASSIGN_OR_RETURN(buffer_, Buffer::Allocate(range.length));
    return {};
  }
  Status Write(ByteView bytes) override {
    if (buffer_.Append(bytes)) return {};
    return Fail(ErrorCode::kInternal, "the store delivered more bytes than it had promised");
  }

  Buffer Take() { return std::move(buffer_); }

 private:
  const GetOptions& options_;
  Buffer buffer_;
};

}  // namespace airfreight
