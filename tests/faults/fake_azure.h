#pragma once

/// \file
/// \brief What a faultless Azure Blob service would answer: the part that a script leaves alone.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "faults/fake_service.h"

namespace airfreight::faults {

/// An error document as Azure writes it; `more` goes in beside code and message.
std::string AzureErrorXml(std::string_view code, std::string_view message = {},
                          std::string_view more = {});

/// \brief Blobs in memory, in the account "account" and the container "bucket": Put Blob, Get,
/// Head, Delete and List with conditions and ranges, blocks and their lists; and Microsoft Entra,
/// which gives the tenant "tenant" "token-for-<assertion>" for a client's assertion.
///
/// Strict where a client could slip: a body whose `x-ms-content-crc64` is not its own, a block
/// whose id has another length than those beside it, a list of blocks that are not there are
/// refused as Azure refuses them, and any write of a blob takes the blocks that wait at its name
/// with it.
///
/// Threads: may be called from several at once.
class FakeAzure final : public FakeService {
 public:
  Reply Perform(const Request& request) override;
  void Replace(const Request& request) override;
  /// Names at which blocks wait.
  size_t open_uploads() const override;
  size_t object_count() const override;
  bool Holds(std::string_view key, std::string_view body) const override;

 private:
  using Blocks = std::map<std::string, std::string>;
  struct Blob {
    std::string body;
    std::string etag;
    Headers headers;  // Content-Type and x-ms-meta-*.
    Blocks blocks;    // That it was made of.
  };

  Reply Put(const Request& request, const Target& target);
  Reply PutBlock(const Request& request, const Target& target);
  Reply PutBlockList(const Request& request, const Target& target);
  Reply Read(const Request& request, const Target& target) const;
  Reply List(const Target& target) const;
  Reply Delete(const Request& request, const Target& target);
  Reply Commit(const Request& request, const std::string& path, Blob blob);
  std::string NewTag();
  /// An error where the conditions of a request do not hold.
  std::optional<Reply> Refused(const Request& request, const std::string& path) const;

  mutable std::mutex mutex_;
  std::map<std::string, Blob> blobs_;      // By path.
  std::map<std::string, Blocks> waiting_;  // By path.
  int tags_ = 0;
};

}  // namespace airfreight::faults
