#pragma once

/// \file
/// \brief A file that is being written and that no one sees yet; and what is left of such files
/// when their writers were killed.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "store/file/posix.h"

namespace airfreight {

/// \brief A hidden file, `.@<random>.tmp`, which is deleted with its owner unless it was moved.
///
/// Not O_TMPFILE, which NFS and overlay mounts do not have.
///
/// Threads: one at a time. Ownership: of the file until it is moved, and of descriptors of it and
/// of its folder. Blocking: as the file system does.
class TemporaryFile {
 public:
  /// Makes one in `folder` below `root`, and the folder too. Names are random over all processes.
  static Result<TemporaryFile> Create(int root, std::string_view folder, bool sync);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  int fd() const { return file_.get(); }
  int folder() const { return folder_.get(); }
  Result<struct stat> Stat() const;
  /// Whether it bears its final name by now.
  bool moved() const { return name_.empty(); }

  /// Gives the file a modification time: now, or that many seconds later, with random nanoseconds,
  /// so that no two writes within one tick of the kernel's clock look the same.
  Status Stamp(int64_t seconds_ahead = 0);

  /// Renames it to `name` in its folder, replacing what lies there.
  Status MoveTo(const std::string& name);

  /// As MoveTo, but ConditionFailed when something lies there. Decided by the file system, also
  /// between hosts and without locks.
  Status LinkTo(const std::string& name);

 private:
  TemporaryFile(posix::Descriptor folder, posix::Descriptor file, std::string name)
      : folder_(std::move(folder)), file_(std::move(file)), name_(std::move(name)) {}

  posix::Descriptor folder_;
  posix::Descriptor file_;
  std::string name_;  // Empty once it was moved.
};

/// Whether a file of that name is one.
bool IsTemporaryName(std::string_view name);

/// Deletes all sidecars of `name`, and temporary files more than a day old: their writers are dead.
/// Called under the lock of `name`; best effort.
void SweepFolder(int folder, std::string_view name);

}  // namespace airfreight
