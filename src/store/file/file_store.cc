#include "store/file/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/basic_store.h"
#include "store/checks.h"
#include "store/file/listing.h"
#include "store/file/object_lock.h"
#include "store/file/posix.h"
#include "store/file/sidecar.h"
#include "store/file/temporary_file.h"
#include "store/file/uploads.h"

namespace airfreight {
namespace {

using posix::Descriptor;
using posix::FailErrno;
using posix::StatFile;

// Ten times what 2,000 bytes of metadata take as lines: a larger file is none of ours.
constexpr size_t kMaxSidecarBytes = 32768;
// What a sink is given at once: what it does with it then happens in the processor's cache.
constexpr size_t kReadPiece = size_t{512} << 10;
// How often a reader may find that the file was replaced between its two looks.
constexpr int kMaxReplacements = 100;

struct Settings {
  bool fsync = true;
  bool shared = false;
};

// A key as directory and name.
struct Place {
  std::string_view folder;
  std::string name;
};

Place Split(std::string_view key) {
  const size_t slash = key.rfind('/');
  if (slash == std::string_view::npos) return {{}, std::string(key)};
  return {key.substr(0, slash), std::string(key.substr(slash + 1))};
}

// CheckKey, and what a file system asks of names besides.
Status CheckFileKey(std::string_view key) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, {}));
  for (size_t start = 0; start <= key.size();) {
    const size_t end = std::min(key.find('/', start), key.size());
    const std::string_view part = key.substr(start, end - start);
    if (part.starts_with(kReservedPrefix)) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("object key {}: parts that begin with '{}' are the "
                              "store's own",
                              Quoted(key), kReservedPrefix));
    }
    if (part.size() > kMaxNameBytes) {
      return Fail(
          ErrorCode::kInvalid,
          fmt::format("object key {}: a part has {} bytes; a directory store takes {}, so that "
                      "the name of its metadata's file has at most 255",
                      Quoted(key), part.size(), kMaxNameBytes));
    }
    start = end + 1;
  }
  return {};
}

Status CheckCondition(const Condition& condition, const std::optional<struct stat>& current) {
  if (condition.kind == Condition::Kind::kNone) return {};
  if (condition.kind == Condition::Kind::kAbsent && !current) return {};
  if (condition.kind == Condition::Kind::kVersion && current &&
      FileVersion(*current) == condition.version) {
    return {};
  }
  return Fail(ErrorCode::kConditionFailed, "the object is not the one that was to be changed");
}

