#pragma once

/// \file
/// \brief Threads that live no longer than the call, or the writer, that needs them.

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "airfreight/store.h"

namespace airfreight {

/// \brief A wish to stop that reaches several threads.
///
/// Threads: may be shared. The caller's own `cancelled` is asked by the caller's thread alone (it
/// may take Python's interpreter lock, and signal handlers run in that thread only); workers look
/// here.
class StopFlag {
 public:
  void Set() { set_.store(true, std::memory_order_relaxed); }
  bool IsSet() const { return set_.load(std::memory_order_relaxed); }

  /// For a worker: the caller's deadline, and this flag. The flag must outlive it.
  Context ForWorker(const Context& caller) const {
    return {caller.deadline, [this] { return IsSet(); }};
  }
  /// For the caller's own requests while workers run: asks the caller, and tells the workers.
  Context ForCaller(const Context& caller) {
    return {caller.deadline, [this, &caller] {
              if (caller.IsCancelled()) Set();
              return IsSet();
            }};
  }

 private:
  std::atomic<bool> set_{false};
};

/// \brief Some threads, started one by one and joined together.
///
/// Airflow forks tasks from threaded parents, and runs Python's signal handlers in the main thread:
/// so no thread outlives its use, and all signals but those of faults are blocked in these.
///
/// Threads: used by one. Ownership: of the threads. Blocking: Join, and the destructor, wait for
/// their ends; whoever owns this tells them to end before. Fork: a child has none of its parent's
/// threads; its destructor forgets them. Errors: none; see Start.
class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { Join(); }

  /// False when the system gives no further thread: the work then has to do with fewer.
  bool Start(std::function<void()> work);
  void Join();
  size_t count() const { return threads_.size(); }

 private:
  pid_t pid_ = 0;  // Of the process that started them.
  std::vector<std::unique_ptr<std::thread>> threads_;
};

}  // namespace airfreight
