#include "store/file/posix.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include "store/checks.h"

namespace airfreight::posix {
namespace {

// Bytes between two polls of the caller's wishes: 200 ms of a disk or share that does 20 MB/s.
constexpr size_t kPiece = size_t{4} << 20;
// Segments in one system call; below IOV_MAX (1024 on Linux), and a page of iovecs at most.
constexpr size_t kMaxSegments = 256;
// How often a directory may vanish under our feet before that is called a fault. Each time, another
// process must have removed the last object next to ours.
constexpr int kMaxRaces = 100;

#ifdef O_PATH
// Passing through a directory takes no right to read it.
constexpr int kPassThrough = O_PATH | O_DIRECTORY | O_CLOEXEC;
#else
constexpr int kPassThrough = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif
// What umask leaves of it decides who may share the directory.
constexpr mode_t kDirectoryMode = 0777;

template <typename Call>
auto Retrying(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

int OpenAt(int directory, const std::string& name, int flags) {
  return Retrying([&] { return openat(directory, name.c_str(), flags); });
}

bool IsSymbolicLink(int directory, const std::string& name) {
  struct stat found{};
  return fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(found.st_mode);
}

tl::unexpected<Error> FailSymbolicLink(std::string_view name) {
  return Fail(ErrorCode::kOutOfScope,
              fmt::format("a symbolic link lies at {}; this store does not follow links below its "
                          "directory. Mount what it points to, or name that as the store",
                          Quoted(name)));
}

// One level down. Nothing when it is not there (and could not be made because its parent has gone).
Result<std::optional<Descriptor>> Descend(int parent, const std::string& name, bool create,
                                          bool sync) {
  constexpr int kFlags = kPassThrough | O_NOFOLLOW;
  Descriptor next(OpenAt(parent, name, kFlags));
  if (!next && errno == ENOENT && create) {
    if (mkdirat(parent, name.c_str(), kDirectoryMode) == 0) {
      if (sync) AIRFREIGHT_RETURN_IF_ERROR(SyncDirectory(parent));
    } else if (errno != EEXIST && errno != ENOENT) {
      return FailErrno(fmt::format("making directory {}", Quoted(name)));
    }
    next = Descriptor(OpenAt(parent, name, kFlags));
  }
  if (next) return next;
  if (errno == ENOENT) return std::nullopt;
  const int number = errno;
  if ((number == ENOTDIR || number == ELOOP) && IsSymbolicLink(parent, name)) {
    return FailSymbolicLink(name);
  }
  // To a reader, a file where a directory would have to be says that there is no such object.
  if (number == ENOTDIR && !create) return std::nullopt;
  if (number == ENOTDIR) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("a file lies at {}, where the key needs a directory", Quoted(name)));
  }
  return Fail(ErrnoError(number, fmt::format("opening directory {}", Quoted(name))));
}

// From `start` down the parts of `path`.
Result<std::optional<Descriptor>> Walk(int start, std::string_view path, bool create, bool sync) {
  Descriptor current(Retrying([&] { return openat(start, ".", kPassThrough); }));
  if (!current && errno == ENOENT) return std::nullopt;
  if (!current) return FailErrno("opening the store's directory");
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string part(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
    AIRFREIGHT_ASSIGN_OR_RETURN(auto next, Descend(current.get(), part, create, sync));
    if (!next) return std::nullopt;
    current = std::move(*next);
  }
  return current;
}

// Makes `path` and what is missing above it. Symbolic links on the way are the administrator's.
Status MakeRoot(const std::string& path, bool sync) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string ancestor = path.substr(0, end);
    if (mkdir(ancestor.c_str(), kDirectoryMode) == 0) {
      const size_t slash = ancestor.rfind('/');
      const Descriptor parent(
          OpenAt(AT_FDCWD, slash == 0 ? "/" : ancestor.substr(0, slash), kPassThrough));
      if (sync && parent) AIRFREIGHT_RETURN_IF_ERROR(SyncDirectory(parent.get()));
    } else if (errno != EEXIST && errno != EISDIR) {
      // An ancestor that is there but may not be written to is none of our concern.
      const int number = errno;
      struct stat found{};
      if (stat(ancestor.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
        return Fail(
            ErrnoError(number, fmt::format("making the store's directory {}", Quoted(ancestor))));
      }
    }
    if (end == std::string::npos) return {};
  }
}

Status Sync(int fd, std::string_view what) {
  if (Retrying([&] { return fsync(fd); }) == 0) return {};
  return FailErrno(what);
}

}  // namespace

Descriptor::~Descriptor() {
  // Not repeated on EINTR: Linux has closed it even then (close(2)).
  if (fd_ >= 0) close(fd_);
}

