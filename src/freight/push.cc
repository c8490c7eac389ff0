#include "freight/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "base/host.h"
#include "base/random.h"
#include "base/time.h"
#include "freight/retention.h"
#include "store/checks.h"
#include "transfer/plan.h"
#include "transfer/send_body.h"
#include "transfer/stream_upload.h"

namespace airfreight {
namespace {

// Bytes per second from which one connection is thought to be given all that the store and the line
// have: well above the 85 to 90 MB/s of one request to S3
// (docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-design-patterns.html).
// Parts would only make such a store join them: a third of the time that a PUT takes there.
constexpr double kFastConnection = 150e6;
// What is smaller tells of the store's latency, and not of a connection.
constexpr uint64_t kLeastTrial = uint64_t{4} << 20;
// The most that goes in one PUT to such a store: what a retry would have to send again.
constexpr uint64_t kMostInOnePut = uint64_t{512} << 20;
// A store that takes longer to begin an upload is none of these, and not worth the trial.
constexpr std::chrono::milliseconds kFastAnswer{10};

// A digest of the right length, for the draft of a reference.
std::string PlaceholderDigest(DigestKind kind) { return DigestOf(kind, Body()); }

class PutWriter final : public ObjectWriter {
 public:
  PutWriter(const Push& push, const Body& body, PutOptions options, const Context& context)
      : push_(push), body_(body), options_(std::move(options)), context_(context) {}

  Result<ObjectInfo> Write(const Condition& condition) override {
    options_.condition = condition;
    const auto began = Context::Clock::now();
    auto put = push_.store().Put(push_.key(), body_, options_, context_);
    if (put) push_.NoteConnection(body_.size(), Context::Clock::now() - began);
    return put;
  }

 private:
  const Push& push_;
  const Body& body_;
  PutOptions options_;
  const Context& context_;
};

// Of a request that has no condition: for the protocol, Unsupported is about conditions.
Error NotOfTheCondition(Error error) {
  if (error.code == ErrorCode::kUnsupported) error.code = ErrorCode::kInvalid;
  return error;
}

// Sends a body that lies in memory in parts, at the first Write and whenever the store has lost
// them.
class PartsWriter final : public ObjectWriter {
 public:
  PartsWriter(const Push& push, const Body& body, PartPlan plan, int connections,
              ObjectFacts& facts, const Context& context)
      : push_(push),
        body_(body),
        plan_(plan),
        connections_(push.store().capabilities().parallel ? connections : 1),
        facts_(facts),
        context_(context) {}

  Result<ObjectInfo> Write(const Condition& condition) override {
    gone_ = false;
    if (upload_ == nullptr) {
      const auto began = Context::Clock::now();
      auto started = push_.store().StartUpload(push_.key(), push_.Options(), context_);
      if (!started) return Fail(NotOfTheCondition(std::move(started).error()));
      upload_ = *std::move(started);
      // Where no request was made, nothing is known of the store, and the other parts would wait
      // for a trial that a far one always fails.
      Status sent = Send(push_.store().capabilities().start_is_request &&
                         Context::Clock::now() - began < kFastAnswer);
      if (!sent) return Gone(Fail(NotOfTheCondition(std::move(sent).error())));
    }
    auto done = upload_->Complete(sent_.parts, condition, context_);
    if (done) upload_.reset();
    return Gone(std::move(done));
  }
  bool UploadIsGone() const override { return gone_; }
  bool CanStartOver() const override { return true; }

  /// After an error. The error, with what could not be cleared away.
  Error Abort(Error error) {
    if (upload_ == nullptr) return error;
    if (const Status aborted = upload_->Abort(AbortContext(error.code, context_)); !aborted) {
      error.message += fmt::format("; and the parts that were sent could not be removed: {}",
                                   aborted.error().message);
    }
    upload_.reset();
    return error;
  }

 private:
  // Of a part too, NotFound says that the store knows the upload no more.
  Result<ObjectInfo> Gone(Result<ObjectInfo> result) {
    gone_ = !result && result.error().code == ErrorCode::kNotFound;
    if (gone_) upload_.reset();
    return result;
  }

  // As soon as one part alone could be told from a slow one, the others follow.
  std::chrono::milliseconds Trial() const {
    if (plan_.PartBytes(1) < kLeastTrial || !push_.TakeTrial()) {
      return std::chrono::milliseconds(0);
    }
    return std::chrono::milliseconds(
        static_cast<int64_t>(static_cast<double>(plan_.PartBytes(1)) / kFastConnection * 1e3));
  }

  Status Send(bool near) {
    const bool sha256 = push_.decision().digest == DigestKind::kSha256 && !digested_;
    Digester digester(DigestKind::kSha256);
    AIRFREIGHT_ASSIGN_OR_RETURN(
        sent_, SendBody(*upload_, body_, plan_, connections_, sha256 ? &digester : nullptr,
                        near ? Trial() : std::chrono::milliseconds(0), context_));
    if (sent_.first_alone) push_.NoteConnection(plan_.PartBytes(1), *sent_.first_alone);
    if (sha256) {
      facts_.digest = digester.Finish();
      digested_ = true;
    } else if (!digested_) {
      facts_.digest = Crc32cText(sent_.crc32c);
    }
    return {};
  }

