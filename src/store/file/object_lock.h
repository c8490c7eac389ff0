#pragma once

/// \file
/// \brief The lock under which an object's file is exchanged.

#include <string_view>

#include "airfreight/store.h"
#include "store/file/posix.h"

namespace airfreight {

/// \brief Holds the lock of one key, between threads, processes and (where the file system carries
/// locks) hosts, from Acquire until it is destroyed.
///
/// Threads: belongs to the thread that acquired it. Ownership: of one descriptor; the lock file
/// stays. Fork: a child that inherits the descriptor does not keep the lock, as it is released by
/// name and not by closing. Blocking: waits in steps of at most 20 ms and polls `context`.
class ObjectLock {
 public:
  /// Unsupported when the file system has no locks; Cancelled and Timeout as `context` says.
  static Result<ObjectLock> Acquire(int root, std::string_view key, const Context& context);

  ObjectLock(ObjectLock&&) noexcept = default;
  ObjectLock& operator=(ObjectLock&&) = delete;
  ~ObjectLock();

 private:
  explicit ObjectLock(posix::Descriptor file) : file_(std::move(file)) {}

  posix::Descriptor file_;
};

}  // namespace airfreight
