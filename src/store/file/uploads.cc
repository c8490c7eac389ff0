#include "store/file/uploads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "store/checks.h"
#include "store/file/listing.h"
#include "store/file/posix.h"
#include "store/file/sidecar.h"
#include "store/file/temporary_file.h"
#include "store/marker.h"

namespace airfreight {
namespace {

// Walks the folders in the order of their keys.
class Walk {
 public:
  Walk(int root, std::string_view prefix, Marker after, int limit, const Context& context)
      : root_(root),
        prefix_(prefix),
        after_(std::move(after)),
        limit_(static_cast<size_t>(limit)),
        context_(context) {}

  // The folder `folder` ("" or "a/b/") and those below; one file more than the page holds.
  Status Visit(const std::string& folder) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context_));
    std::set<std::string> folders;
    std::set<std::string> files;
    AIRFREIGHT_RETURN_IF_ERROR(Look(folder, &folders, &files));
    for (const std::string& name : files) {
      if (Full()) return {};
      if (Marker{folder, name} > after_) AddFile(folder, name);
    }
    for (const std::string& name : folders) {
      if (Full()) return {};
      AIRFREIGHT_RETURN_IF_ERROR(Visit(name));
    }
    return {};
  }

  UploadPage TakePage() {
    if (page_.uploads.size() > limit_) {
      page_.uploads.resize(limit_);
      page_.next_token = PrintMarker({page_.uploads.back().key, page_.uploads.back().id});
    }
    return std::move(page_);
  }

 private:
  bool Full() const { return page_.uploads.size() > limit_; }

  // Keys of the folders in `folder`, and names of the temporary files.
  Status Look(const std::string& folder, std::set<std::string>* folders,
              std::set<std::string>* files) const {
    return ReadFolder(root_, folder, [&](int directory, const char* name) {
      struct stat found{};
      const std::string_view text = name;
      if (IsTemporaryName(text)) {
        if (folder.starts_with(prefix_)) files->emplace(text);
        return;
      }
      if (text.starts_with(kReservedPrefix)) return;
      const std::string below = folder + name + '/';
      if (!below.starts_with(prefix_) && !prefix_.starts_with(below)) return;
      if (fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode)) {
        folders->insert(below);
      }
    });
  }

  void AddFile(const std::string& folder, const std::string& name) {
    const auto directory =
        posix::OpenBelow(root_, folder.substr(0, folder.size() - !folder.empty()), false, false);
    struct stat found{};
    // It has its name by now, or was given up.
    if (!directory || !*directory ||
        fstatat((*directory)->get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
      return;
    }
    page_.uploads.push_back({folder, name, found.st_mtime});
  }

  const int root_;
  const std::string_view prefix_;
  const Marker after_;
  const size_t limit_;
  const Context& context_;
  UploadPage page_;
};

}  // namespace

Result<UploadPage> ListTemporaryFiles(int root, std::string_view prefix, std::string_view token,
                                      int limit, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(Marker after, ParseMarker(token));
  Walk walk(root, prefix, std::move(after), limit, context);
  AIRFREIGHT_RETURN_IF_ERROR(walk.Visit({}));
  return walk.TakePage();
}

Status RemoveTemporaryFile(int root, std::string_view folder, std::string_view name) {
  if (!IsTemporaryName(name)) {
    return Fail(ErrorCode::kInvalid, "an upload's id that is no temporary file's name");
  }
  if (folder.ends_with('/')) folder.remove_suffix(1);
  AIRFREIGHT_ASSIGN_OR_RETURN(const auto directory, posix::OpenBelow(root, folder, false, false));
  if (!directory || unlinkat(directory->get(), std::string(name).c_str(), 0) == 0) return {};
  return errno == ENOENT ? Status() : posix::FailErrno("removing what is left of a write");
}

}  // namespace airfreight