  const Push& push_;
  const Body& body_;
  const PartPlan plan_;
  const int connections_;
  ObjectFacts& facts_;
  const Context& context_;
  std::unique_ptr<PartUpload> upload_;
  SentBody sent_;
  bool gone_ = false;
  bool digested_ = false;  // By SHA-256, which a second sending need not repeat.
};

// What the next write is to find: what this process left there, or nothing.
Condition Expectation(const Place& place, const std::optional<Written>& earlier) {
  const bool own = earlier && earlier->store == place.store->name && earlier->key == place.key;
  return own && !earlier->version.empty() ? Condition::Version(earlier->version)
                                          : Condition::Absent();
}

tl::unexpected<Error> TooLarge(uint64_t size, const ValueInfo& info, std::string_view limit) {
  return Fail(ErrorCode::kTooLarge,
              fmt::format("the value takes {} bytes as {}; {}", size, info.extension, limit));
}

}  // namespace

Push::Push(const std::vector<NamedStore>& stores, Decision decision, FreightState& state,
           Coordinate coordinate, ValueInfo info)
    : stores_(stores),
      decision_(Sealed(std::move(decision), *state.seal)),
      state_(state),
      coordinate_(std::move(coordinate)),
      info_(std::move(info)) {}

Decision Push::Sealed(Decision decision, const Seal& seal) {
  // A CRC can be made to fit by whoever can write to the store: what is signed says which bytes.
  if (seal.Signs()) decision.digest = DigestKind::kSha256;
  return decision;
}

Status Push::Prepare(const Attempt& attempt, uint64_t size) {
  AIRFREIGHT_RETURN_IF_ERROR(coordinate_.Validate());
  AIRFREIGHT_ASSIGN_OR_RETURN(place_.store, FindStoreToWrite(stores_, decision_.store));
  AIRFREIGHT_ASSIGN_OR_RETURN(place_.key, coordinate_.ObjectKey(info_.extension));
  if (!decision_.encryption_key.empty() && !store().capabilities().encryption_key) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{} is {}, and the store {} encrypts under no key of a value's own",
                            decision_.encryption_key_name, Quoted(decision_.encryption_key),
                            Quoted(place_.store->name)));
  }
  if (decision_.seal && state_.seal->sealing.empty()) {
    return Fail(ErrorCode::kInvalid,
                "the value is to be sealed, and there is no key to seal with: set [airfreight] "
                "seal_keys, or take `seal` out of the rule");
  }
  AIRFREIGHT_RETURN_IF_ERROR(CheckSize(size));
  stamp_.coordinate = coordinate_.Hash();
  stamp_.attempt = std::max<int64_t>(attempt.number, 0);
  stamp_.started_micros = attempt.started_micros > 0 ? attempt.started_micros : UnixMicrosNow();
  stamp_.owner = state_.owner;
  AIRFREIGHT_ASSIGN_OR_RETURN(stamp_.write, RandomHex128());
  if (decision_.retention_seconds > 0) {
    expires_unix_ = UnixSecondsNow() + decision_.retention_seconds;
  }
  ObjectFacts facts;
  facts.size = decision_.seal ? SealedSize(size) : size;
  facts.digest = PlaceholderDigest(decision_.digest);
  Reference draft = Draft(facts);
  AIRFREIGHT_RETURN_IF_ERROR(state_.seal->Sign(&draft));
  if (auto json = draft.ToJson(); !json) return Fail(std::move(json).error());
  return {};
}

Status Push::CheckSize(uint64_t size) const {
  if (decision_.max_bytes != 0 && size > decision_.max_bytes) {
    return TooLarge(size, info_,
                    fmt::format("{} allows {}", decision_.max_bytes_name, decision_.max_bytes));
  }
  const Capabilities capabilities = store().capabilities();
  if (!capabilities.parts && size > capabilities.max_put_bytes) {
    return TooLarge(size, info_,
                    fmt::format("the store takes {} in one request", capabilities.max_put_bytes));
  }
  return {};
}

PutOptions Push::Options() const {
  PutOptions options;
  options.metadata = MakeWriteMetadata(stamp_);
  // (Of what is sealed nobody but a reader of ours can make anything.)
  options.content_type = decision_.seal ? PutOptions().content_type : info_.content_type;
  options.encryption_key = decision_.encryption_key;
  options.expires_unix = expires_unix_;
  if (expires_unix_) options.retention_class = RetentionClass(decision_.retention_seconds);
  return options;
}

void Push::Describe(const ValueInfo& info) {
  info_.rows = info.rows;
  info_.summary = info.summary;
  info_.columns = info.columns;
  info_.nulls = info.nulls;
  info_.columns_cut = info.columns_cut;
  info_.preview = info.preview;
}