// The metadata that lies beside exactly this state of the file; nothing when there is none. What is
// there and cannot be read is an error: without it a reader would take the object for nobody's, and
// a writer replace a newer one.
Result<std::optional<Sidecar>> ReadSidecar(int directory, std::string_view name,
                                           const struct stat& file) {
  const std::string sidecar_name = SidecarName(name, SidecarToken(file));
  const auto fail = [](int number) {
    return Fail(posix::ErrnoError(number, "reading the object's metadata"));
  };
  const Descriptor sidecar(
      openat(directory, sidecar_name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!sidecar && errno == ENOENT) return std::nullopt;
  if (!sidecar) return fail(errno);
  struct stat found{};
  if (fstat(sidecar.get(), &found) != 0) return fail(errno);
  // None of ours.
  if (!S_ISREG(found.st_mode) || found.st_size > static_cast<off_t>(kMaxSidecarBytes)) {
    return std::nullopt;
  }
  std::string text(static_cast<size_t>(found.st_size), '\0');
  AIRFREIGHT_RETURN_IF_ERROR(
      posix::ReadAll(sidecar.get(), 0, std::as_writable_bytes(std::span(text)), {}));
  return ParseSidecar(text);
}

class FileStore final : public BasicStore, public std::enable_shared_from_this<FileStore> {
 public:
  FileStore(StoreUri uri, Settings settings)
      : BasicStore(uri.Root()), uri_(std::move(uri)), settings_(settings) {}

  std::string_view scheme() const override { return "file"; }
  Capabilities capabilities() const override {
    Capabilities capabilities;
    capabilities.parts = true;
    // off_t's; a file system may take less, and says so (EFBIG).
    capabilities.max_object_bytes = static_cast<uint64_t>(INT64_MAX);
    capabilities.uploads = true;
    return capabilities;
  }

 private:
  // A file that was opened for reading, with the metadata that belongs to it.
  struct Opened {
    Descriptor file;
    ObjectInfo info;
  };

  Result<ObjectInfo> DoPut(std::string_view key, const Body& body, const PutOptions& options,
                           const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckFileKey(key));
    AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities()));
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto root,
                                posix::OpenRoot(uri_.directory, true, settings_.fsync));
    AIRFREIGHT_ASSIGN_OR_RETURN(
        TemporaryFile object,
        TemporaryFile::Create(root->get(), Split(key).folder, settings_.fsync));
    AIRFREIGHT_RETURN_IF_ERROR(posix::WriteAll(object.fd(), 0, body, context));
    return Finish(root->get(), key, object, options, options.condition, context);
  }

  Result<std::unique_ptr<PartUpload>> DoStartUpload(std::string_view key, const PutOptions& options,
                                                    const Context& context) override;

  // Makes what was written to `object` the object of `key`. When the condition does not hold, it
  // may be called again.
  Result<ObjectInfo> Finish(int root, std::string_view key, TemporaryFile& object,
                            const PutOptions& options, const Condition& condition,
                            const Context& context) const {
    const Place place = Split(key);
    // A removal of the folder can no longer succeed: there is a file in it.
    const int folder = object.folder();
    AIRFREIGHT_RETURN_IF_ERROR(object.Stamp());
    if (settings_.fsync) AIRFREIGHT_RETURN_IF_ERROR(posix::SyncFile(object.fd()));

    AIRFREIGHT_ASSIGN_OR_RETURN(TemporaryFile sidecar,
                                TemporaryFile::Create(root, place.folder, settings_.fsync));
    const std::string text = PrintSidecar({options.content_type, options.metadata});
    AIRFREIGHT_RETURN_IF_ERROR(posix::WriteAll(sidecar.fd(), 0, Body(text), context));
    if (settings_.fsync) AIRFREIGHT_RETURN_IF_ERROR(posix::SyncFile(sidecar.fd()));

    AIRFREIGHT_ASSIGN_OR_RETURN(const struct stat written, Publish(root, key, place.name, object,
                                                                   sidecar, condition, context));
    if (settings_.fsync) AIRFREIGHT_RETURN_IF_ERROR(posix::SyncDirectory(folder));
    return Describe(key, written, options.metadata);
  }

  // Moves both files to their names, under the key's lock. The order makes every moment a whole
  // one: until the object's own move, readers find the old file with the old sidecar.
  Result<struct stat> Publish(int root, std::string_view key, const std::string& name,
                              TemporaryFile& object, TemporaryFile& sidecar,
                              const Condition& condition, const Context& context) const {
    auto lock = ObjectLock::Acquire(root, key, context);
    // Without locks "absent" is still decided by link(2), and an unconditional write by rename(2).
    const bool lockless = !lock && lock.error().code == ErrorCode::kUnsupported &&
                          condition.kind != Condition::Kind::kVersion;
    if (!lock && !lockless) return Fail(std::move(lock).error());

    const int folder = object.folder();
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto current, StatFile(folder, name));
    if (current && !S_ISREG(current->st_mode)) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("{} is a directory or a device, not an object", Quoted(name)));
    }
    AIRFREIGHT_RETURN_IF_ERROR(CheckCondition(condition, current));
    AIRFREIGHT_ASSIGN_OR_RETURN(struct stat written, object.Stat());
    // Two files of one length in one second, on a file system that keeps whole seconds.
    for (int64_t ahead = 1; current && SidecarToken(*current) == SidecarToken(written); ++ahead) {
      AIRFREIGHT_RETURN_IF_ERROR(object.Stamp(ahead));
      AIRFREIGHT_ASSIGN_OR_RETURN(written, object.Stat());
    }
    const std::string sidecar_name = SidecarName(name, SidecarToken(written));
    AIRFREIGHT_RETURN_IF_ERROR(sidecar.MoveTo(sidecar_name));
    auto moved =
        condition.kind == Condition::Kind::kAbsent ? object.LinkTo(name) : object.MoveTo(name);
    if (!moved) {
      (void)unlinkat(folder, sidecar_name.c_str(), 0);
      return Fail(std::move(moved).error());
    }
    if (current) (void)unlinkat(folder, SidecarName(name, SidecarToken(*current)).c_str(), 0);
    return written;
  }

  Result<GetResult> DoGet(std::string_view key, const GetOptions& options,
                          const Context& context) override {
    AIRFREIGHT_ASSIGN_OR_RETURN(Opened opened, Open(key, context));
    if (!options.if_version.empty() && options.if_version != opened.info.version) {
      return Fail(ErrorCode::kConditionFailed, "the object has changed");
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const Range range, ClipRange(options, opened.info.size));
    GetResult result;
    result.info = std::move(opened.info);
    AIRFREIGHT_ASSIGN_OR_RETURN(result.body, Buffer::Allocate(range.length));
    result.body.Resize(range.length);
    AIRFREIGHT_RETURN_IF_ERROR(posix::ReadAll(opened.file.get(), range.offset,
                                              {result.body.data(), result.body.size()}, context));
    return result;
  }

  Result<ObjectInfo> DoRead(std::string_view key, const GetOptions& options, ReadSink& sink,
                            const Context& context) override {
    AIRFREIGHT_ASSIGN_OR_RETURN(Opened opened, Open(key, context));
    if (!options.if_version.empty() && options.if_version != opened.info.version) {
      return Fail(ErrorCode::kConditionFailed, "the object has changed");
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const Range range, ClipRange(options, opened.info.size));
    AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(opened.info));
    AIRFREIGHT_ASSIGN_OR_RETURN(Buffer piece,
                                Buffer::Allocate(std::min<uint64_t>(range.length, kReadPiece)));
    for (uint64_t done = 0; done < range.length; done += piece.size()) {
      piece.Resize(std::min<uint64_t>(range.length - done, piece.capacity()));
      AIRFREIGHT_RETURN_IF_ERROR(posix::ReadAll(opened.file.get(), range.offset + done,
                                                {piece.data(), piece.size()}, context));
      AIRFREIGHT_RETURN_IF_ERROR(sink.Write(piece.view()));
    }
    return std::move(opened.info);
  }

  Result<ObjectInfo> DoHead(std::string_view key, const Context& context) override {
    AIRFREIGHT_ASSIGN_OR_RETURN(Opened opened, Open(key, context));
    return std::move(opened.info);
  }

  // Opens the object and finds the metadata of the very file that it has opened.
  Result<Opened> Open(std::string_view key, const Context& context) const {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckFileKey(key));
    const Place place = Split(key);
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto root, posix::OpenRoot(uri_.directory, false, false));
    if (!root) return Missing();
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto folder,
                                posix::OpenBelow(root->get(), place.folder, false, false));
    if (!folder) return Missing();
    for (int replacement = 0; replacement < kMaxReplacements; ++replacement) {
      // Looked at first: opening a device or a pipe may have effects of its own.
      AIRFREIGHT_ASSIGN_OR_RETURN(const auto named, StatFile(folder->get(), place.name));
      if (!named || !S_ISREG(named->st_mode)) return Missing();
      Opened opened;
      opened.file = Descriptor(openat(folder->get(), place.name.c_str(),
                                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!opened.file && (errno == ENOENT || errno == EINTR)) continue;
      if (!opened.file) return FailErrno("opening the object");
      struct stat file{};
      if (fstat(opened.file.get(), &file) != 0) return FailErrno("looking at the object");
      if (!S_ISREG(file.st_mode)) continue;
      AIRFREIGHT_ASSIGN_OR_RETURN(auto sidecar, ReadSidecar(folder->get(), place.name, file));
      if (!sidecar) {
        // Either it has none, or a writer replaced the object after we opened it.
        AIRFREIGHT_ASSIGN_OR_RETURN(const auto again, StatFile(folder->get(), place.name));
        if (!again || FileVersion(*again) != FileVersion(file)) continue;
        sidecar.emplace();
      }
      opened.info = Describe(key, file, std::move(sidecar->metadata));
      return opened;
    }
    Error error;
    error.code = ErrorCode::kUnavailable;
    error.message = "the object is replaced as often as it is opened";
    error.retryable = true;
    return Fail(std::move(error));
  }

  Status DoRemove(std::string_view key, const Condition& condition,
                  const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckFileKey(key));
    const Place place = Split(key);
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto root, posix::OpenRoot(uri_.directory, false, false));
    if (!root) return CheckCondition(condition, std::nullopt);
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto folder,
                                posix::OpenBelow(root->get(), place.folder, false, false));
    if (!folder) return CheckCondition(condition, std::nullopt);
    {
      const auto lock = ObjectLock::Acquire(root->get(), key, context);
      const bool lockless = !lock && lock.error().code == ErrorCode::kUnsupported &&
                            condition.kind == Condition::Kind::kNone;
      if (!lock && !lockless) return Fail(lock.error());
      AIRFREIGHT_ASSIGN_OR_RETURN(const auto current, StatFile(folder->get(), place.name));
      const bool there = current && S_ISREG(current->st_mode);
      AIRFREIGHT_RETURN_IF_ERROR(CheckCondition(condition, there ? current : std::nullopt));
      if (there && unlinkat(folder->get(), place.name.c_str(), 0) != 0 && errno != ENOENT) {
        return FailErrno("removing the object");
      }
      SweepFolder(folder->get(), place.name);
    }
    if (settings_.fsync) AIRFREIGHT_RETURN_IF_ERROR(posix::SyncDirectory(folder->get()));
    RemoveEmptyFolders(root->get(), place.folder);
    return {};
  }

  // Best effort, up to the first that is not empty. A writer that loses its folder makes it again.
  static void RemoveEmptyFolders(int root, std::string_view folder) {
    while (!folder.empty()) {
      const Place place = Split(folder);
      const auto parent = posix::OpenBelow(root, place.folder, false, false);
      if (!parent || !*parent) return;
      if (unlinkat((*parent)->get(), place.name.c_str(), AT_REMOVEDIR) != 0) return;
      folder = place.folder;
    }
  }

  Result<ListPage> DoList(std::string_view prefix, std::string_view token, int limit,
                          const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto root, posix::OpenRoot(uri_.directory, false, false));
    if (!root) return ListPage();
    return ListFiles(root->get(), prefix, token, limit, context);
  }

  Result<UploadPage> DoListUploads(std::string_view prefix, std::string_view token, int limit,
                                   const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto root, posix::OpenRoot(uri_.directory, false, false));
    if (!root) return UploadPage();
    return ListTemporaryFiles(root->get(), prefix, token, limit, context);
  }

  // `folder` as ListUploads gives it: with a slash at its end, or nothing.
  Status DoAbortUpload(std::string_view folder, std::string_view id,
                       const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    if (folder.ends_with('/')) folder.remove_suffix(1);
    if (!folder.empty()) AIRFREIGHT_RETURN_IF_ERROR(CheckFileKey(folder));
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto root, posix::OpenRoot(uri_.directory, false, false));
    if (!root) return {};
    AIRFREIGHT_RETURN_IF_ERROR(RemoveTemporaryFile(root->get(), folder, id));
    RemoveEmptyFolders(root->get(), folder);
    return {};
  }

  tl::unexpected<Error> Missing() const {
    std::string message = fmt::format("no object at this key below {}", Quoted(uri_.directory));
    if (!settings_.shared) {
      message += fmt::format(
          " on host {}. File stores are not shared between hosts unless the directory is on a file "
          "system that all of them mount (then say so: [airfreight] file_store_shared = True); for "
          "several hosts s3://bucket/xcom is the usual store",
          Quoted(posix::HostName()));
    }
    return Fail(ErrorCode::kNotFound, std::move(message));
  }

  static ObjectInfo Describe(std::string_view key, const struct stat& file, Metadata metadata) {
    return {std::string(key), static_cast<uint64_t>(file.st_size), FileVersion(file),
            std::move(metadata), file.st_mtime};
  }

  friend class FileUpload;

  const StoreUri uri_;
  const Settings settings_;
};

