#include "freight/rewrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/time.h"
#include "freight/attempt.h"
#include "freight/open_sealed.h"
#include "freight/pull.h"
#include "freight/retention.h"
#include "store/checks.h"
#include "transfer/stream_upload.h"

namespace airfreight {
namespace {

bool IsGone(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotFoundOrDenied;
}

// Passes the frames on to an upload, as they are, and not the envelope behind them.
class FramesSink final : public ReadSink {
 public:
  FramesSink(StreamUpload& upload, uint64_t frames, DigestKind kind, const Context& context)
      : upload_(upload), left_(frames), digester_(kind), context_(context) {}

  Status Begin(const ObjectInfo&) override { return {}; }
  Status Write(ByteView bytes) override {
    bytes = bytes.first(std::min<uint64_t>(bytes.size(), left_));
    left_ -= bytes.size();
    digester_.Update(bytes);
    return upload_.Append(bytes, context_);
  }
  bool complete() const { return left_ == 0; }
  std::string Digest() { return digester_.Finish(); }

 private:
  StreamUpload& upload_;
  uint64_t left_;
  Digester digester_;
  const Context& context_;
};

// The frames as they are and another envelope, in place of that version of the object.
Status Rewrite(const Place& place, const Reference& reference, const ObjectInfo& there,
               const PutOptions& options, const Envelope& envelope, FreightState& state,
               const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const DigestKind kind, KnownDigest(reference));
  ObjectStore& store = *place;
  StreamUpload::Options how;
  how.part_bytes = state.transfer.part_bytes;
  how.connections = store.capabilities().parallel ? state.transfer.connections : 1;
  how.block_bytes = kBlockBytes;
  how.digest = DigestKind::kCrc32c;
  StreamUpload upload(store.capabilities(), how, state.sends, [&](const Context& own) {
    return store.StartUpload(place.key, options, own);
  });
  const auto fail = [&](Error error) { return upload.Abort(std::move(error), context); };

  GetOptions get;
  get.expected_size = reference.size_bytes;
  get.if_version = there.version;
  FramesSink sink(upload, reference.size_bytes - kEnvelopeBytes, kind, context);
  if (auto read = store.Read(place.key, get, sink, context); !read) {
    return fail(std::move(read).error());
  }
  // What is damaged stays as it is: written anew it would look as if it were well.
  if (const std::string digest = sink.Digest(); !sink.complete() || digest != reference.digest) {
    return fail(NotAsPromised(there, reference,
                              fmt::format("the digest of its frames is {}, and {} was written",
                                          digest, reference.digest)));
  }
  AIRFREIGHT_RETURN_IF_ERROR(upload.Append(AsBytes(envelope.Encode()), context));
  AIRFREIGHT_RETURN_IF_ERROR(upload.Finish(context));
  const Condition same = Condition::Version(there.version);
  if (upload.in_parts()) {
    auto done = upload.upload().Complete(upload.parts(), same, context);
    if (!done) return fail(std::move(done).error());
  } else {
    PutOptions put = options;
    put.condition = same;
    put.crc32c = upload.checksums().crc32c();
    auto done = store.Put(place.key, upload.body(), put, context);
    if (!done) return fail(std::move(done).error());
  }
  upload.Release();
  return {};
}

}  // namespace

Result<Rewrap> RewrapObject(const Place& place, const Reference& reference,
                            const Decision& decision, bool dry, FreightState& state,
                            const Context& context) {
  if (reference.sealed == 0) return Rewrap::kNotSealed;
  AIRFREIGHT_RETURN_IF_ERROR(CheckSealed(reference));
  if (!place.alias.empty()) return Rewrap::kForeign;  // Whoever made the copy has it.
  GetOptions end;
  end.offset = reference.size_bytes - kEnvelopeBytes;
  end.length = kEnvelopeBytes;
  auto got = (*place).Get(place.key, end, context);
  if (!got && IsGone(got.error())) return Rewrap::kGone;
  if (!got) return Fail(std::move(got).error());
  const ObjectInfo& there = got->info;
  const auto stamp = ParseWriteMetadata(there.metadata);
  // Of another deployment, or put there by hand: not ours to write.
  if (!stamp || (!stamp->owner.empty() && stamp->owner != StoredOwner(state.owner))) {
    return Rewrap::kForeign;
  }
  if (stamp->write != reference.write || there.size != reference.size_bytes) {
    return Rewrap::kReplaced;
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const Envelope envelope, Envelope::Parse(got->body.view()));
  const SealingKeys& keys = state.seal->sealing;
  if (!keys.empty() && envelope.key_id == keys.newest()) return Rewrap::kCurrent;
  AIRFREIGHT_ASSIGN_OR_RETURN(const Envelope rewrapped, state.data_keys.Rewrap(envelope));
  if (dry) return Rewrap::kOld;
  if (!(*place).capabilities().conditional_put || there.version.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "the store has no conditional writes: a push that comes in between would be lost");
  }
  PutOptions options;
  options.metadata = there.metadata;
  options.encryption_key = decision.encryption_key;
  options.expires_unix = ParseIso8601(reference.expires);
  if (options.expires_unix) options.retention_class = RetentionClass(decision.retention_seconds);
  Status written = Rewrite(place, reference, there, options, rewrapped, state, context);
  if (!written && written.error().code == ErrorCode::kConditionFailed) return Rewrap::kReplaced;
  if (!written) return Fail(std::move(written).error());
  return Rewrap::kRewrapped;
}

}  // namespace airfreight
