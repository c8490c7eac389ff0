#pragma once

/// \file
/// \brief ObjectStore: the five verbs that every store has, and what each store declares of itself.
///
/// To add one: derive from BasicStore (`src/store/basic_store.h`) under `src/store/<name>/`, add
/// its scheme to `src/store/open.cc`, register it in `tests/conformance/`.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/result.h"

namespace airfreight {

/// Longest key: the limit of S3 (docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html)
/// and of Google Cloud Storage.
inline constexpr size_t kMaxKeyBytes = 1024;
/// Longest prefix that leaves room for five parts, a by-hand name and an extension.
inline constexpr size_t kMaxPrefixBytes = 150;

/// \brief How long an operation may take and whether it is still wanted. Passed down every call.
struct Context {
  using Clock = std::chrono::steady_clock;
  /// No attempt starts, and no wait goes on, after this moment. Absent: no limit.
  std::optional<Clock::time_point> deadline;
  /// Polled from the calling thread at least every 200 ms while a call blocks; true ends the call
  /// with Cancelled. Empty: never.
  std::function<bool()> cancelled;

  bool IsCancelled() const { return cancelled && cancelled(); }
  bool Expired() const { return deadline && Clock::now() >= *deadline; }
};

/// \brief When a write or a removal may happen. Checked by the store, atomically with the change,
/// where Capabilities say so.
struct Condition {
  enum class Kind { kNone, kAbsent, kVersion };
  Kind kind = Kind::kNone;
  std::string version;  ///< With kVersion: what ObjectInfo::version said.

  static Condition None() { return {}; }
  static Condition Absent() { return {Kind::kAbsent, {}}; }
  static Condition Version(std::string version) { return {Kind::kVersion, std::move(version)}; }
};

/// Small text that lies with the object. Names: `[a-z0-9-]+`; values: printable ASCII without
/// leading or trailing blanks; names and values together at most 2,000 bytes (S3's limit is 2 KB:
/// docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html).
using Metadata = std::map<std::string, std::string>;

struct PutOptions {
  Condition condition;
  Metadata metadata;
  std::string content_type = "application/octet-stream";
  /// When the object's time is over, in seconds since 1970; absent: it stays. For stores that let
  /// objects end by themselves (Redis); others leave that to rules of the bucket.
  std::optional<int64_t> expires_unix;
  /// Of `expires_unix`, for such rules: the shortest class that keeps the object long enough (see
  /// `src/freight/retention.h`), as "7d". For stores that tag objects, where they may. Empty: none.
  std::string retention_class;
  /// Of the body, where the caller knows it: for stores that check what arrives.
  std::optional<uint32_t> crc32c;
  /// The key that the store is to encrypt this object under, in its own terms (S3 and Google: the
  /// name of a KMS key; Azure: an encryption scope), over what its settings say. Empty: as they
  /// say. Unsupported, before a byte is sent, where Capabilities::encryption_key is false. For
  /// uploads in parts too.
  std::string encryption_key;
};

struct GetOptions {
  uint64_t offset = 0;
  std::optional<uint64_t> length;         ///< Absent: to the end.
  std::optional<uint64_t> expected_size;  ///< A hint for one allocation of the right size.
  std::string if_version;                 ///< Not empty: ConditionFailed when it has changed.
};

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;  ///< Of the whole object.
  /// Opaque. Equal versions mean equal bytes; equal writes too, except on S3, whose version is the
  /// ETag (quoted): two writes of the same bytes may share one.
  std::string version;
  Metadata metadata;          ///< Empty from List.
  int64_t modified_unix = 0;  ///< Seconds since 1970, 0 when the store does not say.
};

struct GetResult {
  ObjectInfo info;
  Buffer body;
};

/// \brief Where the bytes of a read go, in order, as they come.
///
/// Threads: called from the thread that reads. Errors: one that is returned ends the read and
/// becomes its result; that is also how a reader that has enough stops.
class ReadSink {
 public:
  virtual ~ReadSink() = default;
  /// Once, before the first byte, and for an empty body too. `info.size` is the whole object's.
  virtual Status Begin(const ObjectInfo& info) = 0;
  virtual Status Write(ByteView bytes) = 0;
};

