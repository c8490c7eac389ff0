#include "store/file/object_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "store/checks.h"
#include "store/file/sidecar.h"

namespace airfreight {
namespace {

using std::chrono::microseconds;

// Few enough to lie about for ever, enough that pushes of one host seldom meet by chance: a lock is
// held for some ten microseconds without, and for one metadata commit with a slow file system.
constexpr uint32_t kLocks = 64;
// The first and the longest step of waiting for a lock.
constexpr microseconds kFirstStep{100};
constexpr microseconds kLongestStep{20'000};
// How often a lock file may be deleted by hand in the instant in which we take it.
constexpr int kMaxRaces = 100;

// FNV-1a, 32 bits (RFC 9923): all processes must agree on it, which std::hash does not promise.
uint32_t Hash(std::string_view text) {
  uint32_t hash = 0x811c9dc5;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return hash;
}

enum class Taken { kYes, kBusy, kUnsupported, kFailed };

Taken TryLock(int fd) {
#ifdef F_OFD_SETLK
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const int result = fcntl(fd, F_OFD_SETLK, &lock);
#else
  const int result = flock(fd, LOCK_EX | LOCK_NB);
#endif
  if (result == 0) return Taken::kYes;
  switch (errno) {
    case EAGAIN:
    case EACCES:
    case EINTR:
      return Taken::kBusy;
    case ENOLCK:
    case ENOSYS:
    case EINVAL:
    case EOPNOTSUPP:
      return Taken::kUnsupported;
    default:
      return Taken::kFailed;
  }
}

void Unlock(int fd) {
#ifdef F_OFD_SETLK
  struct flock lock{};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  (void)fcntl(fd, F_OFD_SETLK, &lock);
#else
  (void)flock(fd, LOCK_UN);
#endif
}

// Whether the locked file is still the one that others find under its name.
bool IsCurrent(int directory, const std::string& name, int fd) {
  struct stat held{};
  struct stat named{};
  return fstat(fd, &held) == 0 &&
         fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

Result<ObjectLock> ObjectLock::Acquire(int root, std::string_view key, const Context& context,
                                       std::chrono::milliseconds longest) {
  const auto end = Context::Clock::now() + longest;
  const std::string folder = fmt::format("{}locks", kReservedPrefix);
  const std::string name = fmt::format("{:02x}", Hash(key) % kLocks);
  for (int race = 0; race < kMaxRaces; ++race) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto directory,
                                posix::OpenBelow(root, folder, /*create=*/true, /*sync=*/false));
    posix::Descriptor file(openat(directory->get(), name.c_str(),
                                  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!file && (errno == EINTR || errno == ENOENT)) continue;
    if (!file) return posix::FailErrno(fmt::format("opening lock {}/{}", folder, name));
    Taken taken = TryLock(file.get());
    for (microseconds step = kFirstStep; taken == Taken::kBusy;
         step = std::min(step * 2, kLongestStep)) {
      AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
      if (Context::Clock::now() >= end) {
        Error error{ErrorCode::kUnavailable,
                    fmt::format("another process has held lock {}/{} for {:g} s and may be stopped "
                                "(`fuser` or `lsof` on that file, on its host, finds it)",
                                folder, name, std::chrono::duration<double>(longest).count())};
        error.retryable = true;
        return Fail(std::move(error));
      }
      std::this_thread::sleep_for(step);
      taken = TryLock(file.get());
    }
    if (taken == Taken::kUnsupported) {
      return Fail(ErrorCode::kUnsupported,
                  "this file system has no locks, so that a write cannot depend on what is there");
    }
    if (taken == Taken::kFailed) return posix::FailErrno(fmt::format("taking lock {}", name));
    ObjectLock lock(std::move(file));
    if (IsCurrent(directory->get(), name, lock.file_.get())) return lock;
  }
  return Fail(ErrorCode::kUnavailable,
              fmt::format("lock file {}/{} is removed as often as it is made", folder, name));
}

ObjectLock::~ObjectLock() {
  if (file_) Unlock(file_.get());
}

}  // namespace airfreight
