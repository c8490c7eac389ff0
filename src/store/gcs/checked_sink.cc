#include "store/gcs/checked_sink.h"

#include "base/crc32c.h"
#include "store/gcs/decoder.h"

namespace airfreight::gcs {

Status CheckedSink::Begin(const HttpResponse& head) {
  if (!if_version_.empty() && head.headers.Get("x-goog-generation") != if_version_) {
    return Fail(ErrorCode::kConditionFailed, "the object was replaced");
  }
  if (head.status == 200) {
    promised_ = DecodeChecksum(head.headers);
    length_ = head.content_length;
  }
  return object_.Begin(head);
}

Status CheckedSink::Write(ByteView bytes) {
  if (promised_) {
    crc_ = ExtendCrc32c(crc_, bytes);
    received_ += bytes.size();
    if (received_ == length_) AIRFREIGHT_RETURN_IF_ERROR(Check());
  }
  return object_.Write(bytes);
}

Result<ObjectInfo> CheckedSink::Finish() {
  // Without a length nothing has reached the reader yet.
  if (promised_ && !length_) AIRFREIGHT_RETURN_IF_ERROR(Check());
  return object_.Finish();
}

Status CheckedSink::Check() const {
  if (crc_ == *promised_) return {};
  return Fail(ErrorCode::kCorrupt,
              "the bytes that arrived do not have the checksum that the store names "
              "(x-goog-hash): they were damaged on their way");
}

}  // namespace airfreight::gcs
