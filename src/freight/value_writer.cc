#include "freight/value_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/digest.h"

namespace airfreight {
namespace {

class CompleteWriter final : public ObjectWriter {
 public:
  CompleteWriter(StreamUpload& upload, const Context& context)
      : upload_(upload), context_(context) {}

  Result<ObjectInfo> Write(const Condition& condition) override {
    auto done = upload_.upload().Complete(upload_.parts(), condition, context_);
    gone_ = !done && done.error().code == ErrorCode::kNotFound;
    return done;
  }
  bool UploadIsGone() const override { return gone_; }

 private:
  StreamUpload& upload_;
  const Context& context_;
  bool gone_ = false;
};

Error Ended() {
  Error error;
  error.code = ErrorCode::kInvalid;
  error.message =
      "the writer of this value was finished or abandoned before, or is that of another process";
  return error;
}

}  // namespace

StreamingWriter::StreamingWriter(std::unique_ptr<Push> push, MemoryBudget& budget)
    : pid_(getpid()), push_(std::move(push)) {
  const Capabilities capabilities = push_->store().capabilities();
  StreamUpload::Options options;
  options.part_bytes = push_->state().transfer.part_bytes;
  options.connections = capabilities.parallel ? push_->state().transfer.connections : 1;
  options.block_bytes = kBlockBytes;
  sealing_ = push_->decision().seal;
  // Of what is sealed, all that goes out is not what the digest is of.
  options.digest = sealing_ ? DigestKind::kCrc32c : push_->decision().digest;
  upload_ = std::make_unique<StreamUpload>(
      capabilities, options, budget, [push = push_.get()](const Context& context) {
        return push->store().StartUpload(push->key(), push->Options(), context);
      });
}

StreamingWriter::~StreamingWriter() {
  if (pid_ != getpid()) {
    // Threads, locks and sockets are the parent's.
    (void)upload_.release();  // NOLINT(bugprone-unused-return-value): left to themselves.
    (void)push_.release();    // NOLINT(bugprone-unused-return-value)
    return;
  }
  if (ended_) return;
  // Whoever only lets go of a writer must not wait for a store that does not answer.
  Context stop;
  stop.cancelled = [] { return true; };
  (void)Abandon(stop);
}

// In a forked child too: what it would seal, under the key and the nonces of its parent, must not
// get anywhere.
Status StreamingWriter::Append(ByteView bytes, const Context& context) {
  if (ended_ || pid_ != getpid()) return push_->About(Status(Fail(Ended())));
  Status done = push_->CheckSize(size() + bytes.size());
  if (done) {
    done = sealing_ ? AppendSealed(bytes, context) : upload_->Append(bytes, context);
  } else {
    done = upload_->Abort(std::move(done).error(), context);
  }
  return push_->About(std::move(done));
}

Status StreamingWriter::BeginSealing() {
  if (frames_ != nullptr) return {};
  AIRFREIGHT_ASSIGN_OR_RETURN(DataKeys::Made made, push_->NewObjectKey());
  frames_ = std::make_unique<Sealing>(std::move(made), push_->Binding(), push_->decision().digest);
  if (upload_->checksums().tail_offset()) (void)frames_->frames.SealBlocks();
  return {};
}

Status StreamingWriter::AppendSealed(ByteView bytes, const Context& context) {
  if (Status begun = BeginSealing(); !begun) {
    return upload_->Abort(std::move(begun).error(), context);
  }
  return frames_->frames.Append(bytes, [&](ByteView frame) {
    if (frames_->sha256) frames_->sha256->Update(frame);
    return upload_->Append(frame, context);
  });
}

std::vector<uint32_t> StreamingWriter::SealBlocks() {
  if (!sealing_) return upload_->checksums().SealBlocks();
  // What has gone out are the frames before the one that the tail begins in.
  if (!upload_->checksums().tail_offset()) {
    (void)upload_->checksums().SealBlocks();
    tail_offset_ = plain_bytes();
  }
  // (No key is made for this: a service may be asked for it, and nobody waits for one here.)
  return frames_ ? frames_->frames.SealBlocks() : std::vector<uint32_t>();
}

Status StreamingWriter::FinishSealed(ObjectFacts* facts, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(BeginSealing());
  AIRFREIGHT_RETURN_IF_ERROR(frames_->frames.Finish([&](ByteView frame) {
    if (frames_->sha256) frames_->sha256->Update(frame);
    return upload_->Append(frame, context);
  }));
  // Before the envelope, which another key may wrap later.
  Checksums& checksums = upload_->checksums();
  if (checksums.tail_offset()) {
    facts->tail = {tail_offset_, Crc32cText(checksums.tail_crc32c())};
  }
  facts->digest = frames_->sha256 ? frames_->sha256->Finish() : Crc32cText(checksums.crc32c());
  return upload_->Append(AsBytes(frames_->made.envelope.Encode()), context);
}

Result<Reference> StreamingWriter::Finish(const ValueInfo& info, const Context& context) {
  if (ended_ || pid_ != getpid()) return push_->About(Result<Reference>(Fail(Ended())));
  auto reference = DoFinish(info, context);
  // Whatever it was: the parts are no use any more. After an error that gave them up already this
  // does nothing but return it.
  if (!reference) {
    auto failed = upload_->Abort(std::move(reference).error(), context);
    return push_->About(Result<Reference>(Fail(std::move(failed).error())));
  }
  ended_ = true;
  upload_->Release();
  return reference;
}

Result<Reference> StreamingWriter::DoFinish(const ValueInfo& info, const Context& context) {
  if (info.type != push_->info().type || info.extension != push_->info().extension) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("the value was opened as {} in a .{} object, and cannot be finished as "
                    "{} in a .{} one",
                    push_->info().type, push_->info().extension, info.type, info.extension));
  }
  push_->Describe(info);
  ObjectFacts facts;
  if (sealing_) AIRFREIGHT_RETURN_IF_ERROR(FinishSealed(&facts, context));
  AIRFREIGHT_RETURN_IF_ERROR(upload_->Finish(context));
  whole_ = true;
  Checksums& checksums = upload_->checksums();
  facts.size = checksums.size();
  const uint32_t crc32c = checksums.crc32c();
  if (!sealing_) {
    if (checksums.tail_offset()) {
      facts.tail = {*checksums.tail_offset(), Crc32cText(checksums.tail_crc32c())};
    }
    facts.digest = checksums.FinishDigest();
  }
  if (!upload_->in_parts()) return PutWhole(*push_, upload_->body(), facts, crc32c, context);
  CompleteWriter writer(*upload_, context);
  return push_->Publish(writer, facts, context);
}

Body StreamingWriter::Unsent() const {
  return whole_ && !ended_ && !upload_->in_parts() ? upload_->body() : Body();
}

Status StreamingWriter::Abandon(const Context& context) {
  if (ended_) return {};
  ended_ = true;
  return upload_->Abandon(context);
}

}  // namespace airfreight
