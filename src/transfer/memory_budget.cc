#include "transfer/memory_budget.h"

#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <utility>

#include "base/cgroup.h"
#include "store/checks.h"

namespace airfreight {
namespace {

// The most that is taken by default. Sixteen connections with a part of 8 MiB each are 128 MiB, so
// that this feeds them with as much again being filled; more only makes a task's peak higher.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
// Half of what Context promises between two polls of `cancelled`.
constexpr std::chrono::milliseconds kPoll{100};

// The limit that a file of a cgroup names; nothing for "max" and where there is none.
std::optional<uint64_t> ReadLimit(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  uint64_t limit = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), limit);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return limit;
}

uint64_t MemoryLimit(const std::string& root) {
  uint64_t lowest = UINT64_MAX;
  for (const Cgroup& group : CgroupsOf("memory", root)) {
    const char* file = group.version == 2 ? "/memory.max" : "/memory.limit_in_bytes";
    if (const auto limit = ReadLimit(group.folder + file)) lowest = std::min(lowest, *limit);
  }
  return lowest;
}

}  // namespace

uint64_t DefaultMemoryBudget(int slots, const std::string& root) {
  std::string base = root;
  while (base.ends_with('/')) base.pop_back();
  const uint64_t share = MemoryLimit(base) / 4 / static_cast<uint64_t>(std::max(slots, 1));
  return std::clamp<uint64_t>(share, 1, kMostBytes);
}

MemoryBudget::Share::Share(Share&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryBudget::Share& MemoryBudget::Share::operator=(Share&& other) noexcept {
  if (this != &other) {
    Release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void MemoryBudget::Share::Release() {
  if (budget_ != nullptr) budget_->Give(bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

MemoryBudget::Share MemoryBudget::Grant(uint64_t bytes) {
  taken_ += bytes;
  Share share;
  share.budget_ = this;
  share.bytes_ = bytes;
  return share;
}

Result<MemoryBudget::Share> MemoryBudget::Take(uint64_t bytes, const Context& context) {
  std::unique_lock lock(mutex_);
  if (waiting_.empty() && Fits(bytes)) return Grant(bytes);
  const auto mine = waiting_.emplace(waiting_.end());
  const auto leave = [&] {
    waiting_.erase(mine);
    changed_.notify_all();
  };
  while (mine != waiting_.begin() || !Fits(bytes)) {
    // Without the lock: the poll may wait for a lock of the caller's (Python's, say), whose holder
    // may want ours.
    lock.unlock();
    Status wanted = CheckContext(context);
    lock.lock();
    if (!wanted) {
      leave();
      return Fail(std::move(wanted).error());
    }
    if (mine == waiting_.begin() && Fits(bytes)) break;
    changed_.wait_for(lock, kPoll);
  }
  leave();
  return Grant(bytes);
}

bool MemoryBudget::TryTake(uint64_t bytes, Share& share) {
  // Of the share that is replaced first: Give takes the lock too.
  share.Release();
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty() || !Fits(bytes)) return false;
  share = Grant(bytes);
  return true;
}

MemoryBudget::Share MemoryBudget::TakeRegardless(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return Grant(bytes);
}

uint64_t MemoryBudget::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

void MemoryBudget::Give(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  taken_ -= bytes;
  changed_.notify_all();
}

}  // namespace airfreight
