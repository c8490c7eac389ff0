#pragma once

/// \file
/// \brief What all transfers of a process may hold in memory together.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

/// 256 MiB, and never more than the memory limit of this process's cgroup (v2 `memory.max`, v1
/// `memory.limit_in_bytes`, the lowest up the tree) / 4 / `slots`. However little that is, a writer
/// may always fill one part. \param root where /proc and /sys lie, for tests.
uint64_t DefaultMemoryBudget(int slots, const std::string& root = "/");

/// \brief Bytes that may be taken and are given back.
///
/// Threads: may be shared. Blocking: Take waits in the order of the callers until there is room,
/// and polls `context.cancelled` every 100 ms meanwhile. A taking of more than all of it waits
/// until nothing else is taken, so that one large transfer always goes on alone. Errors: Cancelled,
/// Timeout.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : capacity_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// What was taken; gives it back at the end of its life.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { Release(); }
    uint64_t bytes() const { return bytes_; }
    void Release();

   private:
    friend class MemoryBudget;
    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  Result<Share> Take(uint64_t bytes, const Context& context);
  /// At once or not at all.
  bool TryTake(uint64_t bytes, Share& share);
  /// Whatever is taken already: for the one buffer without which nothing would move, or be freed.
  Share TakeRegardless(uint64_t bytes);

  uint64_t capacity() const { return capacity_; }
  uint64_t taken() const;

 private:
  void Give(uint64_t bytes);

  bool Fits(uint64_t bytes) const {
    return taken_ == 0 || bytes <= capacity_ - std::min(capacity_, taken_);
  }
  Share Grant(uint64_t bytes);

  const uint64_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t taken_ = 0;
  std::list<char> waiting_;  // One for each caller that waits, in the order in which they came.
};

}  // namespace airfreight
