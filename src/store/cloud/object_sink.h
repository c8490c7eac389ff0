#pragma once

/// \file
/// \brief From the answer to a GET to a ReadSink.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/transport.h"

namespace airfreight {

/// \brief Receives an object: nothing of an answer reaches the reader before its head has shown
/// that it is the answer to what was asked, and no byte beyond the range.
///
/// An answer that does not say how long it is (the services always do; some proxies take the length
/// off) is held back until its end, since a reader is told the size first.
///
/// Threads: one. Ownership: the reader, the options and the key are the caller's and outlive it.
/// Errors: Internal for another range than was asked for, Unavailable (retryable) for another
/// length, and the reader's own.
class ObjectSink final : public ResponseSink {
 public:
  /// What the head of an answer to GET says of the object; `size` is that of the whole object.
  using DecodeInfo = Result<ObjectInfo> (*)(std::string_view key, const HttpResponse& head);

  ObjectSink(std::string_view key, const GetOptions& options, ReadSink& reader, DecodeInfo decode)
      : key_(key), options_(options), reader_(reader), decode_(decode) {}

  Status Begin(const HttpResponse& head) override;
  Status Write(ByteView bytes) override;
  /// To be called when the transfer is complete.
  Result<ObjectInfo> Finish();

 private:
  Status CheckRange(const HttpResponse& head) const;
  Status Deliver(ByteView bytes);

  const std::string_view key_;
  const GetOptions& options_;
  ReadSink& reader_;
  const DecodeInfo decode_;
  ObjectInfo info_;
  uint64_t expected_ = 0;   // Bytes of the range.
  uint64_t received_ = 0;   // Bytes of it that have come.
  bool one_extra_ = false;  // A range of no bytes was asked for as one of one byte.
  std::optional<BufferSink> held_;
};

}  // namespace airfreight