// The reference to be, but for what the store answers.
Reference Push::Draft(const ObjectFacts& facts) const {
  Reference reference;
  reference.backend = store().scheme();
  reference.type = info_.type;
  reference.store = place_.store->name;
  reference.uri = place_.Uri();
  reference.coordinate = coordinate_;
  reference.attempt = stamp_.attempt;
  reference.rows = info_.rows;
  reference.size_bytes = facts.size;
  reference.digest = facts.digest;
  reference.tail = facts.tail;
  reference.summary = info_.summary;
  reference.columns = info_.columns;
  reference.nulls = info_.nulls;
  reference.columns_cut = info_.columns_cut;
  reference.preview = info_.preview;
  reference.written = FormatIso8601(UnixSecondsNow());
  if (expires_unix_) reference.expires = FormatIso8601(*expires_unix_);
  reference.write = stamp_.write;
  if (reference.backend == "file") reference.host = HostName();
  reference.owner = stamp_.owner;
  if (decision_.seal) reference.sealed = kSealedVersion;
  return reference;
}

void Push::NoteConnection(uint64_t bytes, std::chrono::nanoseconds time) const {
  if (bytes < kLeastTrial) return;
  const double seconds = std::chrono::duration<double>(time).count();
  state_.ledger.NoteFast(place_.store->name,
                         static_cast<double>(bytes) >= kFastConnection * seconds);
}

bool Push::TakeTrial() const { return state_.ledger.TakeTrial(place_.store->name); }

bool Push::IsFast() const { return state_.ledger.IsFast(place_.store->name); }

Result<Reference> Push::Publish(ObjectWriter& writer, const ObjectFacts& facts,
                                const Context& context) {
  const std::optional<Written> earlier = state_.ledger.Find(stamp_.coordinate);
  const bool conditional =
      store().capabilities().conditional_put && !state_.ledger.IsUnconditional(place_.store->name);
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const WriteOutcome outcome,
      WriteInOrder(store(), place_.key, writer, stamp_,
                   conditional ? Expectation(place_, earlier) : Condition::None(), context));
  if (outcome.unconditional) state_.ledger.NoteUnconditional(place_.store->name);
  Reference reference = Draft(facts);
  reference.etag = outcome.info.version;
  AIRFREIGHT_RETURN_IF_ERROR(state_.seal->Sign(&reference));  // (As the draft was.)
  state_.ledger.Note(stamp_.coordinate,
                     {place_.store->name, place_.key, outcome.info.version, stamp_.write});
  if (earlier && (earlier->store != place_.store->name || earlier->key != place_.key)) {
    // The same XCom a moment ago, as another type: no row will name that object again. The new
    // value is safe by now, so that a failure here is no reason to fail the task; what is left the
    // sweeper finds.
    (void)RemoveWritten(stores_, *earlier, context);
  }
  return reference;
}

Result<bool> RemoveWritten(const std::vector<NamedStore>& stores, const Written& written,
                           const Context& context) {
  for (const NamedStore& named : stores) {
    if (named.name != written.store) continue;
    return RemoveWrite(*named.store, written.key, written.write, context);
  }
  return false;
}

Result<Reference> PutWhole(Push& push, const Body& body, const ObjectFacts& facts,
                           std::optional<uint32_t> crc32c, const Context& context) {
  PutOptions options = push.Options();
  options.crc32c = crc32c;
  PutWriter writer(push, body, std::move(options), context);
  return push.Publish(writer, facts, context);
}

Result<Reference> PutBody(Push& push, const Body& body, int connections, const Context& context) {
  ObjectFacts facts;
  facts.size = body.size();
  const Capabilities capabilities = push.store().capabilities();
  const uint64_t part_bytes = push.state().transfer.part_bytes;
  // SHA-256 takes longer than sending, and goes on beside the parts.
  const bool at_once = push.decision().digest == DigestKind::kCrc32c &&
                       body.size() <= kMostInOnePut && push.IsFast();
  const auto parts_in_one_put = static_cast<uint64_t>(std::max(capabilities.parts_in_one_put, 1));
  const bool worthwhile =
      capabilities.parallel && body.size() / parts_in_one_put > part_bytes && !at_once;
  if (!capabilities.parts || (!worthwhile && body.size() <= capabilities.max_put_bytes)) {
    AIRFREIGHT_ASSIGN_OR_RETURN(Digested digested, DigestOf(push.decision().digest, body,
                                                            [&] { return CheckContext(context); }));
    facts.digest = std::move(digested.text);
    return PutWhole(push, body, facts, digested.crc32c, context);
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const PartPlan plan,
                              PartPlan::ForSize(body.size(), part_bytes, capabilities));
  PartsWriter writer(push, body, plan, connections, facts, context);
  auto reference = push.Publish(writer, facts, context);
  if (!reference) return Fail(writer.Abort(std::move(reference).error()));
  return reference;
}

}  // namespace airfreight
