#pragma once

/// \file
/// \brief One object for each process, in a world where Airflow forks every task from a threaded
/// parent.

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace airfreight {

/// \brief Makes its object at first use, and again at first use in a forked child.
///
/// The parent's object is forgotten there, not destroyed: its mutexes may be held by threads that
/// the child does not have, and closing its connections would say good-bye to the server on sockets
/// that the parent still uses.
///
/// Threads: Get may be called from several at once, and takes no lock (a lock would itself be
/// copied in whatever state the fork found it); of two first calls at once one object is dropped.
template <typename T>
class ForkLocal {
 public:
  explicit ForkLocal(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}
  ForkLocal(const ForkLocal&) = delete;
  ForkLocal& operator=(const ForkLocal&) = delete;
  ~ForkLocal() {
    Node* node = node_.load(std::memory_order_acquire);
    if (node != nullptr && node->pid == getpid()) delete node;
  }

  T& Get() {
    const pid_t pid = getpid();
    Node* current = node_.load(std::memory_order_acquire);
    while (current == nullptr || current->pid != pid) {
      auto fresh = std::make_unique<Node>(Node{pid, make_()});
      // Where another thread of this process was first, `current` is now its node.
      if (node_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) {
        return *fresh.release()->value;
      }
    }
    return *current->value;
  }

 private:
  struct Node {
    pid_t pid;
    std::unique_ptr<T> value;
  };
  std::function<std::unique_ptr<T>()> make_;
  std::atomic<Node*> node_{nullptr};
};

}  // namespace airfreight
