#include "transfer/download_targets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "store/checks.h"

namespace airfreight {
namespace {

// What is read back at once, for a digest.
constexpr size_t kPiece = size_t{1} << 20;
// What is left of it by the umask decides who may read the file.
constexpr mode_t kFileMode = 0666;
// Written pages are sent to the disk each time that so many have gathered: else the last sync of a
// large file holds the calling thread for as long as the disk takes for all of it.
constexpr uint64_t kWriteBack = uint64_t{32} << 20;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Status BufferTarget::Reserve(uint64_t size) {
  if (buffer_.capacity() != size || buffer_.size() != size) {
    AIRFREIGHT_ASSIGN_OR_RETURN(buffer_, Buffer::Allocate(size));
    buffer_.Resize(size);
  }
  return {};
}

Status BufferTarget::WriteAt(uint64_t offset, ByteView bytes) {
  if (!bytes.empty()) std::memcpy(buffer_.data() + offset, bytes.data(), bytes.size());
  return {};
}

Result<ByteView> BufferTarget::ReadBack(uint64_t offset, uint64_t most) {
  // Large pieces, but not so large that no one is asked in between.
  return buffer_.view().subspan(offset, std::min<uint64_t>(most, 16 * kPiece));
}

Status BufferTarget::Truncate(uint64_t size) {
  buffer_.Resize(size);
  return {};
}

FileTarget::~FileTarget() {
  if (!temporary_.empty()) (void)unlink(temporary_.c_str());
}

Error FileTarget::AtPath(Error error) const {
  error.message = fmt::format("{} (file {})", error.message, Quoted(path_));
  error.retryable = false;
  return error;
}

Status FileTarget::Create() {
  if (path_.empty() || path_.ends_with('/') || path_.find('\0') != std::string::npos) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} is not the path of a file; e.g. /data/model.bin", Quoted(path_)));
  }
  // Known before anything is read that what is there can be replaced.
  struct stat there{};
  const bool replaces = lstat(path_.c_str(), &there) == 0;
  if (replaces && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} is a folder or a device; name a file, e.g. {}/model.bin",
                            Quoted(path_), FolderOf(path_)));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string random, RandomHex128());
  std::string name = fmt::format("{}/.airfreight-{}.tmp", FolderOf(path_), random);
  file_ = posix::Descriptor(
      open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file_) {
    const int number = errno;
    Error error = posix::ErrnoError(number, "making a file for the object");
    if (number == ENOENT || number == ENOTDIR) {
      error.code = ErrorCode::kInvalid;
      error.message += ": its folder is not there; make it before";
    }
    return Fail(AtPath(std::move(error)));
  }
  temporary_ = std::move(name);
  // A file that others may not read stays one.
  if (replaces && S_ISREG(there.st_mode) && fchmod(file_.get(), there.st_mode & 0777) != 0) {
    return Fail(AtPath(posix::ErrnoError(errno, "giving the file the mode of the one before")));
  }
  return {};
}

Status FileTarget::Reserve(uint64_t size) {
  // Known at once whether there is room. Not every file system can say (posix_fallocate(3) writes
  // zeros there, which is worse than not knowing).
  if (size > 0 && fallocate(file_.get(), 0, 0, static_cast<off_t>(size)) != 0 &&
      (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) {
    return Fail(AtPath(posix::ErrnoError(errno, "making room for the object")));
  }
  return {};
}

Status FileTarget::WriteAt(uint64_t offset, ByteView bytes) {
  if (Status written = posix::WriteAll(file_.get(), offset, Body(bytes), {}); !written) {
    return Fail(AtPath(std::move(written).error()));
  }
  const uint64_t before = written_.fetch_add(bytes.size(), std::memory_order_relaxed);
  if (before / kWriteBack != (before + bytes.size()) / kWriteBack) {
    // Best effort: begins to write all that is dirty, and waits for nothing.
    (void)sync_file_range(file_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  return {};
}

Result<ByteView> FileTarget::ReadBack(uint64_t offset, uint64_t most) {
  if (piece_.capacity() == 0) {
    AIRFREIGHT_ASSIGN_OR_RETURN(piece_, Buffer::Allocate(kPiece));
  }
  piece_.Resize(std::min<uint64_t>(most, kPiece));
  if (Status read = posix::ReadAll(file_.get(), offset, {piece_.data(), piece_.size()}, {});
      !read) {
    return Fail(AtPath(std::move(read).error()));
  }
  return piece_.view();
}

Status FileTarget::Truncate(uint64_t size) {
  if (ftruncate(file_.get(), static_cast<off_t>(size)) == 0) return {};
  return Fail(AtPath(posix::ErrnoError(errno, "cutting the file to the length of the value")));
}

Status FileTarget::Keep() {
  Status synced = posix::SyncFile(file_.get());
  if (!synced) return Fail(AtPath(std::move(synced).error()));
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Fail(AtPath(posix::ErrnoError(errno, "giving the file its name")));
  }
  temporary_.clear();
  const posix::Descriptor folder(open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) (void)posix::SyncDirectory(folder.get());
  return {};
}

}  // namespace airfreight
