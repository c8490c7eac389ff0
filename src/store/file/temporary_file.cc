#include "store/file/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "store/file/sidecar.h"

namespace airfreight {
namespace {

constexpr std::string_view kSuffix = ".tmp";
// What umask leaves of it decides who may share the object.
constexpr mode_t kFileMode = 0666;
// No push takes a day: Airflow's own limits for a task and for its heartbeat are far below.
constexpr int64_t kDeadAfterSeconds = int64_t{24} * 3600;
// As often as a folder may vanish before it is called a fault; see OpenBelow.
constexpr int kMaxRaces = 100;

Result<long> RandomNanoseconds() {
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string hex, RandomHex128());
  uint32_t bits = 0;
  std::from_chars(hex.data(), hex.data() + 8, bits, 16);
  return static_cast<long>(bits % 1'000'000'000);
}

}  // namespace

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      file_(std::move(other.file_)),
      name_(std::exchange(other.name_, {})) {}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) (void)unlinkat(folder_.get(), name_.c_str(), 0);
}

Result<TemporaryFile> TemporaryFile::Create(int root, std::string_view folder, bool sync) {
  for (int race = 0; race < kMaxRaces; ++race) {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto directory, posix::OpenBelow(root, folder, true, sync));
    AIRFREIGHT_ASSIGN_OR_RETURN(const std::string random, RandomHex128());
    std::string name = fmt::format("{}{}{}", kReservedPrefix, random, kSuffix);
    posix::Descriptor file(openat(directory->get(), name.c_str(),
                                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (file) return TemporaryFile(std::move(*directory), std::move(file), std::move(name));
    // ENOENT: someone removed the folder because it was empty.
    if (errno != ENOENT && errno != EINTR && errno != EEXIST) break;
  }
  return posix::FailErrno("making a file for the object");
}

Result<struct stat> TemporaryFile::Stat() const {
  struct stat found{};
  if (fstat(file_.get(), &found) != 0) return posix::FailErrno("looking at the written object");
  return found;
}

Status TemporaryFile::Stamp(int64_t seconds_ahead) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const long nanoseconds, RandomNanoseconds());
  const timespec now{static_cast<time_t>(UnixSecondsNow() + seconds_ahead), nanoseconds};
  const std::array<timespec, 2> times{now, now};
  if (futimens(file_.get(), times.data()) == 0) return {};
  return posix::FailErrno("dating the object");
}

Status TemporaryFile::MoveTo(const std::string& name) {
  if (renameat(folder_.get(), name_.c_str(), folder_.get(), name.c_str()) != 0) {
    return posix::FailErrno("moving the object to its name");
  }
  name_.clear();
  return {};
}

Status TemporaryFile::LinkTo(const std::string& name) {
  if (linkat(folder_.get(), name_.c_str(), folder_.get(), name.c_str(), 0) == 0) {
    (void)unlinkat(folder_.get(), name_.c_str(), 0);
    name_.clear();
    return {};
  }
  const int number = errno;
  if (number == EEXIST) {
    // Over NFS the reply to a link that was made may be lost, and its repetition then finds it
    // (open(2), O_EXCL: "use fstat on the unique file to check whether its link count is 2").
    struct stat found{};
    if (fstat(file_.get(), &found) == 0 && found.st_nlink == 2) {
      (void)unlinkat(folder_.get(), name_.c_str(), 0);
      name_.clear();
      return {};
    }
    return Fail(ErrorCode::kConditionFailed, "an object is already there");
  }
  // FAT and some FUSE file systems have no links: link(2), EPERM. The caller's lock has to do
  // there.
  if (number == EPERM || number == EOPNOTSUPP || number == ENOSYS || number == EMLINK) {
    return MoveTo(name);
  }
  return Fail(posix::ErrnoError(number, "moving the object to its name"));
}

bool IsTemporaryName(std::string_view name) {
  return name.starts_with(kReservedPrefix) && name.ends_with(kSuffix) &&
         name.size() == kReservedPrefix.size() + 32 + kSuffix.size() &&
         name.find('/') == std::string_view::npos;
}

void SweepFolder(int folder, std::string_view name) {
  const int readable = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (readable < 0) return;
  DIR* const entries = fdopendir(readable);
  if (entries == nullptr) {
    close(readable);
    return;
  }
  const std::string sidecars = SidecarNamePrefix(name);
  const int64_t dead = UnixSecondsNow() - kDeadAfterSeconds;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view found = entry->d_name;
    bool remove = found.starts_with(sidecars);
    if (!remove && IsTemporaryName(found)) {
      struct stat file{};
      remove =
          fstatat(folder, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && file.st_mtime < dead;
    }
    if (remove) (void)unlinkat(folder, entry->d_name, 0);
  }
  closedir(entries);
}

}  // namespace airfreight
