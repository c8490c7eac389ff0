#pragma once

/// \file
/// \brief A whole object, by one stream or by as many as are needed.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"
#include "base/digest.h"
#include "store/workers.h"

namespace airfreight {

/// \brief Where the bytes of a download go.
///
/// Threads: WriteAt from several at once, for ranges that do not overlap; the others by one.
class DownloadTarget {
 public:
  virtual ~DownloadTarget() = default;
  /// Makes room for `size` bytes. Once, before the first byte.
  virtual Status Reserve(uint64_t size) = 0;
  virtual Status WriteAt(uint64_t offset, ByteView bytes) = 0;
  /// What was written at `offset`, at most `most` bytes and at least one; valid until the next
  /// call.
  virtual Result<ByteView> ReadBack(uint64_t offset, uint64_t most) = 0;
  /// Gives up what lies behind the first `size` bytes.
  virtual Status Truncate(uint64_t size) = 0;
};

struct DownloadOptions {
  uint64_t size = 0;  ///< What the object should have.
  DigestKind digest = DigestKind::kCrc32c;
  int connections = 1;  ///< Most streams at once.
  /// Asked of the first response of an object of that size, before a byte of it is kept; an error
  /// ends the download.
  std::function<Status(const ObjectInfo&)> admit = [](const ObjectInfo&) { return Status(); };
  /// Replaced by tests.
  std::function<Context::Clock::time_point()> now = [] { return Context::Clock::now(); };
};

struct Downloaded {
  ObjectInfo info;  ///< Of the first response.
  /// Of all bytes. Empty, and nothing was read, when `info.size` is not the expected one.
  std::string digest;
};

/// \brief One download.
///
/// It begins with one plain GET on the calling thread, which is all there is where that is fast.
/// Its rate is watched; where it stays below what one connection to a near store gives, and enough
/// is left to pay for it, further streams on threads of their own take ranges off the end of what
/// is left, each on the version that the first response had, until the streams meet. Idle streams
/// take half of the largest range that is still under way, and all of one that has stalled, so that
/// no one waits for the slowest longer than it takes to fetch its rest again. The rates are looked
/// at again all the time: servers let a burst through and throttle then.
///
/// A range that fails in a way that may pass is taken over by the others; only when the calling
/// thread's own request fails does the download.
///
/// Threads: used by one; runs others within Run. Ownership: of its threads. Blocking: Run, which
/// polls `context.cancelled` on the calling thread. Fork: as ObjectStore. Errors: those of the
/// store and of the target; ConditionFailed when the object was replaced in between.
class Download {
 public:
  Download(ObjectStore& store, std::string_view key, DownloadTarget& target,
           DownloadOptions options);
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;
  ~Download();

  /// Once.
  Result<Downloaded> Run(const Context& context);

 private:
  struct Stream;
  class Sink;
  using Clock = Context::Clock;

  bool ReadRange(Stream& stream, bool caller, const Context& context);
  void WorkUntilDone(bool caller, const Context& context);
  Context ContextOf(Stream& stream, bool caller, const Context& context);
  bool EndWith(Error error);
  Stream* Claim();
  Stream* Split(Stream& from, uint64_t at);
  void JoinReturned();
  void TakeBackUnbegun(Clock::time_point now);
  bool AllDone() const;
  void Watch();
  Result<std::string> Digest(const Context& context);

  ObjectStore& store_;
  const std::string key_;
  DownloadTarget& target_;
  const DownloadOptions options_;
  bool adaptive_ = false;
  bool begun_ = false;
  Context for_workers_;      // With the caller's deadline.
  Clock::time_point asked_;  // When the first request was made.
  ObjectInfo info_;
  bool other_size_ = false;
  std::optional<Digester> sha256_;  // Of the beginning, as far as the first stream has come.
  uint64_t digested_ = 0;

  StopFlag stop_;
  mutable std::mutex mutex_;  // Of all below, but for what a stream's own thread has of it.
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Stream*> returned_;  // Ranges whose streams failed, for whoever is idle.
  std::optional<Error> error_;
  uint64_t delivered_ = 0;
  int running_ = 1;  // Streams with a thread, the caller's included.
  int wanted_ = 1;
  bool shrunk_ = false;   // A stream failed: the store has enough of them.
  bool refused_ = false;  // And for good: only the caller's thread asks for what is left.
  Clock::duration latency_{};
  double stream_rate_ = 0;  // Bytes per second of one stream, as last seen.
  // Of the calling thread alone.
  Clock::time_point window_began_;
  Clock::duration window_busy_{};  // Of it in the target and the digest, not waiting for bytes.
  uint64_t window_from_ = 0;
  int slow_windows_ = 0;
  std::optional<double> rate_before_growth_;  // Until it is known what the growth has brought.
  std::optional<Clock::time_point> grew_;
  Clock::time_point looked_;  // When it was last seen who has not begun.
  bool full_ = false;         // More streams did not bring more.
  Workers workers_;
};

}  // namespace airfreight