/// One part that a store has confirmed.
struct UploadedPart {
  int number = 0;  ///< From 1.
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t crc32c = 0;
  std::string tag;  ///< What the store calls it (S3: its ETag).
};

/// \brief An object on its way to a store in parts; nothing is seen of it before Complete.
///
/// Threads: PutPart may be called from several at once, for different parts; the others by one,
/// with no PutPart under way. Ownership: shares the store. The destructor makes no request: whoever
/// does not complete an upload aborts it. Fork, blocking, errors: as ObjectStore.
class PartUpload {
 public:
  virtual ~PartUpload() = default;
  /// Sends one part; once more under the same number replaces it. `crc32c` is the body's. Every
  /// part but the last has at least Capabilities::min_part_bytes.
  virtual Result<UploadedPart> PutPart(int number, uint64_t offset, const Body& body,
                                       uint32_t crc32c, const Context& context) = 0;
  /// Makes the object of `parts`, which are ascending and without gaps. After ConditionFailed the
  /// parts are still there: it may be called again with another condition.
  virtual Result<ObjectInfo> Complete(const std::vector<UploadedPart>& parts,
                                      const Condition& condition, const Context& context) = 0;
  /// Gives the parts up. A success also where the store knows nothing of the upload any more.
  virtual Status Abort(const Context& context) = 0;
};

struct ListPage {
  std::vector<ObjectInfo> objects;  ///< Ascending by key.
  std::string next_token;           ///< Empty on the last page.
};

/// One version of an object, or the mark of its removal (S3: a delete marker; its size is 0).
struct VersionInfo {
  ObjectInfo object;  ///< `version` as elsewhere; empty for a mark. No metadata.
  /// What RemoveVersion is given. Opaque, not empty, and of this key only.
  std::string id;
  bool latest = false;  ///< What Get reads, or the mark by which it finds nothing.
  bool removal = false;
};

struct VersionPage {
  std::vector<VersionInfo> versions;  ///< Those of a key side by side.
  std::string next_token;             ///< Empty on the last page.
};

/// An upload in parts that was begun, and neither completed nor aborted; or what is left of one.
struct UploadInfo {
  /// The object's. Where the store does not tell it: what it begins with, a folder (file), empty
  /// (Google, of parts that another release sent).
  std::string key;
  std::string id;            ///< What AbortUpload is given, with `key`. Opaque, not empty.
  int64_t started_unix = 0;  ///< Seconds since 1970: of the first sign of it; 0 when not known.
};

struct UploadPage {
  std::vector<UploadInfo> uploads;
  std::string next_token;  ///< Empty on the last page.
};

struct Capabilities {
  bool conditional_put = true;          ///< Condition is honoured by Put, atomically.
  bool conditional_remove = true;       ///< Condition is honoured by Remove, atomically.
  uint64_t max_put_bytes = UINT64_MAX;  ///< Largest body of one Put.
  /// StartUpload is there, with these limits. Without it a value has to fit one Put.
  bool parts = false;
  uint64_t min_part_bytes = 1;
  uint64_t max_part_bytes = UINT64_MAX;
  int max_parts = 10'000;
  uint64_t max_object_bytes = UINT64_MAX;
  bool encryption_key = false;  ///< PutOptions::encryption_key is honoured; else it is refused.
  /// The place may be one that keeps what was replaced or removed: List does not show it,
  /// ListVersions does, and only RemoveVersion makes an end of it.
  bool versions = false;
  bool uploads = false;  ///< ListUploads and AbortUpload are there.
  /// Several requests at once move more than one does: true for what lies behind a network.
  bool parallel = false;
  /// How many parts' worth of bytes one Put carries better than parts at once would.
  int parts_in_one_put = 2;
  /// StartUpload is a request, whose time tells how near the store is.
  bool start_is_request = true;
};