Error ErrnoError(int number, std::string_view what) {
  Error error;
  error.message = fmt::format("{}: {}", what, std::generic_category().message(number));
  switch (number) {
    case EACCES:
    case EPERM:
      error.code = ErrorCode::kDenied;
      error.message +=
          ". Where tasks run as several users, they need a common group, a set-group-id directory "
          "and "
          "umask 002";
      break;
    case EROFS:
      error.code = ErrorCode::kDenied;
      break;
    case ENOSPC:
    case EDQUOT:
      error.code = ErrorCode::kUnavailable;
      break;
    case EFBIG:
      error.code = ErrorCode::kTooLarge;
      break;
    case ENAMETOOLONG:
    case EILSEQ:
    case EINVAL:
      error.code = ErrorCode::kInvalid;
      break;
    // A mounted share that is away for a while, and tables that are full for a while.
    case EIO:
    case ESTALE:
    case ETIMEDOUT:
    case EAGAIN:
    case EBUSY:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENOTCONN:
      error.code = ErrorCode::kUnavailable;
      error.retryable = true;
      break;
    default:
      error.code = ErrorCode::kUnavailable;
      break;
  }
  return error;
}

tl::unexpected<Error> FailErrno(std::string_view what) { return Fail(ErrnoError(errno, what)); }

Result<std::optional<Descriptor>> OpenRoot(const std::string& path, bool create, bool sync) {
  Descriptor root(OpenAt(AT_FDCWD, path, kPassThrough));
  if (!root && errno == ENOENT && create) {
    AIRFREIGHT_RETURN_IF_ERROR(MakeRoot(path, sync));
    root = Descriptor(OpenAt(AT_FDCWD, path, kPassThrough));
  }
  if (root) return root;
  if (errno == ENOENT && !create) return std::nullopt;
  return FailErrno(fmt::format("opening the store's directory {}", Quoted(path)));
}

Result<std::optional<Descriptor>> OpenBelow(int root, std::string_view path, bool create,
                                            bool sync) {
  for (int race = 0; race < kMaxRaces; ++race) {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto directory, Walk(root, path, create, sync));
    if (directory || !create) return directory;
  }
  return FailErrno(fmt::format("directory {} is removed as often as it is made", Quoted(path)));
}

Result<std::optional<struct stat>> StatFile(int directory, const std::string& name) {
  struct stat found{};
  if (fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return FailErrno(fmt::format("looking at {}", Quoted(name)));
  }
  if (S_ISLNK(found.st_mode)) return FailSymbolicLink(name);
  return found;
}

Status WriteAll(int fd, uint64_t start, const Body& body, const Context& context) {
  const std::vector<ByteView>& segments = body.segments();
  size_t index = 0;   // The first segment that is not wholly written,
  size_t within = 0;  // and how much of it is.
  auto offset = static_cast<off_t>(start);
  while (index < segments.size()) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    std::array<iovec, kMaxSegments> pieces;
    size_t count = 0;
    size_t bytes = 0;
    for (size_t i = index; i < segments.size() && count < kMaxSegments && bytes < kPiece; ++i) {
      const ByteView left = segments[i].subspan(i == index ? within : 0);
      const size_t length = std::min(left.size(), kPiece - bytes);
      // writev does not write to what it is given; its type predates const.
      pieces[count++] = {const_cast<std::byte*>(left.data()), length};
      bytes += length;
    }
    const ssize_t written =
        Retrying([&] { return pwritev(fd, pieces.data(), static_cast<int>(count), offset); });
    if (written < 0) return FailErrno("writing the object");
    offset += written;
    for (auto rest = static_cast<size_t>(written); rest > 0;) {
      const size_t step = std::min(rest, segments[index].size() - within);
      rest -= step;
      within += step;
      if (within == segments[index].size()) {
        ++index;
        within = 0;
      }
    }
  }
  return {};
}

Status ReadAll(int fd, uint64_t offset, std::span<std::byte> to, const Context& context) {
  while (!to.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    const ssize_t got = Retrying([&] {
      return pread(fd, to.data(), std::min(to.size(), kPiece), static_cast<off_t>(offset));
    });
    if (got < 0) return FailErrno("reading the object");
    if (got == 0) {
      return Fail(
          ErrorCode::kCorrupt,
          fmt::format("the file ended {} bytes early: it was cut while it was read", to.size()));
    }
    offset += static_cast<uint64_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return {};
}

Status SyncFile(int fd) { return Sync(fd, "syncing the object to disk"); }

Status SyncDirectory(int directory) {
  // A descriptor that is only for passing through cannot be synced.
  const Descriptor readable(OpenAt(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable) {
    // Removed in the meantime, with all that was in it.
    if (errno == ENOENT) return {};
    return FailErrno("opening a directory to sync it");
  }
  auto synced = Sync(readable.get(), "syncing a directory to disk");
  // SMB and some FUSE file systems: fsync(2), EINVAL.
  if (!synced && (errno == EINVAL || errno == ENOTSUP || errno == ENOSYS)) return {};
  return synced;
}

std::string HostName() {
  // HOST_NAME_MAX is 64 on Linux and 255 in POSIX.
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "this host";
  return name.data();
}

}  // namespace airfreight::posix
