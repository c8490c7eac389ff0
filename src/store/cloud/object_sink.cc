#include "store/cloud/object_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/checks.h"

namespace airfreight {
namespace {

tl::unexpected<Error> OtherLength(uint64_t sent, uint64_t asked) {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format("the store sent {} bytes where {} were asked for", sent, asked);
  error.retryable = true;
  return Fail(std::move(error));
}

}  // namespace

Status ObjectSink::CheckRange(const HttpResponse& head) const {
  const bool asked_for_range = options_.offset > 0 || options_.length;
  if (asked_for_range != (head.status == 206)) {
    return Fail(ErrorCode::kInternal,
                fmt::format("the store answered a request {} range with status {}",
                            asked_for_range ? "for a" : "without a", head.status));
  }
  const std::string begin = fmt::format("bytes {}-", options_.offset);
  if (asked_for_range && !head.headers.Get("content-range").starts_with(begin)) {
    return Fail(ErrorCode::kInternal, "the store answered with another range than was asked for");
  }
  return {};
}

Status ObjectSink::Begin(const HttpResponse& head) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckRange(head));
  AIRFREIGHT_ASSIGN_OR_RETURN(info_, decode_(key_, head));
  if (head.status != 206 && !head.content_length) {
    held_.emplace(UINT64_MAX, options_.expected_size.value_or(0));
    return held_->Begin(head);
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const Range range, ClipRange(options_, info_.size));
  expected_ = range.length;
  one_extra_ = options_.length == uint64_t{0};
  if (head.content_length && !one_extra_ && *head.content_length != expected_) {
    return OtherLength(*head.content_length, expected_);
  }
  return reader_.Begin(info_);
}

Status ObjectSink::Write(ByteView bytes) {
  if (held_) return held_->Write(bytes);
  return Deliver(bytes);
}

Status ObjectSink::Deliver(ByteView bytes) {
  if (one_extra_ || bytes.empty()) return {};
  if (bytes.size() > expected_ - received_) return OtherLength(received_ + bytes.size(), expected_);
  received_ += bytes.size();
  return reader_.Write(bytes);
}

Result<ObjectInfo> ObjectSink::Finish() {
  if (held_) {
    info_.size = expected_ = held_->view().size();
    AIRFREIGHT_RETURN_IF_ERROR(reader_.Begin(info_));
    AIRFREIGHT_RETURN_IF_ERROR(Deliver(held_->view()));
  }
  // What the transport cannot know: that a range without a length is as long as it had to be.
  if (received_ != expected_) return OtherLength(received_, expected_);
  return std::move(info_);
}

}  // namespace airfreight
