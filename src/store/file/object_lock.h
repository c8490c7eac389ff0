#pragma once

/// \file
/// \brief The lock under which an object's file is exchanged.

#include <chrono>
#include <string_view>

#include "airfreight/store.h"
#include "store/file/posix.h"

namespace airfreight {

/// \brief Holds the lock of one key, between threads, processes and (where the file system carries
/// locks) hosts, from Acquire until it is destroyed.
///
/// Threads: belongs to the thread that acquired it. Ownership: of one descriptor; the lock file
/// stays. Fork: a child that inherits the descriptor does not keep the lock, as it is released by
/// name and not by closing. Blocking: waits in steps of at most 20 ms, polls `context`, and gives
/// up after `longest`.
class ObjectLock {
 public:
  /// A lock is held for one exchange of names. Whoever has it this long was stopped (SIGSTOP, a
  /// paused container), and the kernel takes it from the dead only. Half of RetryOptions::timeout,
  /// so that a second attempt is made.
  static constexpr std::chrono::seconds kLongest{30};

  /// Unsupported when the file system has no locks; Unavailable, naming the lock's file, when
  /// another has held it for `longest`; Cancelled and Timeout as `context` says.
  static Result<ObjectLock> Acquire(int root, std::string_view key, const Context& context,
                                    std::chrono::milliseconds longest = kLongest);

  ObjectLock(ObjectLock&&) noexcept = default;
  ObjectLock& operator=(ObjectLock&&) = delete;
  ~ObjectLock();

 private:
  explicit ObjectLock(posix::Descriptor file) : file_(std::move(file)) {}

  posix::Descriptor file_;
};

}  // namespace airfreight
