#include "freight/pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/host.h"
#include "base/time.h"
#include "base/utf8.h"
#include "freight/attempt.h"
#include "freight/open_sealed.h"
#include "freight/retention.h"
#include "store/checks.h"
#include "transfer/download.h"
#include "transfer/download_targets.h"

namespace airfreight {
namespace {

// Below this, all of it is there before a second request would be: Buffer's own threshold for huge
// pages, and some milliseconds even of a slow stream.
constexpr uint64_t kOneRequest = uint64_t{4} << 20;
// An object that is replaced while it is read is read again, once: whoever comes third is told so.
// So is one whose bytes are not those that were written: they may have been damaged on their way,
// which TCP's 16 bits of checksum and a proxy's memory let through now and then, and only what is
// wrong twice is the store's.
constexpr int kMaxReads = 2;

// Whether what was got is what the row promises. Whoever wrote it.
Status Check(const ObjectInfo& info, uint64_t size, const std::string& digest,
             const Reference& reference) {
  if (size != reference.size_bytes) {
    return Fail(NotAsPromised(
        info, reference,
        fmt::format("it has {} bytes, and {} were written", size, reference.size_bytes)));
  }
  if (digest != reference.digest) {
    return Fail(NotAsPromised(info, reference,
                              fmt::format("the digest of its {} bytes is {}, and {} was written",
                                          size, digest, reference.digest)));
  }
  return {};
}

// Whoever has found the damage: the digest here, or a store by a checksum of its own.
bool MayBeOfTheWay(const Error& error, int reads) {
  return error.code == ErrorCode::kCorrupt && reads + 1 < kMaxReads;
}

// ConditionFailed: replaced between the two halves of a body that broke off.
bool IsWorthAnother(const Error& error, int reads) {
  return error.code == ErrorCode::kConditionFailed || MayBeOfTheWay(error, reads);
}

// Gathers an object of the size that is promised. Of one of another size nothing is read: the
// reference of 40 KiB may lead to what a later push has made 10 GiB.
class PromisedSink final : public ReadSink {
 public:
  using Admit = std::function<Status(const ObjectInfo&)>;
  PromisedSink(uint64_t size, Admit admit) : size_(size), admit_(std::move(admit)) {}

  Status Begin(const ObjectInfo& info) override {
    info_ = info;
    other_size_ = info.size != size_;
    if (other_size_) return Fail(ErrorCode::kInternal, "the object has another size");
    AIRFREIGHT_RETURN_IF_ERROR(admit_(info));
    AIRFREIGHT_ASSIGN_OR_RETURN(buffer_, Buffer::Allocate(size_));
    return {};
  }
  Status Write(ByteView bytes) override {
    if (buffer_.Append(bytes)) return {};
    return Fail(ErrorCode::kInternal, "the store sent more bytes than the object has");
  }

  bool other_size() const { return other_size_; }
  const ObjectInfo& info() const { return info_; }
  Buffer& buffer() { return buffer_; }

 private:
  const uint64_t size_;
  const Admit admit_;
  ObjectInfo info_;
  Buffer buffer_;
  bool other_size_ = false;
};

// Digests an object as it comes: its first `digested` bytes, all of it or, where it is sealed, all
// but the envelope.
class DigestSink final : public ReadSink {
 public:
  using Admit = std::function<Status(const ObjectInfo&)>;
  DigestSink(uint64_t digested, DigestKind promised, Admit admit)
      : digested_(digested),
        promised_(promised),
        sha256_(DigestKind::kSha256),
        admit_(std::move(admit)) {}

  Status Begin(const ObjectInfo& info) override {
    info_ = info;
    return admit_(info);
  }
  Status Write(ByteView bytes) override {
    const ByteView some =
        bytes.first(std::min<uint64_t>(bytes.size(), digested_ - std::min(digested_, size_)));
    size_ += bytes.size();
    promised_.Update(some);
    sha256_.Update(some);
    return {};
  }

  const ObjectInfo& info() const { return info_; }
  uint64_t size() const { return size_; }
  std::string FinishPromised() { return promised_.Finish(); }
  std::string FinishSha256() { return sha256_.Finish(); }

