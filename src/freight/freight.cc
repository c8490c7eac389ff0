#include "airfreight/freight.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/digest.h"
#include "base/random.h"
#include "base/time.h"
#include "base/utf8.h"
#include "freight/attempt.h"
#include "freight/freight_write.h"

namespace airfreight {
namespace {

// Bytes hashed between two polls of the caller's wishes: SHA-256 without hardware help does 200
// MB/s.
constexpr size_t kDigestPiece = size_t{16} << 20;
// Coordinates that a process remembers having written. One forgotten costs a later push of the same
// coordinate two requests; a process that lives for weeks (a triggerer) must not grow for ever.
constexpr size_t kMaxRemembered = 10'000;
// What Decision::store says when nothing else was decided.
constexpr std::string_view kDefaultStore = "default";

Result<std::string> Digest(DigestKind kind, const Body& body, const Context& context) {
  Digester digester(kind);
  for (ByteView rest : body.segments()) {
    while (!rest.empty()) {
      if (context.IsCancelled()) return Fail(ErrorCode::kCancelled, "the caller asked to stop");
      if (context.Expired()) return Fail(ErrorCode::kTimeout, "the deadline has passed");
      const ByteView piece = rest.first(std::min(rest.size(), kDigestPiece));
      digester.Update(piece);
      rest = rest.subspan(piece.size());
    }
  }
  return digester.Finish();
}

// An object that this process has written.
struct Written {
  std::string root;
  std::string key;
  std::string version;
  std::string write;
};

// An object by its store and the key in it.
struct Place {
  const NamedStore* store = nullptr;
  std::string key;

  ObjectStore& operator*() const { return *store->store; }
  const std::string& root() const { return store->store->root(); }
};

std::string UriOf(const NamedStore& store, std::string_view key) {
  return fmt::format("{}/{}", store.store->root(), key);
}

// The error with what only this layer knows: whose value it was about, and where that lies.
Error About(const Coordinate& coordinate, const Place& place, Error error) {
  error.message += fmt::format(" ({})", coordinate.ToString());
  if (place.store != nullptr && error.store.empty()) error.store = place.root();
  if (error.key.empty()) error.key = place.key;
  return error;
}

template <typename T>
Result<T> About(const Coordinate& coordinate, const Place& place, Result<T> result) {
  if (!result) return Fail(About(coordinate, place, std::move(result).error()));
  return result;
}

Result<const NamedStore*> FindStoreToWrite(const std::vector<NamedStore>& stores,
                                           std::string_view name) {
  std::string known;
  for (const NamedStore& named : stores) {
    if (named.name == name) return &named;
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", named.name);
  }
  if (name == kDefaultStore && !stores.empty()) return &stores.front();
  return Fail(
      ErrorCode::kInvalid,
      fmt::format("this value belongs into store '{}', and the configured ones are {}; set e.g. "
                  "[airfreight] store = s3://bucket/xcom",
                  VisibleText(name), known.empty() ? "none" : known));
}

// The place that a reference may be read from, or why not. The key is recomputed, never taken from
// the row: whoever can edit the database could name any object there.
Result<Place> Locate(const std::vector<NamedStore>& stores, const Reference& reference) {
  const std::string_view uri = reference.uri;
  const size_t dot = uri.rfind('.');
  const auto key = reference.coordinate.ObjectKey(
      dot == std::string_view::npos ? std::string_view() : uri.substr(dot + 1));
  const NamedStore* found = nullptr;
  bool in_a_root = false;
  std::string roots;
  for (const NamedStore& named : stores) {
    const std::string& root = named.store->root();
    in_a_root = in_a_root || uri.starts_with(root + '/');
    // The store of the reference's own name if there is one; another name for the same place will
    // do.
    const bool same = key && uri == UriOf(named, *key);
    if (same && (found == nullptr || named.name == reference.store)) found = &named;
    roots += fmt::format("{}{}", roots.empty() ? "" : ", ", root);
  }
  if (found != nullptr) return Place{found, *key};
  const std::string shown = VisibleText(uri.substr(0, kMaxReferenceBytes));
  if (in_a_root) {
    return Fail(
        ErrorCode::kOutOfScope,
        fmt::format(
            "the row refers to {}, which is not where the object of this XCom lies: the row was "
            "edited, or copied from another one. Nothing was read",
            shown));
  }
  return Fail(
      ErrorCode::kOutOfScope,
      fmt::format("the row refers to {}, and only objects below {} may be read here. If that is a "
                  "place of yours, name it in [airfreight] store or in [airfreight] read_also",
                  shown, roots.empty() ? "no store at all" : roots));
}

Status CheckSize(const Body& body, const ValueInfo& info, const Decision& decision,
                 const Capabilities& capabilities) {
  const auto refuse = [&](std::string_view limit) {
    return Fail(ErrorCode::kTooLarge, fmt::format("the value takes {} bytes as {}; {}", body.size(),
                                                  info.extension, limit));
  };
  if (decision.max_bytes != 0 && body.size() > decision.max_bytes) {
    return refuse(fmt::format("[airfreight] max_object_bytes allows {}", decision.max_bytes));
  }
  if (body.size() > capabilities.max_put_bytes) {
    return refuse(fmt::format("the store takes {} in one request", capabilities.max_put_bytes));
  }
  return {};
}

// Checks what was got against what the row promises.
Result<Buffer> Verify(GetResult got, const Reference& reference, DigestKind kind,
                      const Context& context) {
  const uint64_t size = got.body.size();
  std::string digest;
  if (size == reference.size_bytes) {
    AIRFREIGHT_ASSIGN_OR_RETURN(digest, Digest(kind, Body(got.body.view()), context));
    // Whoever wrote it: these are the bytes that the reference promises.
    if (digest == reference.digest) return std::move(got.body);
  }
  const std::optional<WriteStamp> stamp = ParseWriteMetadata(got.info.metadata);
  if (stamp && stamp->write != reference.write) {
    return Fail(
        ErrorCode::kReplaced,
        fmt::format("a later push (attempt {}, started {}) has replaced the object that this row "
                    "refers to (attempt {}, written {}). Pull again; if the row stays behind, "
                    "clear the task that pushes",
                    stamp->attempt, FormatIso8601(stamp->started_micros / 1'000'000),
                    reference.attempt, VisibleText(reference.written)));
  }
  if (size != reference.size_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the object is damaged: it has {} bytes, and {} were "
                            "written",
                            size, reference.size_bytes));
  }
  return Fail(ErrorCode::kCorrupt,
              fmt::format("the object is damaged: the digest of its {} bytes is {}, "
                          "and {} was written",
                          size, digest, reference.digest));
}

