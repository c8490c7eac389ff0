#include "transfer/stream_upload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "store/checks.h"

namespace airfreight {
namespace {

// Half of what Context promises between two polls of `cancelled`.
constexpr std::chrono::milliseconds kPoll{100};
// What a writer may gather before it counts: hundreds of small values at once are no reason to make
// others wait.
constexpr uint64_t kUncounted = uint64_t{1} << 20;

// "Not found" of a part is of its upload, and would read as if the value was to be found.
Error PartError(Error error) {
  if (error.code != ErrorCode::kNotFound) return error;
  error.code = ErrorCode::kUnavailable;
  error.retryable = true;
  error.message =
      "the store has given up the parts that were sent (are open uploads removed too early? a "
      "lifecycle rule needs days, not hours). Nothing was changed; push again: " +
      error.message;
  return error;
}

}  // namespace

Context AbortContext(ErrorCode code, const Context& caller) {
  Context context;
  const auto now = Context::Clock::now();
  const bool hurry =
      code == ErrorCode::kCancelled || code == ErrorCode::kTimeout || caller.IsCancelled();
  context.deadline = now + (hurry ? Context::Clock::duration(kAbortWhenCancelled)
                                  : Context::Clock::duration(kAbortAfterError));
  if (!hurry && caller.cancelled) {
    context.cancelled = [&caller, wished = std::optional<Context::Clock::time_point>()]() mutable {
      if (!wished && caller.IsCancelled()) wished = Context::Clock::now();
      return wished && Context::Clock::now() - *wished >= kAbortWhenCancelled;
    };
  }
  return context;
}

StreamUpload::StreamUpload(const Capabilities& capabilities, const Options& options,
                           MemoryBudget& budget, Start start)
    : capabilities_(capabilities),
      options_(options),
      plan_(PartPlan::ForStream(std::min(options.part_bytes, capabilities.max_put_bytes),
                                capabilities)),
      first_bytes_(capabilities.parts ? plan_.PartBytes(1) : capabilities.max_put_bytes),
      budget_(budget),
      start_(std::move(start)),
      checksums_(options.digest, options.block_bytes) {}

StreamUpload::~StreamUpload() {
  stop_.Set();
  EndWorkers();
}

Status StreamUpload::Append(ByteView bytes, const Context& context) {
  if (error_) return Fail(*error_);
  Status done = DoAppend(bytes, context);
  if (!done) return Abort(std::move(done).error(), context);
  return {};
}

Status StreamUpload::Finish(const Context& context) {
  if (error_) return Fail(*error_);
  Status done = DoFinish(context);
  if (!done) return Abort(std::move(done).error(), context);
  return {};
}

Status StreamUpload::CheckRoom(uint64_t more) const {
  const uint64_t most = capabilities_.parts ? plan_.MostBytes() : capabilities_.max_put_bytes;
  if (more <= most - std::min(size(), most)) return {};
  return Fail(ErrorCode::kTooLarge,
              fmt::format("the value takes more than the {} bytes that the store takes in one {}",
                          most, capabilities_.parts ? "object" : "request"));
}

Status StreamUpload::DoAppend(ByteView bytes, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckRoom(bytes.size()));
  while (!bytes.empty()) {
    ByteView copy;
    if (!in_parts()) {
      if (first_.size() == first_bytes_) {
        AIRFREIGHT_RETURN_IF_ERROR(SendFirst(context));
        continue;
      }
      const uint64_t room = first_bytes_ - first_.size();
      AIRFREIGHT_ASSIGN_OR_RETURN(
          copy, first_.AppendSome(bytes.first(std::min<uint64_t>(room, bytes.size()))));
      if (capabilities_.parts && first_share_.bytes() == 0 && first_.size() > kUncounted) {
        first_share_ = budget_.TakeRegardless(first_bytes_);
      }
    } else {
      if (filling_.number == 0) AIRFREIGHT_RETURN_IF_ERROR(BeginPart(context));
      Buffer& part = filling_.bytes;
      const ByteView piece = bytes.first(std::min(bytes.size(), part.capacity() - part.size()));
      part.Append(piece);
      copy = part.view().last(piece.size());
    }
    // The copy is what will be sent: whoever changes the original meanwhile changes nothing.
    checksums_.Update(copy);
    bytes = bytes.subspan(copy.size());
    if (filling_.number != 0 && filling_.bytes.size() == filling_.bytes.capacity()) {
      AIRFREIGHT_RETURN_IF_ERROR(Enqueue(std::exchange(filling_, Part()), context));
    }
  }
  return {};
}

Status StreamUpload::DoFinish(const Context& context) {
  if (!in_parts()) return {};
  if (filling_.number != 0) {
    AIRFREIGHT_RETURN_IF_ERROR(Enqueue(std::exchange(filling_, Part()), context));
  }
  {
    std::unique_lock lock(mutex_);
    AIRFREIGHT_RETURN_IF_ERROR(WaitUntil(lock, context, [this] { return under_way_ == 0; }));
  }
  EndWorkers();
  spare_ = Buffer();
  spare_share_.Release();
  std::sort(parts_.begin(), parts_.end(),
            [](const UploadedPart& a, const UploadedPart& b) { return a.number < b.number; });
  return {};
}

