#pragma once

/// \file
/// \brief An upload of bytes that are still being made.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/store.h"
#include "store/workers.h"
#include "transfer/checksums.h"
#include "transfer/memory_budget.h"
#include "transfer/plan.h"
#include "transfer/segmented_buffer.h"

namespace airfreight {

/// How long giving an upload up may take: a push that was told to stop has to end within a second,
/// one that failed is worth a little more, as parts that stay behind are paid for.
inline constexpr std::chrono::milliseconds kAbortWhenCancelled{500};
inline constexpr std::chrono::seconds kAbortAfterError{5};

/// The context for giving an upload up after `code`: the caller's own may have ended. A wish to
/// stop that the caller has only while it goes on shortens it; `caller` must outlive it.
Context AbortContext(ErrorCode code, const Context& caller);

/// \brief Gathers bytes while they fit one part, and sends parts in the background beyond.
///
/// Each part has a buffer of its own, which stays until the store has confirmed it, so that a part
/// can be sent again from its first byte. Buffers are taken from the budget; but who has no part
/// under way may always fill one, so that any number of writers, on one thread even, goes on.
///
/// Threads: used by one; sends on threads of its own, which end with Finish, Abort or its life.
/// Ownership: copies what is appended; the budget must outlive it. Blocking: Append while the
/// budget or the connections are used up, and polls meanwhile; Finish until all parts are
/// confirmed. Fork: a child must not destroy its parent's (it would wait for threads that it does
/// not have). Errors: TooLarge, and those of the store. The first one gives the upload up, and
/// every later call returns it.
class StreamUpload {
 public:
  struct Options {
    uint64_t part_bytes = 0;
    int connections = 1;
    uint64_t block_bytes = 0;  ///< Of the checksums of blocks.
    DigestKind digest = DigestKind::kCrc32c;
  };
  using Start = std::function<Result<std::unique_ptr<PartUpload>>(const Context& context)>;

  /// \param start begins the upload, when a first part is full.
  StreamUpload(const Capabilities& capabilities, const Options& options, MemoryBudget& budget,
               Start start);
  StreamUpload(const StreamUpload&) = delete;
  StreamUpload& operator=(const StreamUpload&) = delete;
  ~StreamUpload();

  Status Append(ByteView bytes, const Context& context);
  Checksums& checksums() { return checksums_; }
  uint64_t size() const { return checksums_.size(); }

  /// Whether parts were sent. While not, body() is all of it, also after an error.
  bool in_parts() const { return upload_ != nullptr; }
  Body body() const { return first_.body(); }

  /// Sends what is left and waits for all parts.
  Status Finish(const Context& context);
  /// After Finish.
  PartUpload& upload() { return *upload_; }
  const std::vector<UploadedPart>& parts() const { return parts_; }

  /// Ends all work and gives the parts up. `error` is what every later call returns.
  Status Abort(Error error, const Context& context);
  /// As Abort, of a value that is not wanted any more. The error is that of removing its parts.
  Status Abandon(const Context& context);
  /// Gives back what an upload that has ended still holds.
  void Release() {
    first_ = SegmentedBuffer();
    first_share_.Release();
  }

 private:
  struct Part {
    int number = 0;
    uint64_t offset = 0;
    SegmentedBuffer first;  // The first part's bytes,
    Buffer bytes;           // or any other's.
    MemoryBudget::Share share;
    uint32_t crc32c = 0;
    std::optional<Context::Clock::time_point> deadline;

    Body body() const { return number == 1 ? first.body() : Body(bytes.view()); }
  };

  Status CheckRoom(uint64_t more) const;
  Status DoAppend(ByteView bytes, const Context& context);
  Status DoFinish(const Context& context);
  Status SendFirst(const Context& context);
  Status BeginPart(const Context& context);
  Status Enqueue(Part part, const Context& context);
  template <typename Ready>
  Status WaitUntil(std::unique_lock<std::mutex>& lock, const Context& context, Ready ready);
  void Work();
  void Send(Part part, const Context& context);
  void EndWorkers();
  Status GiveUp(ErrorCode code, const Context& context);

  const Capabilities capabilities_;
  const Options options_;
  const PartPlan plan_;
  const uint64_t first_bytes_;  // What goes in one request.
  MemoryBudget& budget_;
  const Start start_;
  Checksums checksums_;
  SegmentedBuffer first_;
  MemoryBudget::Share first_share_;
  int next_number_ = 2;
  Part filling_;  // From the second part on; number 0: none is begun.
  std::unique_ptr<PartUpload> upload_;
  std::optional<Error> error_;

  // Shared with the workers, under the lock but for the flag.
  StopFlag stop_;
  std::mutex mutex_;
  std::condition_variable work_;     // For workers: a part, or the end.
  std::condition_variable changed_;  // For the writer: a part has ended.
  std::deque<Part> queue_;
  int under_way_ = 0;  // Parts that are queued or being sent.
  int idle_ = 0;       // Workers that wait.
  bool ended_ = false;
  std::optional<Error> worker_error_;
  std::vector<UploadedPart> parts_;
  Buffer spare_;  // Of the part that ended last, for the next one: its pages are there already.
  MemoryBudget::Share spare_share_;
  Workers workers_;
};

}  // namespace airfreight
