#include "transfer/memory_budget.h"

#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

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

// The lowest limit from the cgroup `path` up to the mount itself. Within a container the path may
// be that of the host, which is not there: then only the mount's own file is found, and that is the
// container's.
uint64_t LowestLimit(const std::string& mount, std::string path, const char* file) {
  uint64_t lowest = UINT64_MAX;
  if (path.find("..") != std::string::npos) path.clear();
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    if (const auto limit = ReadLimit(mount + path + "/" + file)) lowest = std::min(lowest, *limit);
    if (path.empty()) return lowest;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool NamesMemory(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// https://docs.kernel.org/admin-guide/cgroup-v2.html and …/cgroup-v1/memory.html; the lines of
// /proc/self/cgroup: cgroups(7), "hierarchy-ID:controller-list:cgroup-path".
uint64_t MemoryLimit(const std::string& root) {
  uint64_t lowest = UINT64_MAX;
  std::ifstream cgroups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const std::string mount = root + "/sys/fs/cgroup";
    if (controllers.empty()) {
      lowest = std::min(lowest, LowestLimit(mount, path, "memory.max"));
      // Where both versions are mounted, v2 lies beside v1's controllers.
      lowest = std::min(lowest, LowestLimit(mount + "/unified", path, "memory.max"));
    } else if (NamesMemory(controllers)) {
      lowest = std::min(lowest, LowestLimit(mount + "/memory", path, "memory.limit_in_bytes"));
    }
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
