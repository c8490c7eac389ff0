#include "transfer/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/crc32c.h"
#include "store/checks.h"

namespace airfreight {
namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

// Bytes per second. One stream of a near store gives 1 to 3 GB/s, one of S3 from within its region
// 50 to 90 MB/s
// (docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance-design-patterns .html:
// 85–90 MB/s per request): anything between divides the two.
constexpr double kSlowStream = 300e6;
// What several streams are to reach together: 6 Gbit/s, more than most workers' networks give.
constexpr double kWanted = 800e6;
// A sum this near to it is not worth more streams.
constexpr double kNearEnough = 0.75;
// More streams that brought less than this were of no use: the network is full.
constexpr double kWorthwhileGain = 1.2;
// The time over which a rate is taken. Shorter ones see the kernel's buffers and not the network.
constexpr milliseconds kWindow{8};
// Slow windows in a row before streams are added: one may be the scheduler's.
constexpr int kSlowWindows = 2;
// Starting a thread and a connection, beside the store's own latency.
constexpr milliseconds kStartUp{10};
// The smallest range that is worth a request.
constexpr uint64_t kLeastRange = uint64_t{1} << 20;
// A stream that gave nothing for so long has stalled, as far as an idle one is concerned.
constexpr milliseconds kStalled{250};
// How often in a row a range that brought nothing is taken over: a store that is merely slow to
// begin, or that asks for less, must not be asked over and over. Whoever has it then waits for as
// long as the store's own layers do.
constexpr int kMaxTakeovers = 3;
// What counts as latency: the first request's time to its answer may hold the waits of its retries.
constexpr milliseconds kMostLatency{500};
// How often idle threads look for a stream that has stalled, and the caller's for its wish.
constexpr milliseconds kIdle{50};

double PerSecond(uint64_t bytes, Context::Clock::duration time) {
  const double seconds = Seconds(time).count();
  return seconds > 0 ? static_cast<double>(bytes) / seconds : HUGE_VAL;
}

}  // namespace

// A range of the object on its way. [begin, position) is there; the end comes nearer when others
// take from it.
struct Download::Stream {
  uint64_t begin = 0;
  uint64_t position = 0;
  uint64_t end = 0;
  uint64_t asked_to = 0;  // The end when it was asked for.
  uint32_t crc = 0;       // Its own thread's, until all are joined.
  bool first = false;
  bool under_way = false;  // Someone reads it.
  int takeovers = 0;       // In a row, without a byte in between.
  Clock::time_point last_progress;
  std::atomic<bool> abandoned{false};  // Taken over as a whole: whoever reads it may stop.

  uint64_t left() const { return end - position; }
  bool barren() const { return position == begin; }
  // Its answer has not begun, and someone waits for it.
  bool unbegun() const { return !first && under_way && barren() && left() > 0; }
};

class Download::Sink final : public ReadSink {
 public:
  Sink(Download& download, Stream& stream) : download_(download), stream_(stream) {}

  Status Begin(const ObjectInfo& info) override {
    Status begun = DoBegin(info);
    if (!begun) failed_ = true;
    return begun;
  }

  Status Write(ByteView bytes) override {
    if (download_.stop_.IsSet()) {
      failed_ = true;
      return Fail(ErrorCode::kCancelled, "the download was ended");
    }
    uint64_t at = 0;
    bool met = false;
    const Clock::time_point before = download_.options_.now();
    {
      const std::lock_guard lock(download_.mutex_);
      at = stream_.position;
      bytes = bytes.first(std::min<uint64_t>(bytes.size(), stream_.left()));
      stream_.position += bytes.size();
      stream_.last_progress = before;
      download_.delivered_ += bytes.size();
      met = stream_.position == stream_.end && stream_.end < stream_.asked_to;
    }
    // Outside of the lock: what lies behind `position` is no one else's.
    if (Status written = download_.target_.WriteAt(at, bytes); !written) {
      failed_ = true;
      Error error = std::move(written).error();
      error.retryable = false;  // Not by the store's layers, which would only read it again.
      return Fail(std::move(error));
    }
    stream_.crc = ExtendCrc32c(stream_.crc, bytes);
    if (stream_.first) {
      if (download_.sha256_) {
        download_.sha256_->Update(bytes);
        download_.digested_ = at + bytes.size();
      }
      download_.window_busy_ += download_.options_.now() - before;
      download_.Watch();
    }
    // The rest is on other streams.
    if (met) return Fail(ErrorCode::kInternal, "no more of this range is wanted");
    return {};
  }

  /// Whether an error that ended the read is this sink's own and a real one.
  bool failed() const { return failed_; }