/// \brief A place for objects, below a root and a prefix that belong to the store object.
///
/// Keys are relative to the prefix, as Coordinate gives them.
/// Threads: every method may be called from several threads at once. Fork: a child neither uses nor
/// destroys its parent's (its locks and connections belong to threads that are not there); what
/// lives across a fork holds stores through `src/base/fork_local.h`.
/// Blocking: calls return when the store has answered, the deadline has passed or the call was
/// cancelled. Errors: NotFound, NotFoundOrDenied, ConditionFailed, Denied, Throttled, Unavailable,
/// Timeout, Cancelled, TooLarge, Invalid, Internal; with store and key filled in.
///
/// No verb has a default here, so that no layer can forget one: it would not compile.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// Root and prefix without credentials or connection id: "s3://bucket/xcom". An object's URI is
  /// this + "/" + key.
  virtual const std::string& root() const = 0;
  /// "s3", "file", "memory": what `_xcom_backend` says.
  virtual std::string_view scheme() const = 0;
  virtual Capabilities capabilities() const = 0;

  /// Writes the whole object and returns when the store has confirmed it. A reader sees the old
  /// object or the new one, never a part. The result has `version`. ConditionFailed, and never
  /// NotFound, where a version was asked for and nothing lies.
  virtual Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                                 const Context& context) = 0;
  /// Reads the object or a range of it. A body shorter than promised is an error, never a result.
  virtual Result<GetResult> Get(std::string_view key, const GetOptions& options,
                                const Context& context) = 0;
  /// As Get, with the bytes given to `sink` as they come.
  virtual Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                                  const Context& context) = 0;
  /// Begins an upload in parts of an object that `options` describe; its condition and checksum are
  /// not looked at (Complete has a condition of its own). Unsupported where Capabilities::parts is
  /// false.
  virtual Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key,
                                                          const PutOptions& options,
                                                          const Context& context) = 0;
  virtual Result<ObjectInfo> Head(std::string_view key, const Context& context) = 0;
  /// Removing what is not there is a success (as S3 has it), unless a condition asks for a version.
  virtual Status Remove(std::string_view key, const Condition& condition,
                        const Context& context) = 0;
  /// Objects whose key begins with `prefix`, `limit` at most (1–1000), after `token`.
  virtual Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                                const Context& context) = 0;

  /// \name Administration
  /// What only an administrator's commands ask for, and only their role may (`docs/erase.md`).
  /// @{

  /// Every version of the objects whose key begins with `prefix`, `limit` entries at most (1–1000),
  /// after `token`. Of stores that keep none: the objects of List, each with its version as `id`.
  /// Where the store does not tell versions apart while it lists, a page may hold fewer than
  /// `limit`.
  virtual Result<VersionPage> ListVersions(std::string_view prefix, std::string_view token,
                                           int limit, const Context& context) = 0;
  /// What one version says of itself, with its metadata. NotFound where there is no such version,
  /// and for the mark of a removal, which says nothing.
  virtual Result<ObjectInfo> HeadVersion(std::string_view key, std::string_view id,
                                         const Context& context) = 0;
  /// Removes one version for good, and leaves the others. A success where there is no such version
  /// (any more).
  virtual Status RemoveVersion(std::string_view key, std::string_view id,
                               const Context& context) = 0;
  /// Unfinished uploads of the objects whose key begins with `prefix`; those whose key is not told
  /// where that is `prefix` or begins with it. Unsupported where Capabilities::uploads is false.
  virtual Result<UploadPage> ListUploads(std::string_view prefix, std::string_view token, int limit,
                                         const Context& context) = 0;
  /// Removes what an unfinished upload has sent; whoever still writes it gets NotFound. A success
  /// where there is no such upload (any more). Unsupported where Capabilities::uploads is false.
  virtual Status AbortUpload(std::string_view key, std::string_view id, const Context& context) = 0;
  /// @}
};

/// Settings of a store by name, as the configuration gives them: "endpoint_url", "region", …
using StoreSettings = std::map<std::string, std::string>;

/// \brief Opens the store that `uri` names: `s3://[conn_id@]bucket[/prefix]`, `file:///dir`,
/// `memory://name`, `redis://[conn_id@]host[:port]/db[/prefix]` (`rediss://`
/// for TLS). Makes no request and no thread. The store comes wrapped in its layers,
/// outermost first: breaker (`src/store/breaking_store.h`), retry, then the store.
///
/// Invalid when the URI or a setting is wrong: the message names it, quotes it and shows a right
/// one. A setting that the store does not know is Invalid too.
Result<std::shared_ptr<ObjectStore>> OpenStore(std::string_view uri, const StoreSettings& settings);

}  // namespace airfreight