Result<Buffer> GetAt(const Place& place, const Reference& reference, const Context& context) {
  const std::optional<DigestKind> kind = DigestKindOf(reference.digest);
  if (!kind) {
    return Fail(
        ErrorCode::kNewerFormat,
        fmt::format(
            "the reference has a digest that this release does not know ('{}'); install the "
            "release of airfreight that wrote it",
            VisibleText(reference.digest.substr(0, reference.digest.find(':')))));
  }
  GetOptions options;
  options.expected_size = reference.size_bytes;  // A hint; the store's own answer sizes the buffer.
  auto got = (*place).Get(place.key, options, context);
  if (got) return Verify(std::move(got).value(), reference, *kind, context);
  Error error = std::move(got).error();
  const bool denied = error.code == ErrorCode::kNotFoundOrDenied;
  if (denied || error.code == ErrorCode::kNotFound) {
    error.message = fmt::format("the object of this XCom, written {}, is missing{}: {}",
                                VisibleText(reference.written), denied ? " or may not be read" : "",
                                error.message);
  }
  return Fail(std::move(error));
}

// What the next write is to find: what this process left there, or nothing.
Condition Expectation(const Place& place, const std::optional<Written>& earlier) {
  const bool own = earlier && earlier->root == place.root() && earlier->key == place.key;
  return own && !earlier->version.empty() ? Condition::Version(earlier->version)
                                          : Condition::Absent();
}

// The reference to be, but for what the store answers.
Result<Reference> Draft(const Place& place, const Coordinate& coordinate, const Body& body,
                        const ValueInfo& info, const WriteStamp& stamp, DigestKind digest,
                        const Context& context) {
  Reference reference;
  reference.backend = (*place).scheme();
  reference.type = info.type;
  reference.store = place.store->name;
  reference.uri = UriOf(*place.store, place.key);
  reference.coordinate = coordinate;
  reference.attempt = stamp.attempt;
  reference.rows = info.rows;
  reference.size_bytes = body.size();
  AIRFREIGHT_ASSIGN_OR_RETURN(reference.digest, Digest(digest, body, context));
  reference.summary = info.summary;
  reference.columns = info.columns;
  reference.written = FormatIso8601(UnixSecondsNow());
  reference.write = stamp.write;
  reference.owner = stamp.owner;
  // An object whose reference could not be written down would be an orphan: known before it is
  // sent.
  if (auto json = reference.ToJson(); !json) return Fail(std::move(json).error());
  return reference;
}

Result<bool> RemoveWritten(const std::vector<NamedStore>& stores, const Written& written,
                           const Context& context) {
  for (const NamedStore& named : stores) {
    if (named.store->root() != written.root) continue;
    return RemoveWrite(*named.store, written.key, written.write, context);
  }
  return false;
}

}  // namespace