// Parts are written where they belong in a hidden file, which becomes the object as that of a Put
// does.
class FileUpload final : public BasicUpload {
 public:
  FileUpload(std::shared_ptr<const FileStore> store, Descriptor root, TemporaryFile object,
             std::string_view key, PutOptions options)
      : BasicUpload(store->root(), key),
        store_(std::move(store)),
        root_(std::move(root)),
        object_(std::move(object)),
        options_(std::move(options)) {}

 private:
  static tl::unexpected<Error> Ended() {
    return Fail(ErrorCode::kNotFound, "the upload was completed or given up before");
  }

  Result<UploadedPart> DoPutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                                 const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    if (!object_) return Ended();
    if (number < 1 || number > store_->capabilities().max_parts) {
      return Fail(ErrorCode::kInvalid, fmt::format("there is no part {}", number));
    }
    AIRFREIGHT_RETURN_IF_ERROR(posix::WriteAll(object_->fd(), offset, body, context));
    return UploadedPart{number, offset, body.size(), crc32c, fmt::format("{}", offset)};
  }

  Result<ObjectInfo> DoComplete(const std::vector<UploadedPart>& parts, const Condition& condition,
                                const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    if (!object_) return Ended();
    uint64_t size = 0;
    int number = 0;
    for (const UploadedPart& part : parts) {
      if (part.number != ++number || part.offset != size) {
        return Fail(ErrorCode::kInvalid,
                    fmt::format("part {} is not what follows the ones before it", part.number));
      }
      size += part.size;
    }
    // A part that was replaced by a shorter one may have reached further. A hole that no part has
    // filled cannot be: the parts above tile the file.
    if (ftruncate(object_->fd(), static_cast<off_t>(size)) != 0) {
      return FailErrno("setting the object's length");
    }
    auto info = store_->Finish(root_.get(), key(), *object_, options_, condition, context);
    // Once it has its name it is no part of this upload any more, whatever failed afterwards: done
    // again, it would be changed under its readers.
    if (info || object_->moved()) object_.reset();
    return info;
  }

  Status DoAbort(const Context& /*context*/) override {
    if (object_) {
      object_.reset();
      FileStore::RemoveEmptyFolders(root_.get(), Split(key()).folder);
    }
    return {};
  }

  const std::shared_ptr<const FileStore> store_;
  const Descriptor root_;
  std::optional<TemporaryFile> object_;  // Nothing once the upload has ended.
  const PutOptions options_;
};