Status StreamUpload::SendFirst(const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(upload_, start_(context));
  Part part;
  part.number = 1;
  part.first = std::move(first_);
  if (first_share_.bytes() == 0) first_share_ = budget_.TakeRegardless(first_bytes_);
  part.share = std::move(first_share_);
  return Enqueue(std::move(part), context);
}

Status StreamUpload::BeginPart(const Context& context) {
  Part part;
  part.number = next_number_;
  part.offset = plan_.Offset(part.number);
  const uint64_t bytes = plan_.PartBytes(part.number);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (spare_.capacity() == bytes) {
      part.bytes = std::exchange(spare_, Buffer());
      part.bytes.Resize(0);
      part.share = std::move(spare_share_);
      break;
    }
    spare_ = Buffer();  // Of another size: the schedule has come to its next step.
    spare_share_.Release();
    if (budget_.TryTake(bytes, part.share)) break;
    // The one buffer without which this writer could not go on. Others are waited for, and only for
    // our own parts: they are under way, whatever other writers do.
    if (under_way_ == 0) {
      part.share = budget_.TakeRegardless(bytes);
      break;
    }
    const int before = under_way_;
    AIRFREIGHT_RETURN_IF_ERROR(WaitUntil(lock, context, [&] { return under_way_ < before; }));
  }
  lock.unlock();
  if (part.bytes.capacity() == 0) {
    AIRFREIGHT_ASSIGN_OR_RETURN(part.bytes, Buffer::Allocate(bytes));
  }
  ++next_number_;
  filling_ = std::move(part);
  return {};
}

Status StreamUpload::Enqueue(Part part, const Context& context) {
  part.crc32c = checksums_.EndPart();
  part.deadline = context.deadline;
  std::unique_lock lock(mutex_);
  AIRFREIGHT_RETURN_IF_ERROR(
      WaitUntil(lock, context, [this] { return under_way_ < std::max(options_.connections, 1); }));
  ++under_way_;
  queue_.push_back(std::move(part));
  if (static_cast<size_t>(idle_) >= queue_.size() || workers_.Start([this] { Work(); })) {
    work_.notify_one();
    return {};
  }
  // No further thread is to be had: the ones that there are will come to it.
  if (workers_.count() > 0) return {};
  part = std::move(queue_.front());
  queue_.pop_front();
  lock.unlock();
  Send(std::move(part), stop_.ForCaller(context));
  lock.lock();
  return WaitUntil(lock, context, [] { return true; });
}

template <typename Ready>
Status StreamUpload::WaitUntil(std::unique_lock<std::mutex>& lock, const Context& context,
                               Ready ready) {
  for (bool first = true;; first = false) {
    // Without the lock, as the poll may wait for the caller's own locks.
    lock.unlock();
    Status wanted = CheckContext(context);
    lock.lock();
    if (!wanted) return wanted;
    if (worker_error_) return Fail(*worker_error_);
    if (ready()) return {};
    if (!first) changed_.wait_for(lock, kPoll);
  }
}

void StreamUpload::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    // Not wait(): GCC 12's is GLIBCXX_3.4.30, younger than what the wheel's platform promises
    // (manylinux_2_34). A thread that has had nothing to do for an hour ends.
    work_.wait_for(lock, std::chrono::hours(1), [this] { return ended_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    Part part = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Context caller;
    caller.deadline = part.deadline;
    Send(std::move(part), stop_.ForWorker(caller));
    lock.lock();
  }
}

void StreamUpload::Send(Part part, const Context& context) {
  auto sent = upload_->PutPart(part.number, part.offset, part.body(), part.crc32c, context);
  {
    const std::lock_guard lock(mutex_);
    if (part.number > 1 && spare_.capacity() == 0) {
      spare_ = std::move(part.bytes);
      spare_share_ = std::move(part.share);
    }
  }
  // Given back before the part counts as ended: whoever waits for its end wants its room.
  part.first = SegmentedBuffer();
  part.bytes = Buffer();
  part.share.Release();

  const std::lock_guard lock(mutex_);
  --under_way_;
  if (sent) {
    parts_.push_back(*std::move(sent));
    parts_.back().crc32c = part.crc32c;
  } else {
    if (!worker_error_) worker_error_ = PartError(std::move(sent).error());
    stop_.Set();
  }
  changed_.notify_all();
}

void StreamUpload::EndWorkers() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    work_.notify_all();
  }
  workers_.Join();
}

Status StreamUpload::Abort(Error error, const Context& context) {
  if (error_) return Fail(*error_);
  error_ = std::move(error);
  if (const Status removed = GiveUp(error_->code, context); !removed) {
    error_->message += fmt::format("; and the parts that were sent could not be removed: {}",
                                   removed.error().message);
  }
  return Fail(*error_);
}

Status StreamUpload::Abandon(const Context& context) {
  Status given_up;
  if (!error_) {
    error_.emplace();
    error_->code = ErrorCode::kInvalid;
    error_->message = "the value was given up before";
    given_up = GiveUp(error_->code, context);
  }
  Release();
  return given_up;
}

Status StreamUpload::GiveUp(ErrorCode code, const Context& context) {
  stop_.Set();
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();
  }
  EndWorkers();
  // What was never sent stays until the end: it may be all of a value that is kept elsewhere.
  if (in_parts()) Release();
  filling_ = Part();
  spare_ = Buffer();
  spare_share_.Release();
  if (upload_ == nullptr) return {};
  return upload_->Abort(AbortContext(code, context));
}

}  // namespace airfreight
