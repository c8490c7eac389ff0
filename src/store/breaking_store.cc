#include "store/breaking_store.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
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

// What the breaker learns of a result.
template <typename R>
R Told(Breaker& breaker, R result, const Context& context) {
  if (!result && IsOutage(result.error(), context)) {
    breaker.Failed(result.error());
  } else if (result || IsAnswer(result.error())) {
    breaker.Answered();
  }
  return result;
}

// Asks a store that has rested whether it is back. An error where it is not, or not known to be.
Status TryOut(ObjectStore& store, Breaker& breaker, const Context& caller) {
  Context context = caller;
  const auto ends =
      breaker.now() + std::chrono::duration_cast<Context::Clock::duration>(breaker.options().trial);
  context.deadline = std::min(ends, caller.deadline.value_or(ends));
  auto there = store.Head(kTrialKey, context);
  if (there) {
    breaker.Answered();
    return {};
  }
  Error error = Located(std::move(there).error(), store.root(), {});
  const bool ours = error.code == ErrorCode::kTimeout || IsOutage(error, context);
  if (error.code == ErrorCode::kCancelled || (ours && caller.Expired())) {
    breaker.TrialGivenUp();
    return Fail(std::move(error));
  }
  if (!ours) {
    breaker.Answered();
    return {};
  }
  error.retryable = true;
  breaker.Failed(error);
  return Fail(std::move(error));
}

// Whether a request may be made now.
Status Enter(ObjectStore& store, Breaker& breaker, std::string_view key, const Context& context) {
  switch (breaker.Enter()) {
    case Breaker::Entry::kPass:
      return {};
    case Breaker::Entry::kTrial:
      return TryOut(store, breaker, context);
    case Breaker::Entry::kRefuse:
      break;
  }
  Error error = breaker.Refusal();
  error.store = store.root();
  error.key = key;
  return Fail(std::move(error));
}

/// Threads, ownership and the rest as PartUpload.
class BreakingUpload final : public PartUpload {
 public:
  BreakingUpload(std::unique_ptr<PartUpload> inner, std::shared_ptr<ObjectStore> store,
                 std::shared_ptr<Breaker> breaker, std::string key)
      : inner_(std::move(inner)),
        store_(std::move(store)),
        breaker_(std::move(breaker)),
        key_(std::move(key)) {}

  Result<UploadedPart> PutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                               const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Enter(*store_, *breaker_, key_, context));
    return Told(*breaker_, inner_->PutPart(number, offset, body, crc32c, context), context);
  }
  Result<ObjectInfo> Complete(const std::vector<UploadedPart>& parts, const Condition& condition,
                              const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Enter(*store_, *breaker_, key_, context));
    return Told(*breaker_, inner_->Complete(parts, condition, context), context);
  }
  Status Abort(const Context& context) override { return inner_->Abort(context); }

 private:
  const std::unique_ptr<PartUpload> inner_;
  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<Breaker> breaker_;
  const std::string key_;
};

}  // namespace

Result<ObjectInfo> BreakingStore::Put(std::string_view key, const Body& body,
                                      const PutOptions& options, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  return Told(*breaker_, inner_->Put(key, body, options, context), context);
}

Result<GetResult> BreakingStore::Get(std::string_view key, const GetOptions& options,
                                     const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  return Told(*breaker_, inner_->Get(key, options, context), context);
}

Result<ObjectInfo> BreakingStore::Read(std::string_view key, const GetOptions& options,
                                       ReadSink& sink, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  NotingSink noting(sink);
  auto read = inner_->Read(key, options, noting, context);
  if (noting.has_failed()) {
    breaker_->Answered();
    return read;
  }
  return Told(*breaker_, std::move(read), context);
}

Result<std::unique_ptr<PartUpload>> BreakingStore::StartUpload(std::string_view key,
                                                               const PutOptions& options,
                                                               const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  auto upload = Told(*breaker_, inner_->StartUpload(key, options, context), context);
  if (!upload) return upload;
  return std::make_unique<BreakingUpload>(*std::move(upload), inner_, breaker_, std::string(key));
}

Result<ObjectInfo> BreakingStore::Head(std::string_view key, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  return Told(*breaker_, inner_->Head(key, context), context);
}

Status BreakingStore::Remove(std::string_view key, const Condition& condition,
                             const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  return Told(*breaker_, inner_->Remove(key, condition, context), context);
}

Result<ListPage> BreakingStore::List(std::string_view prefix, std::string_view token, int limit,
                                     const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, {}, context));
  return Told(*breaker_, inner_->List(prefix, token, limit, context), context);
}

Result<VersionPage> BreakingStore::ListVersions(std::string_view prefix, std::string_view token,
                                                int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, {}, context));
  return Told(*breaker_, inner_->ListVersions(prefix, token, limit, context), context);
}

Result<ObjectInfo> BreakingStore::HeadVersion(std::string_view key, std::string_view id,
                                              const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  return Told(*breaker_, inner_->HeadVersion(key, id, context), context);
}

Status BreakingStore::RemoveVersion(std::string_view key, std::string_view id,
                                    const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  return Told(*breaker_, inner_->RemoveVersion(key, id, context), context);
}

Result<UploadPage> BreakingStore::ListUploads(std::string_view prefix, std::string_view token,
                                              int limit, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, {}, context));
  return Told(*breaker_, inner_->ListUploads(prefix, token, limit, context), context);
}

Status BreakingStore::AbortUpload(std::string_view key, std::string_view id,
                                  const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(Enter(*inner_, *breaker_, key, context));
  return Told(*breaker_, inner_->AbortUpload(key, id, context), context);
}

}  // namespace airfreight
