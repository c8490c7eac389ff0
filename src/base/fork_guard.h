#pragma once

/// \file
/// \brief What must not be half done in a forked child.

#include <mutex>

namespace airfreight {

/// \brief While one lives, no thread of this process forks: `fork` waits for its end.
///
/// For what a library sets up at first use, under locks of its own. A child that was forked in the
/// midst of that would find them locked for ever, by a thread that it does not have; so would it
/// find a function's static variable, for which it waits as for a lock. Airflow forks every task
/// from a process with threads, and the first push is as likely there as anywhere.
///
/// Threads: one holds it at a time, others wait. Not recursive, and its holder must not fork.
/// Blocking: as long as the holder does; hold it for what takes milliseconds.
class ForkGuard {
 public:
  ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard() = default;

 private:
  std::lock_guard<std::mutex> hold_;
};

}  // namespace airfreight