 private:
  const uint64_t digested_;
  Digester promised_;
  Digester sha256_;
  const Admit admit_;
  ObjectInfo info_;
  uint64_t size_ = 0;
};

Error ReplacedEachTime() {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = "the object was replaced each time that it was read; pull again";
  error.retryable = true;
  return error;
}

Result<Buffer> PullInOneRequest(const Place& place, const Reference& reference, DigestKind kind,
                                FreightState& state, const Context& context) {
  GetOptions options;
  options.expected_size = reference.size_bytes;
  for (int reads = 0; reads < kMaxReads; ++reads) {
    PromisedSink sink(reference.size_bytes, [&](const ObjectInfo& info) {
      return CheckStamp(place, info, reference, *state.seal);
    });
    auto read = (*place).Read(place.key, options, sink, context);
    if (sink.other_size()) {
      return Fail(std::move(Check(sink.info(), sink.info().size, {}, reference)).error());
    }
    if (read && reference.sealed != 0) {
      BufferTarget target(std::move(sink.buffer()));
      Status opened = OpenSealed(target, sink.info(), reference, kind, state.data_keys, context);
      if (opened) return target.Take();
      if (MayBeOfTheWay(opened.error(), reads)) continue;
      return Fail(std::move(opened).error());
    }
    if (read) {
      AIRFREIGHT_ASSIGN_OR_RETURN(
          const Digested digested,
          DigestOf(kind, Body(sink.buffer().view()), [&] { return CheckContext(context); }));
      Status checked = Check(sink.info(), sink.buffer().size(), digested.text, reference);
      if (checked) return std::move(sink.buffer());
      if (MayBeOfTheWay(checked.error(), reads)) continue;
      return Fail(std::move(checked).error());
    }
    if (!IsWorthAnother(read.error(), reads)) {
      return Fail(ReadError(std::move(read).error(), reference));
    }
  }
  return Fail(ReplacedEachTime());
}

Status PullInStreams(const Place& place, const Reference& reference, DigestKind kind,
                     FreightState& state, int connections, DownloadTarget& target,
                     const Context& context) {
  DownloadOptions options;
  options.size = reference.size_bytes;
  // (Of what is sealed the digest is made while it is opened: it is of less than all.)
  options.digest = reference.sealed != 0 ? DigestKind::kCrc32c : kind;
  options.connections = connections;
  options.admit = [&](const ObjectInfo& info) {
    return CheckStamp(place, info, reference, *state.seal);
  };
  for (int reads = 0; reads < kMaxReads; ++reads) {
    Download download(*place, place.key, target, options);
    auto done = download.Run(context);
    if (done) {
      Status checked =
          reference.sealed == 0 || done->info.size != reference.size_bytes
              ? Check(done->info, done->info.size, done->digest, reference)
              : OpenSealed(target, done->info, reference, kind, state.data_keys, context);
      if (!checked && MayBeOfTheWay(checked.error(), reads)) continue;
      return checked;
    }
    if (!IsWorthAnother(done.error(), reads)) {
      return Fail(ReadError(std::move(done).error(), reference));
    }
  }
  return Fail(ReplacedEachTime());
}

}  // namespace

Result<DigestKind> KnownDigest(const Reference& reference) {
  if (const std::optional<DigestKind> kind = DigestKindOf(reference.digest)) return *kind;
  return Fail(
      ErrorCode::kNewerFormat,
      fmt::format("the reference has a digest that this release does not know ('{}'); install the "
                  "release of airfreight that wrote it",
                  VisibleText(reference.digest.substr(0, reference.digest.find(':')))));
}

Error NotAsPromised(const ObjectInfo& info, const Reference& reference, std::string reason) {
  Error error;
  const std::optional<WriteStamp> stamp = ParseWriteMetadata(info.metadata);
  if (stamp && stamp->write != reference.write) {
    error.code = ErrorCode::kReplaced;
    error.message = fmt::format(
        "a later push (attempt {}, started {}) has replaced the object that this row "
        "refers to (attempt {}, written {}). Pull again; if the row stays behind, "
        "clear the task that pushes",
        stamp->attempt, FormatIso8601(stamp->started_micros / 1'000'000), reference.attempt,
        VisibleText(reference.written));
  } else {
    error.code = ErrorCode::kCorrupt;
    error.message = "the object is damaged: " + std::move(reason);
  }
  return error;
}

Status CheckStamp(const Place& place, const ObjectInfo& info, const Reference& reference,
                  const Seal& seal) {
  const std::optional<WriteStamp> stamp = ParseWriteMetadata(info.metadata);
  if (!stamp) {
    if (place.of_copies || seal.Vouches(reference)) return {};
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the object has no metadata that tells whose it is: it was not written "
                            "by Airfreight, or was copied by a tool that drops metadata. Copy it "
                            "again with its metadata, or name the place of copies in [airfreight] "
                            "read_also = {}",
                            place.root()));
  }
  if (stamp->coordinate != reference.coordinate.Hash()) {
    return Fail(ErrorCode::kForged,
                "the object was written for another XCom, as its metadata tells: it was moved "
                "there, or the row was made up. Nothing of it was used");
  }
  if (stamp->write != reference.write) return Fail(NotAsPromised(info, reference, {}));
  return {};
}

