#include "base/fork_guard.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace airfreight {
namespace {

TEST(ForkGuardTest, AForkWaitsForItsEnd) {
  std::atomic<bool> held{false};
  std::atomic<bool> done{false};
  std::thread holder([&] {
    const ForkGuard guard;
    held = true;
    // The fork begins now. It is not to end before this has.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = true;
  });
  while (!held) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    const bool waited = done;
    const ForkGuard guard;  // It is free in the child.
    // Past the sanitizers, which would miss the parent's other thread.
    syscall(SYS_exit_group, waited ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  holder.join();
  const ForkGuard guard;  // And in the parent.
}

}  // namespace
}  // namespace airfreight
