#pragma once

/// \file
/// \brief What a faultless Google Cloud Storage would answer: the part that a script leaves alone.

#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "faults/fake_service.h"

namespace airfreight::faults {

/// An error document of the JSON API; `code` is its reason.
std::string ErrorJson(std::string_view code, std::string_view message, std::string_view more);

/// \brief Objects in memory, by the JSON API: uploads in one request, metadata, removal and
/// Compose, with preconditions by generation; and their bytes by the XML API. Generations are 1, 2,
/// 3, ….
///
/// Strict where a client could slip: a body whose `crc32c` is not its own, a multipart body that is
/// none, more than 32 components, a component of another generation are refused as Google refuses
/// them.
///
/// Threads: may be called from several at once.
class FakeGcs final : public FakeService {
 public:
  Reply Perform(const Request& request) override;
  void Replace(const Request& request) override;
  /// Uploads that have left parts.
  size_t open_uploads() const override;
  size_t object_count() const override;
  bool Holds(std::string_view key, std::string_view body) const override;

 private:
  struct Object {
    std::string body;
    uint64_t generation = 0;
    nlohmann::json metadata = nlohmann::json::object();
  };

  Reply Upload(const Request& request, const Target& target);
  Reply Compose(const Request& request, const Target& target, const std::string& key);
  Reply Read(const Request& request, const std::string& key) const;
  std::optional<Reply> Refused(const Target& target, const std::string& key) const;
  static nlohmann::json Describe(const std::string& key, const Object& object);

  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;  // By key.
  uint64_t generation_ = 0;
};

}  // namespace airfreight::faults