/// \brief What this process has written: a later push of the same coordinate then needs no look at
/// what lies there, and one that goes elsewhere takes the earlier object away.
///
/// Threads: may be shared; its lock is held for no request.
class Freight::Ledger {
 public:
  std::optional<Written> Find(const std::string& coordinate_hash) {
    const std::lock_guard lock(mutex_);
    const auto found = written_.find(coordinate_hash);
    if (found == written_.end()) return std::nullopt;
    return found->second;
  }
  void Note(const std::string& coordinate_hash, Written written) {
    const std::lock_guard lock(mutex_);
    if (written_.size() >= kMaxRemembered) written_.erase(written_.begin());
    written_.insert_or_assign(coordinate_hash, std::move(written));
  }
  void Forget(const std::string& coordinate_hash, std::string_view write) {
    const std::lock_guard lock(mutex_);
    const auto found = written_.find(coordinate_hash);
    if (found != written_.end() && found->second.write == write) written_.erase(found);
  }

  /// Stores that answered "not implemented" to a condition are asked without from then on.
  bool IsUnconditional(const std::string& root) {
    const std::lock_guard lock(mutex_);
    return unconditional_.contains(root);
  }
  void NoteUnconditional(const std::string& root) {
    const std::lock_guard lock(mutex_);
    unconditional_.insert(root);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Written> written_;  // By Coordinate::Hash().
  std::unordered_set<std::string> unconditional_;     // By root.
};

Freight::Freight(std::vector<NamedStore> stores, Policy policy, std::string owner,
                 TransferOptions /*transfer*/)
    : stores_(std::move(stores)),
      policy_(std::move(policy)),
      owner_(std::move(owner)),
      ledger_(std::make_unique<Ledger>()) {}

Freight::~Freight() = default;

Result<Reference> Freight::Put(const Coordinate& coordinate, const Body& body,
                               const ValueInfo& info, const Attempt& attempt,
                               const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(coordinate.Validate());
  const Decision decision = policy_.Resolve(coordinate, info.type, body.size());
  Place place;
  const auto put = [&]() -> Result<Reference> {
    AIRFREIGHT_ASSIGN_OR_RETURN(place.store, FindStoreToWrite(stores_, decision.store));
    AIRFREIGHT_ASSIGN_OR_RETURN(place.key, coordinate.ObjectKey(info.extension));
    AIRFREIGHT_RETURN_IF_ERROR(CheckSize(body, info, decision, (*place).capabilities()));
    WriteStamp stamp;
    stamp.coordinate = coordinate.Hash();
    stamp.attempt = std::max<int64_t>(attempt.number, 0);
    stamp.started_micros = attempt.started_micros > 0 ? attempt.started_micros : UnixMicrosNow();
    stamp.owner = owner_;
    AIRFREIGHT_ASSIGN_OR_RETURN(stamp.write, RandomHex128());
    AIRFREIGHT_ASSIGN_OR_RETURN(
        Reference reference, Draft(place, coordinate, body, info, stamp, decision.digest, context));

    const std::optional<Written> earlier = ledger_->Find(stamp.coordinate);
    const bool conditional =
        (*place).capabilities().conditional_put && !ledger_->IsUnconditional(place.root());
    AIRFREIGHT_ASSIGN_OR_RETURN(
        const WriteOutcome outcome,
        WriteInOrder(*place, place.key, body, info.content_type, stamp,
                     conditional ? Expectation(place, earlier) : Condition::None(), context));
    if (outcome.unconditional) ledger_->NoteUnconditional(place.root());
    reference.etag = outcome.info.version;
    ledger_->Note(stamp.coordinate, {place.root(), place.key, outcome.info.version, stamp.write});
    if (earlier && (earlier->root != place.root() || earlier->key != place.key)) {
      // The same XCom a moment ago, as another type: no row will name that object again. The new
      // value is safe by now, so that a failure here is no reason to fail the task; what is left
      // the sweeper finds.
      (void)RemoveWritten(stores_, *earlier, context);
    }
    return reference;
  };
  return About(coordinate, place, put());
}

Result<Buffer> Freight::Get(const Reference& reference, const Context& context) {
  auto place = Locate(stores_, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  return About(reference.coordinate, *place, GetAt(*place, reference, context));
}

Result<bool> Freight::Purge(const Reference& reference, const Context& context) {
  auto place = Locate(stores_, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  auto removed = RemoveWrite(**place, place->key, reference.write, context);
  if (removed) ledger_->Forget(reference.coordinate.Hash(), reference.write);
  return About(reference.coordinate, *place, std::move(removed));
}

Status Freight::Settle(const Coordinate& coordinate, const Context& context) {
  const std::string hash = coordinate.Hash();
  const std::optional<Written> earlier = ledger_->Find(hash);
  if (!earlier) return {};
  auto removed = RemoveWritten(stores_, *earlier, context);
  if (!removed) return Fail(About(coordinate, {}, std::move(removed).error()));
  ledger_->Forget(hash, earlier->write);
  return {};
}

}  // namespace airfreight
