#pragma once

/// \file
/// \brief The bytes of a read, compared with the checksum that came before them.

#include <cstdint>
#include <optional>

#include "airfreight/result.h"
#include "http/transport.h"
#include "store/cloud/object_sink.h"

namespace airfreight::gcs {

/// \brief An ObjectSink whose last bytes reach the reader only when all of them have the CRC-32C
/// that the head names. Google names that of the whole object, so that a range goes unchecked here;
/// its reader has a digest of its own.
///
/// Threads: one. Errors: as ObjectSink; Corrupt (not retryable: what was passed on is damaged) when
/// the checksum differs; ConditionFailed when another generation came than was asked for, which
/// emulators send.
class CheckedSink final : public ResponseSink {
 public:
  CheckedSink(ObjectSink& object, const std::string& if_version)
      : object_(object), if_version_(if_version) {}

  Status Begin(const HttpResponse& head) override;
  Status Write(ByteView bytes) override;
  Result<ObjectInfo> Finish();

 private:
  Status Check() const;

  ObjectSink& object_;
  const std::string& if_version_;
  std::optional<uint32_t> promised_;
  std::optional<uint64_t> length_;
  uint64_t received_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace airfreight::gcs
