#include "store/file/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/checks.h"
#include "store/file/posix.h"
#include "store/file/sidecar.h"

namespace airfreight {
namespace {

// An entry of a directory that may be an object or hold some.
struct Entry {
  std::string
      key;  // From the root on; a directory's ends with a slash, which puts it in key order.
  struct stat file{};
};

struct CloseDirectory {
  void operator()(DIR* entries) const { closedir(entries); }
};

// What to look for, and what was found.
class Lister {
 public:
  Lister(int root, std::string_view prefix, std::string_view token, int limit,
         const Context& context)
      : root_(root),
        prefix_(prefix),
        token_(token),
        limit_(static_cast<size_t>(limit)),
        context_(context) {}

  // Lists the directory whose key is `folder` ("" or "a/b/"), one object more than the page holds
  // at most, so as to know whether a next page is there.
  Status List(const std::string& folder) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const std::vector<Entry> entries, Read(folder));
    for (const Entry& entry : entries) {
      if (objects_.size() > limit_) break;
      AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context_));
      if (S_ISDIR(entry.file.st_mode)) {
        AIRFREIGHT_RETURN_IF_ERROR(List(entry.key));
      } else {
        objects_.push_back({entry.key,
                            static_cast<uint64_t>(entry.file.st_size),
                            FileVersion(entry.file),
                            {},
                            entry.file.st_mtime});
      }
    }
    return {};
  }

  ListPage TakePage() {
    ListPage page;
    if (objects_.size() > limit_) {
      objects_.resize(limit_);
      page.next_token = objects_.back().key;
    }
    page.objects = std::move(objects_);
    return page;
  }

 private:
  // Whether a key that begins with `folder` can be asked for.
  bool MayHold(std::string_view folder) const {
    const bool in_prefix = folder.starts_with(prefix_) || prefix_.starts_with(folder);
    return in_prefix && (folder > token_ || token_.starts_with(folder));
  }
  bool IsAskedFor(std::string_view key) const { return key.starts_with(prefix_) && key > token_; }

  Result<std::vector<Entry>> Read(const std::string& folder) const {
    std::vector<Entry> found;
    AIRFREIGHT_RETURN_IF_ERROR(ReadFolder(root_, folder, [&](int directory, const char* name) {
      if (auto kept = Look(folder, directory, name)) found.push_back(std::move(*kept));
    }));
    std::sort(found.begin(), found.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
    return found;
  }

  // The entry, if it is, or may hold, what is asked for.
  std::optional<Entry> Look(const std::string& folder, int directory, const char* name) const {
    const std::string_view text = name;
    if (text.starts_with(kReservedPrefix)) return std::nullopt;
    Entry entry;
    entry.key = folder + name;
    // The names alone tell most of them apart, without a system call for each.
    if (!IsAskedFor(entry.key) && !MayHold(entry.key + '/')) return std::nullopt;
    if (fstatat(directory, name, &entry.file, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    if (S_ISDIR(entry.file.st_mode)) {
      entry.key += '/';
      return MayHold(entry.key) ? std::optional(std::move(entry)) : std::nullopt;
    }
    const bool asked_for = S_ISREG(entry.file.st_mode) && IsAskedFor(entry.key);
    return asked_for ? std::optional(std::move(entry)) : std::nullopt;
  }

  const int root_;
  const std::string_view prefix_;
  const std::string_view token_;
  const size_t limit_;
  const Context& context_;
  std::vector<ObjectInfo> objects_;
};

}  // namespace

Result<ListPage> ListFiles(int root, std::string_view prefix, std::string_view token, int limit,
                           const Context& context) {
  Lister lister(root, prefix, token, limit, context);
  AIRFREIGHT_RETURN_IF_ERROR(lister.List({}));
  return lister.TakePage();
}

Status ReadFolder(int root, const std::string& folder,
                  const std::function<void(int directory, const char* name)>& look) {
  const std::string_view path = std::string_view(folder).substr(0, folder.size() - !folder.empty());
  AIRFREIGHT_ASSIGN_OR_RETURN(const auto directory, posix::OpenBelow(root, path, false, false));
  if (!directory) return {};
  const int readable = openat(directory->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (readable < 0 && errno == ENOENT) return {};
  if (readable < 0) return posix::FailErrno("listing " + Quoted(folder));
  const std::unique_ptr<DIR, CloseDirectory> entries(fdopendir(readable));
  if (entries == nullptr) {
    const int number = errno;
    close(readable);
    return Fail(posix::ErrnoError(number, "listing " + Quoted(folder)));
  }
  errno = 0;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") look(directory->get(), entry->d_name);
    errno = 0;
  }
  return errno == 0 ? Status() : posix::FailErrno("listing " + Quoted(folder));
}

}  // namespace airfreight