Error ReadError(Error error, const Reference& reference) {
  const bool denied = error.code == ErrorCode::kNotFoundOrDenied;
  if (!denied && error.code != ErrorCode::kNotFound) return error;
  if (const Status kept = CheckRetention(reference, UnixSecondsNow() + kClockDifference); !kept) {
    error.code = kept.error().code;
    error.message = kept.error().message;
    return error;
  }
  error.message = fmt::format("the object of this XCom, written {}, is missing{}: {}",
                              VisibleText(reference.written), denied ? " or may not be read" : "",
                              error.message);
  const std::string here = HostName();
  if (!reference.host.empty() && reference.host != here) {
    // (What to do about it says the store itself.)
    error.message += fmt::format("; it was written on the host {}, and this is {}",
                                 Quoted(reference.host), here.empty() ? "another" : Quoted(here));
  }
  return error;
}

Result<Buffer> PullBuffer(const Place& place, const Reference& reference, FreightState& state,
                          const PullOptions& options, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const DigestKind kind, KnownDigest(reference));
  AIRFREIGHT_RETURN_IF_ERROR(CheckSealed(reference));
  MemoryBudget::Share share;
  const uint64_t most = state.pulls.capacity();
  if (options.count_small || reference.size_bytes > most) {
    AIRFREIGHT_ASSIGN_OR_RETURN(share,
                                state.pulls.Take(std::min(reference.size_bytes, most), context));
  }
  if (reference.size_bytes <= kOneRequest) {
    return PullInOneRequest(place, reference, kind, state, context);
  }
  BufferTarget target;
  AIRFREIGHT_RETURN_IF_ERROR(
      PullInStreams(place, reference, kind, state, options.connections, target, context));
  return target.Take();
}

Result<std::string> PullDigest(const Place& place, const Reference& reference, FreightState& state,
                               const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const DigestKind kind, KnownDigest(reference));
  AIRFREIGHT_RETURN_IF_ERROR(CheckSealed(reference));
  const uint64_t digested = reference.size_bytes - (reference.sealed != 0 ? kEnvelopeBytes : 0);
  for (int reads = 0; reads < kMaxReads; ++reads) {
    DigestSink sink(digested, kind, [&](const ObjectInfo& info) -> Status {
      if (info.size != reference.size_bytes) return Check(info, info.size, {}, reference);
      return CheckStamp(place, info, reference, *state.seal);
    });
    auto read = (*place).Read(place.key, {}, sink, context);
    Status checked = read ? Check(sink.info(), sink.size(), sink.FinishPromised(), reference)
                          : Status(Fail(std::move(read).error()));
    if (checked) return sink.FinishSha256();
    if (!IsWorthAnother(checked.error(), reads)) {
      return Fail(ReadError(std::move(checked).error(), reference));
    }
  }
  return Fail(ReplacedEachTime());
}

Status PullToFile(const Place& place, const Reference& reference, FreightState& state,
                  const std::string& path, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const DigestKind kind, KnownDigest(reference));
  AIRFREIGHT_RETURN_IF_ERROR(CheckSealed(reference));
  FileTarget target(path);
  AIRFREIGHT_RETURN_IF_ERROR(target.Create());
  AIRFREIGHT_RETURN_IF_ERROR(
      PullInStreams(place, reference, kind, state, state.transfer.connections, target, context));
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  return target.Keep();
}

}  // namespace airfreight