 private:
  Status DoBegin(const ObjectInfo& info) {
    if (!stream_.first) {
      if (info.version == download_.info_.version && info.size == download_.info_.size) return {};
      return Fail(ErrorCode::kConditionFailed, "the object was replaced while it was read");
    }
    const Clock::time_point now = download_.options_.now();
    download_.info_ = info;
    if (info.size != download_.options_.size) {
      download_.other_size_ = true;
      return Fail(ErrorCode::kInternal, "the object has another size");
    }
    AIRFREIGHT_RETURN_IF_ERROR(download_.options_.admit(info));
    AIRFREIGHT_RETURN_IF_ERROR(download_.target_.Reserve(info.size));
    download_.window_began_ = now;
    download_.begun_ = true;
    // Without a version nothing would tie the streams to one object.
    if (info.version.empty()) download_.adaptive_ = false;
    const std::lock_guard lock(download_.mutex_);
    download_.latency_ = std::min<Clock::duration>(now - download_.asked_, kMostLatency);
    stream_.last_progress = now;
    return {};
  }

  Download& download_;
  Stream& stream_;
  bool failed_ = false;
};

Download::Download(ObjectStore& store, std::string_view key, DownloadTarget& target,
                   DownloadOptions options)
    : store_(store),
      key_(key),
      target_(target),
      options_(std::move(options)),
      adaptive_(options_.connections > 1 && store.capabilities().parallel) {
  if (options_.digest == DigestKind::kSha256) sha256_.emplace(DigestKind::kSha256);
}

Download::~Download() {
  stop_.Set();
  workers_.Join();
}

Result<Downloaded> Download::Run(const Context& context) {
  Stream* first = nullptr;
  asked_ = options_.now();
  Context deadline_only;
  deadline_only.deadline = context.deadline;
  for_workers_ = stop_.ForWorker(deadline_only);
  {
    const std::lock_guard lock(mutex_);
    streams_.push_back(std::make_unique<Stream>());
    first = streams_.back().get();
    first->first = true;
    first->under_way = true;
    first->end = options_.size;
    first->last_progress = asked_;
  }
  if (ReadRange(*first, true, context)) WorkUntilDone(true, context);
  workers_.Join();
  // Nothing but the caller's thread is left: no lock is needed any more.
  if (other_size_) return Downloaded{std::move(info_), {}};
  if (error_) return Fail(*std::move(error_));
  Downloaded downloaded;
  AIRFREIGHT_ASSIGN_OR_RETURN(downloaded.digest, Digest(context));
  downloaded.info = std::move(info_);
  return downloaded;
}

// Reads the range on this thread; false when the thread has nothing more to do.
bool Download::ReadRange(Stream& stream, bool caller, const Context& context) {
  GetOptions options;
  {
    const std::lock_guard lock(mutex_);
    stream.asked_to = stream.end;
    if (!stream.first && stream.left() == 0) {  // Taken over before it was asked for.
      stream.under_way = false;
      return true;
    }
    if (stream.first) {
      options.expected_size = options_.size;
    } else {
      options.offset = stream.begin;
      options.length = stream.left();
      options.if_version = info_.version;
    }
  }
  Sink sink(*this, stream);
  auto read = store_.Read(key_, options, sink, ContextOf(stream, caller, context));

  const std::lock_guard lock(mutex_);
  stream.under_way = false;
  changed_.notify_all();
  if (sink.failed()) return EndWith(std::move(read).error());
  // To its end, or to where others have taken it over. An empty object too has to be there.
  if (stream.left() == 0 && (read || begun_)) return true;
  if (read) {
    Error error;
    error.code = ErrorCode::kCorrupt;
    error.message = fmt::format("the store ended the body {} bytes early", stream.left());
    return EndWith(std::move(error));
  }
  Error error = std::move(read).error();
  // An object that was replaced can't be had any more, whoever asks.
  if (caller || stop_.IsSet() || error.code == ErrorCode::kConditionFailed) {
    return EndWith(std::move(error));
  }
  const int takeovers = stream.barren() ? stream.takeovers + 1 : 0;
  if (error.retryable && takeovers > kMaxTakeovers) return EndWith(std::move(error));
  // The store may have enough of us, or not like requests for ranges: the others take the rest.
  // What is in the way of them all is the caller's own error soon enough.
  shrunk_ = true;
  if (!error.retryable) refused_ = true;
  Stream* const rest = Split(stream, stream.position);
  rest->under_way = false;
  rest->takeovers = takeovers;
  returned_.push_back(rest);
  JoinReturned();
  return false;
}

