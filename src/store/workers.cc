#include "store/workers.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace airfreight {
namespace {

// Blocks what a thread that is now made must not receive: it inherits the mask (pthread_create(3)).
// Faults stay, as blocking them is undefined where they are raised by the thread itself
// (sigprocmask(2)).
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

bool Workers::Start(std::function<void()> work) {
  const SignalsBlocked blocked;
  pid_ = getpid();
  try {
    threads_.push_back(std::make_unique<std::thread>(std::move(work)));
  } catch (const std::system_error&) {  // std::thread's only report: EAGAIN of pthread_create(3).
    return false;
  }
  return true;
}

void Workers::Join() {
  if (threads_.empty()) return;
  if (pid_ != getpid()) {
    // They are not here. Their handles must not be touched: a joinable one ends the process.
    for (std::unique_ptr<std::thread>& thread : threads_) {
      (void)thread.release();  // NOLINT(bugprone-unused-return-value): left to itself.
    }
  } else {
    for (const std::unique_ptr<std::thread>& thread : threads_) thread->join();
  }
  threads_.clear();
}

}  // namespace airfreight
