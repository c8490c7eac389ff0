#include "transfer/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "conformance/matchers.h"

namespace airfreight {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

// A root with the files of /proc and /sys that a test names.
class MemoryLimitTest : public testing::Test {
 protected:
  MemoryLimitTest() : root_(fs::temp_directory_path() / ("airfreight-" + *RandomHex128())) {}
  ~MemoryLimitTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  uint64_t Default(int slots = 1) const { return DefaultMemoryBudget(slots, root_.string()); }

  const fs::path root_;
};

TEST_F(MemoryLimitTest, WithoutAnyLimitItIs256MiB) {
  EXPECT_EQ(Default(), 256 * kMiB);
  Write("proc/self/cgroup", "0::/user.slice\n");
  Write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(Default(), 256 * kMiB);
}

TEST_F(MemoryLimitTest, AQuarterOfTheCgroupsLimitIsSharedByTheSlots) {
  Write("proc/self/cgroup", "0::/pod/container\n");
  Write("sys/fs/cgroup/pod/container/memory.max", std::to_string(4 * kGiB) + "\n");
  EXPECT_EQ(Default(1), 256 * kMiB);
  EXPECT_EQ(Default(8), 128 * kMiB);
  EXPECT_EQ(Default(16), 64 * kMiB);
  EXPECT_EQ(Default(0), 256 * kMiB);
}

TEST_F(MemoryLimitTest, LittleMemoryIsSharedTooHoweverLittleThatIs) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", std::to_string(64 * kMiB));
  EXPECT_EQ(Default(1), 16 * kMiB);
  EXPECT_EQ(Default(8), 2 * kMiB);
}

TEST_F(MemoryLimitTest, TheLowestLimitUpTheTreeCounts) {
  Write("proc/self/cgroup", "0::/a/b/c\n");
  Write("sys/fs/cgroup/a/b/c/memory.max", "max");
  Write("sys/fs/cgroup/a/b/memory.max", std::to_string(400 * kMiB));
  Write("sys/fs/cgroup/a/memory.max", std::to_string(800 * kMiB));
  EXPECT_EQ(Default(), 100 * kMiB);
}

TEST_F(MemoryLimitTest, CgroupsOfVersionOneAreReadToo) {
  Write("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/abc\n1:name=systemd:/x\n0::/x\n");
  // Seen from within a container: its own group is the mount.
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(600 * kMiB));
  EXPECT_EQ(Default(), 150 * kMiB);
  // "No limit" of version one is a number near 2^63.
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Default(), 256 * kMiB);
}

TEST_F(MemoryLimitTest, WhatCannotBeReadIsNoLimit) {
  Write("proc/self/cgroup", "garbage\n0:memory\n0::/../..\n0::/gone\n");
  Write("sys/fs/cgroup/memory.max", "12 monkeys and more\n");
  EXPECT_EQ(Default(), 3U);  // It begins with a number: the kernel writes one word.
  Write("sys/fs/cgroup/memory.max", "12monkeys\n");
  EXPECT_EQ(Default(), 256 * kMiB);
}

TEST(MemoryBudgetTest, WhatIsTakenIsGivenBackWithTheShare) {
  MemoryBudget budget(100);
  {
    const auto share = budget.Take(60, {});
    ASSERT_TRUE(IsOk(share));
    EXPECT_EQ(share->bytes(), 60U);
    EXPECT_EQ(budget.taken(), 60U);
    MemoryBudget::Share more;
    EXPECT_FALSE(budget.TryTake(41, more));
    EXPECT_TRUE(budget.TryTake(40, more));
    EXPECT_EQ(budget.taken(), 100U);
    MemoryBudget::Share moved = std::move(more);
    EXPECT_EQ(budget.taken(), 100U);
    moved.Release();
    EXPECT_EQ(budget.taken(), 60U);
  }
  EXPECT_EQ(budget.taken(), 0U);
}

TEST(MemoryBudgetTest, MoreThanAllIsHadWhenNothingElseIsTaken) {
  MemoryBudget budget(100);
  const auto large = budget.Take(1000, {});
  ASSERT_TRUE(IsOk(large));
  MemoryBudget::Share more;
  EXPECT_FALSE(budget.TryTake(1, more));
  EXPECT_EQ(budget.TakeRegardless(7).bytes(), 7U);
  EXPECT_EQ(budget.taken(), 1000U);
}

TEST(MemoryBudgetTest, WaitingEndsWithTheCallersWish) {
  MemoryBudget budget(100);
  const auto all = budget.Take(100, {});
  ASSERT_TRUE(IsOk(all));
  Context context;
  int polls = 0;
  context.cancelled = [&] { return ++polls == 2; };
  EXPECT_TRUE(IsError(budget.Take(1, context), ErrorCode::kCancelled));
  context.cancelled = nullptr;
  context.deadline = Context::Clock::now();
  EXPECT_TRUE(IsError(budget.Take(1, context), ErrorCode::kTimeout));
  EXPECT_EQ(budget.taken(), 100U);
}

TEST(MemoryBudgetTest, NoOneOvertakesWhoWaits) {
  MemoryBudget budget(100);
  auto first = budget.Take(60, {});
  ASSERT_TRUE(IsOk(first));
  std::atomic<int> polls{0};
  Context context;
  context.cancelled = [&] {
    ++polls;
    return false;
  };
  std::jthread large([&] { EXPECT_TRUE(IsOk(budget.Take(80, context))); });
  while (polls == 0) std::this_thread::yield();
  MemoryBudget::Share small;
  EXPECT_FALSE(budget.TryTake(10, small));  // There is room, and it is the other's.
  first->Release();
}

TEST(MemoryBudgetTest, ManyTakersNeverHoldMoreThanThereIs) {
  MemoryBudget budget(100);
  std::atomic<uint64_t> held{0};
  std::atomic<bool> exceeded{false};
  {
    std::vector<std::jthread> threads;
    for (uint64_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        for (uint64_t round = 0; round < 200; ++round) {
          const uint64_t bytes = 1 + (i * 37 + round * 11) % 100;
          const auto share = budget.Take(bytes, {});
          ASSERT_TRUE(IsOk(share));
          if (held.fetch_add(bytes) + bytes > 100) exceeded = true;
          held -= bytes;
        }
      });
    }
  }
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(budget.taken(), 0U);
}

}  // namespace
}  // namespace airfreight
