#pragma once

/// \file
/// \brief Where an object is cut into parts. Pure arithmetic.

#include <cstdint>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

/// \brief The parts of an object whose size may be known or not.
///
/// Known: parts of one size, the wanted one, or larger where that would make too many of them.
///
/// Not known, as for a value that is sent while it is being made: the part's size depends on its
/// number alone, so that its offset does too. The first tenth of the numbers that the store allows
/// have the wanted size, each further tenth twice that of the one before, up to the largest that
/// the store takes. With S3's 10,000 parts
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html) and 8 MiB, parts stay at 8 MiB up to
/// 7.8 GiB, are 64 MiB from 55 GiB on, and the last one ends at 7.8 TiB, beyond S3's largest
/// object.
///
/// Threads: immutable. Ownership, blocking: none. Errors: TooLarge.
class PartPlan {
 public:
  /// TooLarge when the store cannot hold `size` bytes in parts; the message says why.
  static Result<PartPlan> ForSize(uint64_t size, uint64_t wanted, const Capabilities& limits);
  static PartPlan ForStream(uint64_t wanted, const Capabilities& limits);

  /// Of a part that is not the last; `number` from 1.
  uint64_t PartBytes(int number) const;
  uint64_t Offset(int number) const;
  /// Bytes that all parts together have room for.
  uint64_t MostBytes() const { return most_bytes_; }
  int MostParts() const { return most_parts_; }
  /// How many parts an object of `size` bytes takes; 1 for an empty one.
  int CountFor(uint64_t size) const;

 private:
  PartPlan() = default;

  uint64_t first_bytes_ = 0;
  uint64_t largest_bytes_ = 0;
  int step_ = 0;  // Numbers after which the size doubles; 0: never.
  int most_parts_ = 0;
  uint64_t most_bytes_ = 0;
};

}  // namespace airfreight
