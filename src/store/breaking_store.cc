#include "store/breaking_store.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/checks.h"

namespace airfreight {
namespace {

// A name that no coordinate gives: theirs have at least five parts.
constexpr std::string_view kTrialKey = "airfreight-probe";

// Keeps apart what a reader says and what the store does.
class NotingSink final : public ReadSink {
 public:
  explicit NotingSink(ReadSink& reader) : reader_(reader) {}

  Status Begin(const ObjectInfo& info) override { return Noted(reader_.Begin(info)); }
  Status Write(ByteView bytes) override { return Noted(reader_.Write(bytes)); }
  bool has_failed() const { return failed_; }

 private:
  Status Noted(Status status) {
    failed_ = failed_ || !status;
    return status;
  }

  ReadSink& reader_;
  bool failed_ = false;
};

// Whether a store has said this: what was refused before it was sent tells nothing of it.
bool IsAnswer(const Error& error) {
  return error.http_status != 0 || error.code == ErrorCode::kNotFound ||
         error.code == ErrorCode::kConditionFailed;
}

/// Threads, ownership and the rest as PartUpload.
class BreakingUpload final : public PartUpload {
 public:
  BreakingUpload(std::unique_ptr<PartUpload> inner, BreakerGate gate, std::string_view key)
      : inner_(std::move(inner)), gate_(std::move(gate)), key_(key) {}

  Result<UploadedPart> PutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                               const Context& context) override {
    return gate_.Run(key_, context,
                     [&] { return inner_->PutPart(number, offset, body, crc32c, context); });
  }
  Result<ObjectInfo> Complete(const std::vector<UploadedPart>& parts, const Condition& condition,
                              const Context& context) override {
    return gate_.Run(key_, context, [&] { return inner_->Complete(parts, condition, context); });
  }
  Status Abort(const Context& context) override { return inner_->Abort(context); }

 private:
  const std::unique_ptr<PartUpload> inner_;
  const BreakerGate gate_;
  const std::string key_;
};

}  // namespace

void BreakerGate::Tell(const Error* error, const Context& context) const {
  if (error != nullptr && IsOutage(*error, context)) {
    breaker_->Failed(*error);
  } else if (error == nullptr || IsAnswer(*error)) {
    breaker_->Answered();
  }
}

// Asks a store that has rested whether it is back. An error where it is not, or not known to be.
Status BreakerGate::TryOut(const Context& caller) const {
  Context context = caller;
  const auto ends = breaker_->now() +
                    std::chrono::duration_cast<Context::Clock::duration>(breaker_->options().trial);
  context.deadline = std::min(ends, caller.deadline.value_or(ends));
  auto there = store_->Head(kTrialKey, context);
  if (there) {
    breaker_->Answered();
    return {};
  }
  Error error = Located(std::move(there).error(), store_->root(), {});
  const bool ours = error.code == ErrorCode::kTimeout || IsOutage(error, context);
  if (error.code == ErrorCode::kCancelled || (ours && caller.Expired())) {
    breaker_->TrialGivenUp();
    return Fail(std::move(error));
  }
  if (!ours) {
    breaker_->Answered();
    return {};
  }
  error.retryable = true;
  breaker_->Failed(error);
  return Fail(std::move(error));
}

Status BreakerGate::Enter(std::string_view key, const Context& context) const {
  switch (breaker_->Enter()) {
    case Breaker::Entry::kPass:
      return {};
    case Breaker::Entry::kTrial:
      return TryOut(context);
    case Breaker::Entry::kRefuse:
      break;
  }
  Error error = breaker_->Refusal();
  error.store = store_->root();
  error.key = key;
  return Fail(std::move(error));
}

Result<ObjectInfo> BreakingStore::Read(std::string_view key, const GetOptions& options,
                                       ReadSink& sink, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(gate_.Enter(key, context));
  NotingSink noting(sink);
  auto read = inner().Read(key, options, noting, context);
  gate_.Tell(read || noting.has_failed() ? nullptr : &read.error(), context);
  return read;
}

Result<std::unique_ptr<PartUpload>> BreakingStore::StartUpload(std::string_view key,
                                                               const PutOptions& options,
                                                               const Context& context) {
  auto upload = gate_.Run(key, context, [&] { return inner().StartUpload(key, options, context); });
  if (!upload) return upload;
  return std::make_unique<BreakingUpload>(*std::move(upload), gate_, key);
}

}  // namespace airfreight