Result<std::unique_ptr<PartUpload>> FileStore::DoStartUpload(std::string_view key,
                                                             const PutOptions& options,
                                                             const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  AIRFREIGHT_RETURN_IF_ERROR(CheckFileKey(key));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities()));
  AIRFREIGHT_ASSIGN_OR_RETURN(auto root, posix::OpenRoot(uri_.directory, true, settings_.fsync));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      TemporaryFile object, TemporaryFile::Create(root->get(), Split(key).folder, settings_.fsync));
  return std::make_unique<FileUpload>(shared_from_this(), *std::move(root), std::move(object), key,
                                      options);
}

}  // namespace

Result<std::shared_ptr<ObjectStore>> OpenFileStore(const StoreUri& uri,
                                                   const StoreSettings& settings) {
  StoreSettings rest = settings;
  Settings parsed;
  AIRFREIGHT_ASSIGN_OR_RETURN(parsed.fsync, TakeBool(rest, "file", "fsync", parsed.fsync));
  AIRFREIGHT_ASSIGN_OR_RETURN(parsed.shared, TakeBool(rest, "file", "shared", parsed.shared));
  AIRFREIGHT_RETURN_IF_ERROR(
      RefuseUnknown(rest, "file", {"fsync", "shared", "retry_timeout", "max_attempts"}));
  return std::make_shared<FileStore>(uri, parsed);
}

}  // namespace airfreight
