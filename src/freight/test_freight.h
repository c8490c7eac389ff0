#pragma once

/// \file
/// \brief For tests: Freight on a store in memory, whose requests are counted and fail as told.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "base/random.h"
#include "conformance/decorators.h"

namespace airfreight {

inline constexpr int64_t kNoon = 1'767'268'800'000'000;  // 2026-01-01T12:00:00Z in microseconds.
inline constexpr int64_t kMinute = 60'000'000;

/// Bytes that no cut of them resembles.
inline std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 131 + i / 251) & 0xff);
  return text;
}

/// A reply that got lost.
inline tl::unexpected<Error> Lost() {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = "the connection was reset";
  error.retryable = true;
  return Fail(std::move(error));
}

/// \brief The store of one test. Nothing is tried again.
class FreightFixture : public ::testing::Test {
 protected:
  static std::shared_ptr<ObjectStore> OpenOnce(const std::string& uri) {
    return OpenStore(uri, {{"retry_timeout", "0"}}).value();
  }
  std::string KeyOf(const Reference& reference) const {
    return reference.uri.substr(root_.size() + 1);
  }
  /// What lies there, or the error of a look.
  std::string Stored(const Reference& reference) const {
    const auto got = memory_->Get(KeyOf(reference), {}, {});
    return got ? std::string(AsText(got->body.view())) : got.error().ToString();
  }

  inline static const Coordinate coordinate_ = {"sales",        "manual__2026-01-01T00:00:00+00:00",
                                                "extract",      Instance::Map(-1),
                                                "return_value", {}};
  const std::string root_ = "memory://" + RandomHex128().value() + "/xcom";
  std::shared_ptr<ObjectStore> memory_ = OpenOnce(root_);
  std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(memory_);
  std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(faulty_);
};

/// \brief The same for a store that takes values in small parts.
class PartsFixture : public FreightFixture {
 protected:
  static constexpr uint64_t kPart = 1000;

  PartsFixture() {
    info_.type = "bytes";
    info_.extension = "bin";
    faulty_->declared.parts = true;
    faulty_->declared.parallel = true;
    transfer_.part_bytes = kPart;
    transfer_.memory_bytes = 10 * kPart;
    transfer_.connections = 3;
  }

  std::unique_ptr<Freight> Process(Decision decision = {}) const {
    return std::make_unique<Freight>(std::vector<NamedStore>{{"default", counting_}},
                                     std::move(decision), "prod", transfer_);
  }
  size_t ObjectCount() const { return memory_->List("", "", 1000, {})->objects.size(); }
  /// How often each request was made since the last call.
  std::map<std::string, int> Requests() {
    std::map<std::string, int> counts;
    for (const std::string& request : counting_->Take()) ++counts[request];
    return counts;
  }

  ValueInfo info_;
  TransferOptions transfer_;
};

}  // namespace airfreight
