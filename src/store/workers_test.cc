#include "store/workers.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace airfreight {
namespace {

TEST(WorkersTest, AllHaveRunWhenTheyAreJoined) {
  std::atomic<int> ran{0};
  {
    Workers workers;
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(workers.Start([&] { ++ran; }));
    }
    EXPECT_EQ(workers.count(), 5U);
    workers.Join();
    EXPECT_EQ(ran, 5);
    EXPECT_TRUE(workers.Start([&] { ++ran; }));
  }
  EXPECT_EQ(ran, 6);
}

TEST(WorkersTest, SignalsAreLeftToTheThreadsOfTheProgram) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::atomic<bool> blocked{false};
  std::atomic<bool> faults{true};
  Workers workers;
  workers.Start([&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1 &&
              sigismember(&mask, SIGALRM) == 1 && sigismember(&mask, SIGUSR1) == 1;
    faults = sigismember(&mask, SIGSEGV) == 1;
  });
  workers.Join();
  EXPECT_TRUE(blocked);
  EXPECT_FALSE(faults);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int number : {SIGTERM, SIGINT, SIGALRM}) {
    EXPECT_EQ(sigismember(&before, number), sigismember(&after, number));
  }
}

TEST(WorkersTest, ChildOfAForkForgetsItsParentsThreads) {
  StopFlag stop;
  Workers workers;
  workers.Start([&] {
    while (!stop.IsSet()) std::this_thread::yield();
  });
  const pid_t child = fork();
  if (child == 0) {
    workers.Join();  // Would wait for ever, or end the process, if it touched them.
    _exit(workers.count() == 0 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  stop.Set();
}

TEST(StopFlagTest, CallersWishReachesTheWorkers) {
  StopFlag stop;
  bool wanted = true;
  Context caller;
  caller.deadline = Context::Clock::now();
  caller.cancelled = [&] { return !wanted; };
  const Context worker = stop.ForWorker(caller);
  const Context own = stop.ForCaller(caller);
  EXPECT_EQ(worker.deadline, caller.deadline);
  EXPECT_FALSE(own.IsCancelled());
  wanted = false;
  EXPECT_FALSE(worker.IsCancelled());  // Workers never ask the caller's own function.
  EXPECT_TRUE(own.IsCancelled());
  EXPECT_TRUE(worker.IsCancelled());
}

}  // namespace
}  // namespace airfreight
