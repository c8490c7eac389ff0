#include "store/retrying_store.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "store/checks.h"
#include "store/gather_sink.h"

namespace airfreight {
namespace {

// Bytes of a read that are progress. Well below what a line carries between two faults that are
// worth going on after; well above what one trickles that is not.
constexpr uint64_t kProgress = uint64_t{1} << 20;

/// The reader's view of a read that is made in several pieces: one Begin, then bytes without a gap.
class ResumingSink final : public ReadSink {
 public:
  ResumingSink(const GetOptions& options, ReadSink& reader) : options_(options), reader_(reader) {}

  Status Begin(const ObjectInfo& info) override {
    if (first_) return CheckSame(info);
    AIRFREIGHT_ASSIGN_OR_RETURN(range_, ClipRange(options_, info.size));
    first_ = info;
    return FromReader(reader_.Begin(info));
  }

  Status Write(ByteView bytes) override {
    if (bytes.size() > range_.length - delivered_) {
      return Fail(ErrorCode::kInternal, "the store delivered more bytes than were asked for");
    }
    delivered_ += bytes.size();
    return FromReader(reader_.Write(bytes));
  }

  /// What is still to be asked for.
  GetOptions Rest() const {
    GetOptions rest = options_;
    if (!first_) return rest;
    if (rest.if_version.empty()) rest.if_version = first_->version;
    if (delivered_ > 0) {
      rest.offset = options_.offset + delivered_;
      rest.length = range_.length - delivered_;
    }
    return rest;
  }

  /// Whether there is nothing left to ask for.
  bool complete() const { return first_ && range_.length > 0 && delivered_ == range_.length; }
  const std::optional<ObjectInfo>& first() const { return first_; }
  /// The reader's own error, which is nobody's to repeat.
  const std::optional<Error>& readers_error() const { return readers_error_; }

  /// Whether a mebibyte has come since this last said so.
  bool TakeProgress() {
    if (delivered_ - counted_ < kProgress) return false;
    counted_ = delivered_;
    return true;
  }

 private:
  Status CheckSame(const ObjectInfo& info) const {
    if (info.size == first_->size && info.version == first_->version) return {};
    return Fail(ErrorCode::kConditionFailed, "the object was replaced while it was read");
  }

  Status FromReader(Status status) {
    if (!status) readers_error_ = status.error();
    return status;
  }

  const GetOptions& options_;
  ReadSink& reader_;
  std::optional<ObjectInfo> first_;
  Range range_;
  uint64_t delivered_ = 0;
  uint64_t counted_ = 0;
  std::optional<Error> readers_error_;
};

/// Threads, ownership and the rest as PartUpload.
class RetryingUpload final : public PartUpload {
 public:
  RetryingUpload(std::unique_ptr<PartUpload> inner, Retrier retrier)
      : inner_(std::move(inner)), retrier_(std::move(retrier)) {}

  Result<UploadedPart> PutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                               const Context& context) override {
    return retrier_.Run(context,
                        [&] { return inner_->PutPart(number, offset, body, crc32c, context); });
  }
  Result<ObjectInfo> Complete(const std::vector<UploadedPart>& parts, const Condition& condition,
                              const Context& context) override {
    return retrier_.Run(context, [&] { return inner_->Complete(parts, condition, context); });
  }
  Status Abort(const Context& context) override {
    return retrier_.Run(context, [&] { return inner_->Abort(context); });
  }

 private:
  const std::unique_ptr<PartUpload> inner_;
  const Retrier retrier_;
};

}  // namespace

RetryingStore::RetryingStore(std::shared_ptr<ObjectStore> inner, RetryOptions options,
                             RetryHooks hooks)
    : StoreLayer(std::move(inner)), retrier_(options, std::move(hooks)) {}

Result<ObjectInfo> RetryingStore::Read(std::string_view key, const GetOptions& options,
                                       ReadSink& sink, const Context& context) {
  ResumingSink resuming(options, sink);
  const auto attempt = [&]() -> Result<ObjectInfo> {
    auto read = inner().Read(key, resuming.Rest(), resuming, context);
    if (!read && resuming.readers_error()) {
      read.error().retryable = false;
      return read;
    }
    if (read || resuming.complete()) return *resuming.first();
    return read;
  };
  auto read = retrier_.Run(context, attempt, [&] { return resuming.TakeProgress(); });
  if (!read && resuming.readers_error()) {
    return Fail(Located(*resuming.readers_error(), root(), key));
  }
  return read;
}

Result<GetResult> RetryingStore::Get(std::string_view key, const GetOptions& options,
                                     const Context& context) {
  GatherSink sink(options);
  AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info, Read(key, options, sink, context));
  return GetResult{std::move(info), sink.Take()};
}

Result<std::unique_ptr<PartUpload>> RetryingStore::StartUpload(std::string_view key,
                                                               const PutOptions& options,
                                                               const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(std::unique_ptr<PartUpload> upload, retrier_.Run(context, [&] {
    return inner().StartUpload(key, options, context);
  }));
  return std::make_unique<RetryingUpload>(std::move(upload), retrier_);
}

}  // namespace airfreight
