#pragma once

/// \file
/// \brief The system calls of the file store, with errors as Airfreight has them.

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::posix {

/// A file descriptor that is closed with its owner. Move-only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// The error for `number` (an errno) met while doing `what`: Denied for permissions and read-only
/// file systems, Unavailable for full, failing and unreachable ones, Invalid for names that it does
/// not take.
Error ErrnoError(int number, std::string_view what);

/// As ErrnoError(errno, what), for a return statement.
tl::unexpected<Error> FailErrno(std::string_view what);

/// Opens the directory `path` (absolute; its own symbolic links are followed), making it and what
/// is missing above it if `create`. Nothing when it is not there and was not to be made.
Result<std::optional<Descriptor>> OpenRoot(const std::string& path, bool create, bool sync);

/// Opens the directory `path` ("a/b", or "" for `root` itself) below `root` without following a
/// symbolic link. Nothing when it is not there and was not to be made. A concurrent removal of
/// empty directories is waited out.
Result<std::optional<Descriptor>> OpenBelow(int root, std::string_view path, bool create,
                                            bool sync);

/// What lies at `name` in the directory; nothing when nothing does. A symbolic link is OutOfScope,
/// anything else but a regular file is Invalid for a writer and nothing for a reader.
Result<std::optional<struct stat>> StatFile(int directory, const std::string& name);

/// Writes all of `body` at `offset` of the file, polling `context` between pieces.
Status WriteAll(int fd, uint64_t offset, const Body& body, const Context& context);

/// Fills `to` from `offset`, polling `context` between pieces. Corrupt when the file ends before.
Status ReadAll(int fd, uint64_t offset, std::span<std::byte> to, const Context& context);

/// Makes the file's contents, or the directory's entries, survive a power failure. File systems
/// that cannot sync a directory are taken to need none.
Status SyncFile(int fd);
Status SyncDirectory(int directory);

/// This machine's name, for messages.
std::string HostName();

}  // namespace airfreight::posix