// Ranges that no one reads any more, and that lie where the answer to an earlier request goes on,
// need no request of their own.
void Download::JoinReturned() {
  const auto join = [this](const Stream* returned) {
    const auto before =
        std::find_if(streams_.begin(), streams_.end(), [returned](const auto& stream) {
          return stream->under_way && stream->left() > 0 && stream->end == returned->begin &&
                 stream->asked_to >= returned->end;
        });
    if (before == streams_.end()) return false;
    (*before)->end = returned->end;
    return true;
  };
  for (auto at = returned_.begin(); at != returned_.end();) {
    if (!join(*at)) {
      ++at;
      continue;
    }
    (*at)->end = (*at)->begin;
    returned_.erase(at);
    at = returned_.begin();  // What lies behind it may follow.
  }
}

// Several answers that have not begun while the first one flows: the store answers one after
// another, as servers of a single thread do, and goes on with the first. What lies next to its
// range it brings without further ado; asking anew would only make the queue longer.
void Download::TakeBackUnbegun(Clock::time_point now) {
  const Clock::duration patience = std::max<Clock::duration>(kStalled, 4 * latency_);
  const auto late = [&](const auto& stream) {
    return stream->unbegun() && now - stream->last_progress > patience;
  };
  Stream& first = *streams_.front();
  if (refused_ || first.left() == 0 || std::count_if(streams_.begin(), streams_.end(), late) < 2) {
    return;
  }
  for (;;) {
    const auto next = std::find_if(streams_.begin(), streams_.end(), [&](const auto& stream) {
      return late(stream) && stream->begin == first.end;
    });
    if (next == streams_.end()) return;
    first.end = (*next)->end;
    (*next)->end = (*next)->begin;
    (*next)->abandoned.store(true, std::memory_order_relaxed);
    shrunk_ = true;
    refused_ = true;
  }
}

// The first error is the download's.
bool Download::EndWith(Error error) {
  if (!error_) error_ = std::move(error);
  stop_.Set();
  changed_.notify_all();
  return false;
}

Context Download::ContextOf(Stream& stream, bool caller, const Context& context) {
  Context own;
  own.deadline = context.deadline;
  if (caller) {
    own.cancelled = [this, &stream, &context] {
      // A stream that gives nothing calls no sink; its store still polls.
      if (stream.first) Watch();
      if (context.IsCancelled()) stop_.Set();
      return stop_.IsSet() || stream.abandoned.load(std::memory_order_relaxed);
    };
  } else {
    own.cancelled = [this, &stream] {
      return stop_.IsSet() || stream.abandoned.load(std::memory_order_relaxed);
    };
  }
  return own;
}

// Takes ranges until there are none, and waits for those that others still read, which may stall.
void Download::WorkUntilDone(bool caller, const Context& context) {
  std::unique_lock lock(mutex_);
  while (!stop_.IsSet()) {
    if (refused_ && !caller) return;
    if (Stream* const stream = Claim(); stream != nullptr) {
      lock.unlock();
      const bool more = ReadRange(*stream, caller, context);
      lock.lock();
      if (!more) return;
      continue;
    }
    if (AllDone()) return;
    if (caller) {
      // Without the lock, as the poll may wait for the caller's own locks.
      lock.unlock();
      Status wanted = CheckContext(context);
      lock.lock();
      if (!wanted) {
        EndWith(std::move(wanted).error());
        return;
      }
      if (AllDone()) return;
    }
    changed_.wait_for(lock, kIdle);
  }
  // Stopped by a poll of the caller's wish, within a range that ended all the same.
  if (caller && !error_ && !AllDone()) {
    Error error;
    error.code = ErrorCode::kCancelled;
    error.message = "the caller asked to stop";
    EndWith(std::move(error));
  }
}

bool Download::AllDone() const {
  return returned_.empty() && std::all_of(streams_.begin(), streams_.end(),
                                          [](const auto& stream) { return stream->left() == 0; });
}

Download::Stream* Download::Split(Stream& from, uint64_t at) {
  streams_.push_back(std::make_unique<Stream>());
  Stream& taken = *streams_.back();
  taken.begin = at;
  taken.position = at;
  taken.end = from.end;
  taken.under_way = true;
  taken.last_progress = options_.now();
  from.end = at;
  return &taken;
}

