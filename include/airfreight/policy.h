#pragma once

/// \file
/// \brief What goes where, and how. Today one set of global settings; rules per DAG, task and type
/// will be read through the same resolve().

#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/coordinate.h"
#include "airfreight/digest.h"
#include "airfreight/result.h"

namespace airfreight {

/// What is decided for one value.
struct Decision {
  std::string store = "default";  ///< Name of the store to write to.
  DigestKind digest = DigestKind::kCrc32c;
  uint64_t max_bytes = 0;  ///< Largest object that may be pushed; 0: only the store's limit.
};

/// Threads: immutable, may be shared.
class Policy {
 public:
  Policy() = default;
  explicit Policy(Decision defaults) : defaults_(std::move(defaults)) {}

  /// \param size bytes of the encoded value.
  Decision Resolve(const Coordinate& coordinate, std::string_view type, uint64_t size) const;

 private:
  Decision defaults_;
};

}  // namespace airfreight
