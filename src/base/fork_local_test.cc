#include "base/fork_local.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace airfreight {
namespace {

struct Counted {
  explicit Counted(std::atomic<int>& destroyed) : destroyed_(destroyed) {}
  ~Counted() { ++destroyed_; }
  pid_t pid = getpid();
  std::atomic<int>& destroyed_;
};

TEST(ForkLocalTest, ThreadsOfOneProcessShareOneObject) {
  std::atomic<int> destroyed = 0;
  {
    ForkLocal<Counted> local([&] { return std::make_unique<Counted>(destroyed); });
    std::vector<Counted*> seen(8);
    std::vector<std::thread> threads;
    for (auto& slot : seen) threads.emplace_back([&local, &slot] { slot = &local.Get(); });
    for (auto& thread : threads) thread.join();
    for (Counted* object : seen) EXPECT_EQ(object, seen[0]);
    const int losers = destroyed;
    EXPECT_EQ(&local.Get(), seen[0]);
    EXPECT_EQ(destroyed, losers);
  }
  EXPECT_GE(destroyed, 1);
}

TEST(ForkLocalTest, AChildMakesItsOwnAndLeavesTheParentsAlone) {
  std::atomic<int> destroyed = 0;
  ForkLocal<Counted> local([&] { return std::make_unique<Counted>(destroyed); });
  Counted* parents = &local.Get();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Counted* own = &local.Get();
    const bool right = own != parents && own->pid == getpid() && destroyed == 0;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(&local.Get(), parents);
}

}  // namespace
}  // namespace airfreight
