#include "transfer/download_targets.h"

#include <fcntl.h>
#include <fmt/format.h>
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
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string random, RandomHex128());
  std::string name = fmt::format("{}/.{}.tmp", FolderOf(path_), random);
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
