#include "transfer/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace airfreight {
namespace {

// Part sizes that had to grow are whole MiB, as every tool shows them.
constexpr uint64_t kRound = uint64_t{1} << 20;
// Into how many steps the numbers of a stream's parts are divided. Ten doublings of 8 MiB stay
// below the 5 GiB of S3's largest part.
constexpr int kSteps = 10;

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

uint64_t SaturatingAdd(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

Result<PartPlan> PartPlan::ForSize(uint64_t size, uint64_t wanted, const Capabilities& limits) {
  const int most_parts = std::max(limits.max_parts, 1);
  const uint64_t largest = std::max<uint64_t>(limits.max_part_bytes, 1);
  const uint64_t room = SaturatingMultiply(largest, static_cast<uint64_t>(most_parts));
  const uint64_t most = std::min(room, limits.max_object_bytes);
  if (size > most) {
    return Fail(
        ErrorCode::kTooLarge,
        fmt::format("the value takes {} bytes; the store takes {} in one object", size, most));
  }
  PartPlan plan;
  plan.most_parts_ = most_parts;
  plan.largest_bytes_ = largest;
  plan.first_bytes_ = std::clamp<uint64_t>(
      wanted, std::min(std::max<uint64_t>(limits.min_part_bytes, 1), largest), largest);
  const uint64_t needed = CeilDivide(size, static_cast<uint64_t>(most_parts));
  if (needed > plan.first_bytes_) {
    plan.first_bytes_ = std::min(SaturatingMultiply(CeilDivide(needed, kRound), kRound), largest);
  }
  plan.most_bytes_ =
      std::min(SaturatingMultiply(plan.first_bytes_, static_cast<uint64_t>(most_parts)),
               limits.max_object_bytes);
  return plan;
}

PartPlan PartPlan::ForStream(uint64_t wanted, const Capabilities& limits) {
  PartPlan plan;
  plan.most_parts_ = std::max(limits.max_parts, 1);
  plan.largest_bytes_ = std::max<uint64_t>(limits.max_part_bytes, 1);
  plan.first_bytes_ = std::clamp<uint64_t>(
      wanted, std::min(std::max<uint64_t>(limits.min_part_bytes, 1), plan.largest_bytes_),
      plan.largest_bytes_);
  plan.step_ = std::max(plan.most_parts_ / kSteps, 1);
  plan.most_bytes_ =
      std::min(SaturatingAdd(plan.Offset(plan.most_parts_), plan.PartBytes(plan.most_parts_)),
               limits.max_object_bytes);
  return plan;
}

uint64_t PartPlan::PartBytes(int number) const {
  if (step_ == 0) return first_bytes_;
  uint64_t bytes = first_bytes_;
  for (int before = number - 1; before >= step_ && bytes < largest_bytes_; before -= step_) {
    bytes = std::min(SaturatingMultiply(bytes, 2), largest_bytes_);
  }
  return bytes;
}

uint64_t PartPlan::Offset(int number) const {
  auto before = static_cast<uint64_t>(number - 1);
  if (step_ == 0) return SaturatingMultiply(first_bytes_, before);
  uint64_t offset = 0;
  uint64_t bytes = first_bytes_;
  while (before > 0) {
    const uint64_t count =
        bytes < largest_bytes_ ? std::min(before, static_cast<uint64_t>(step_)) : before;
    offset = SaturatingAdd(offset, SaturatingMultiply(bytes, count));
    before -= count;
    bytes = std::min(SaturatingMultiply(bytes, 2), largest_bytes_);
  }
  return offset;
}

int PartPlan::CountFor(uint64_t size) const {
  // The first number whose part ends at or behind `size`; offsets ascend.
  int low = 1;
  int high = most_parts_;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (SaturatingAdd(Offset(middle), PartBytes(middle)) >= size) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace airfreight