// The next range for an idle thread, if there is one.
Download::Stream* Download::Claim() {
  const Clock::time_point now = options_.now();
  if (!returned_.empty()) {
    Stream* const stream = returned_.back();
    returned_.pop_back();
    stream->under_way = true;
    stream->last_progress = now;
    return stream;
  }
  Stream* largest = nullptr;
  Stream* stalled = nullptr;
  const Clock::duration patience = std::max<Clock::duration>(kStalled, 4 * latency_);
  // Where several have not begun, the store answers one after another, and each waits for its turn.
  const auto turns =
      std::max<std::ptrdiff_t>(std::count_if(streams_.begin(), streams_.end(),
                                             [](const auto& stream) { return stream->unbegun(); }),
                               1);
  for (const auto& stream : streams_) {
    if (!stream->under_way || stream->left() == 0) continue;
    if (largest == nullptr || stream->left() > largest->left()) largest = stream.get();
    if (stream->takeovers < kMaxTakeovers &&
        now - stream->last_progress >
            patience * (1 << stream->takeovers) * (stream->unbegun() ? turns : 1)) {
      stalled = stream.get();
    }
  }
  if (stalled != nullptr) {
    stalled->abandoned.store(true, std::memory_order_relaxed);
    const int takeovers = stalled->barren() ? stalled->takeovers + 1 : 0;
    Stream* const taken = Split(*stalled, stalled->position);
    taken->takeovers = takeovers;
    return taken;
  }
  if (largest == nullptr || largest->left() < 2 * kLeastRange) return nullptr;
  // It would be there before another answer began.
  if (static_cast<double>(largest->left()) < stream_rate_ * Seconds(latency_).count()) {
    return nullptr;
  }
  // The first stream's range is what no one has asked for yet: of it an equal share for each, which
  // gets smaller as less is left. Any other is being read, and is halved.
  const auto sharers = static_cast<uint64_t>(std::max(wanted_, 2));
  const uint64_t take =
      largest->first ? std::max(largest->left() / sharers, kLeastRange) : largest->left() / 2;
  return Split(*largest, largest->end - take);
}

void Download::Watch() {
  if (!adaptive_ || !begun_) return;
  const Clock::time_point now = options_.now();
  if (grew_ && now - *grew_ > kStalled && now - looked_ > kWindow) {
    looked_ = now;
    const std::lock_guard lock(mutex_);
    TakeBackUnbegun(now);
  }
  if (full_) return;
  const Clock::duration waited = now - window_began_ - window_busy_;
  if (waited < kWindow) return;
  const std::lock_guard lock(mutex_);
  const bool nothing = delivered_ == window_from_;
  const double rate = PerSecond(delivered_ - window_from_, waited);
  window_began_ = now;
  window_busy_ = {};
  window_from_ = delivered_;
  stream_rate_ = rate / running_;
  if (shrunk_ || running_ >= options_.connections) return;

  if (rate_before_growth_) {
    // The new streams have to be there before they can be judged.
    if (now - *grew_ < std::max<Clock::duration>(3 * kWindow, 3 * latency_)) return;
    full_ = rate < kWorthwhileGain * *rate_before_growth_;
    rate_before_growth_.reset();
    slow_windows_ = 0;
    if (full_) return;
  }
  const bool slow = rate < (running_ == 1 ? kSlowStream : kNearEnough * kWanted);
  slow_windows_ = slow ? slow_windows_ + 1 : 0;
  if (slow_windows_ < kSlowWindows) return;

  const uint64_t left = options_.size - delivered_;
  const double seconds_left = static_cast<double>(left) / std::max(rate, 1.0);
  if (seconds_left < Seconds(kStartUp + 2 * latency_).count()) return;
  const double needed = std::ceil(kWanted / std::max(stream_rate_, 1.0));
  const uint64_t ranges = left / kLeastRange;
  const auto useful = static_cast<double>(ranges);
  int wanted =
      static_cast<int>(std::min({needed, useful, static_cast<double>(options_.connections)}));
  // Silence says nothing of a rate: the store may have asked for a pause. One more, to see.
  if (nothing) wanted = std::min(wanted, running_ + 1);
  if (wanted <= running_) return;
  rate_before_growth_ = rate;
  grew_ = now;
  slow_windows_ = 0;
  wanted_ = wanted;
  while (running_ < wanted) {
    ++running_;
    const bool started = workers_.Start([this] {
      WorkUntilDone(false, for_workers_);
      const std::lock_guard ending(mutex_);
      --running_;
      changed_.notify_all();
    });
    if (started) continue;
    --running_;
    full_ = true;
    break;
  }
}

Result<std::string> Download::Digest(const Context& context) {
  if (sha256_) {
    while (digested_ < options_.size) {
      AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
      AIRFREIGHT_ASSIGN_OR_RETURN(const ByteView piece,
                                  target_.ReadBack(digested_, options_.size - digested_));
      sha256_->Update(piece);
      digested_ += piece.size();
    }
    return sha256_->Finish();
  }
  std::sort(streams_.begin(), streams_.end(),
            [](const auto& a, const auto& b) { return a->begin < b->begin; });
  uint32_t crc = 0;
  uint64_t position = 0;
  for (const auto& stream : streams_) {
    if (stream->position == stream->begin) continue;
    if (stream->begin != position) return Fail(ErrorCode::kInternal, "ranges that do not meet");
    crc = Crc32cCombine(crc, stream->crc, stream->position - stream->begin);
    position = stream->position;
  }
  if (position != options_.size) return Fail(ErrorCode::kInternal, "ranges that do not suffice");
  return Crc32cText(crc);
}

}  // namespace airfreight
