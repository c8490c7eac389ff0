#pragma once

/// \file
/// \brief What a faultless S3 would answer: the part that a script leaves alone.

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "faults/fake_service.h"
#include "faults/fault_server.h"
#include "http/headers.h"

namespace airfreight::faults {

/// An error document as S3 writes it; `more` goes in beside code and message.
std::string ErrorXml(std::string_view code, std::string_view message = {},
                     std::string_view more = {});

/// \brief Objects in memory: PUT, GET, HEAD, DELETE with conditions and ranges, uploads in parts.
///
/// Strict where a client could slip: a body whose `x-amz-content-sha256` or `x-amz-checksum-crc32c`
/// is not its own, a part below 5 MiB that is not the last, a part whose ETag is not the one that
/// was given are refused as S3 refuses them. Uploads are called "upload-1", "upload-2", ….
///
/// Threads: may be called from several at once.
class FakeS3 final : public FakeService {
 public:
  Reply Perform(const Request& request) override;
  void Replace(const Request& request) override;
  size_t open_uploads() const override;
  size_t object_count() const override;
  bool Holds(std::string_view key, std::string_view body) const override;

 private:
  struct Object {
    std::string body;
    std::string etag;
    Headers headers;  // Content-Type and x-amz-meta-*.
  };
  struct Upload {
    std::string path;
    Headers headers;
    std::map<int, Object> parts;
  };

  Reply Put(const Request& request, const Target& target);
  Reply Read(const Request& request, const Target& target) const;
  Reply Delete(const Request& request, const Target& target);
  Reply Post(const Request& request, const Target& target);
  Reply Complete(const Request& request, const Target& target, const std::string& id);
  /// An error where the conditions of a write do not hold.
  std::optional<Reply> Refused(const Request& request, const std::string& path) const;

  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;  // By path.
  std::map<std::string, Upload> uploads_;  // By id.
  int started_ = 0;
};

}  // namespace airfreight::faults
