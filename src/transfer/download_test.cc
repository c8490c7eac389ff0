#include "transfer/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/matchers.h"
#include "store/basic_store.h"
#include "store/checks.h"
#include "transfer/download_targets.h"

namespace airfreight {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kPiece = kMiB / 4;

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

// A store with one object, whose streams are as fast as told by a clock that only they move.
class ScriptedStore final : public BasicStore {
 public:
  explicit ScriptedStore(std::string text)
      : BasicStore("scripted://store"), text_(std::move(text)) {}

  std::string_view scheme() const override { return "scripted"; }
  Capabilities capabilities() const override {
    Capabilities capabilities;
    capabilities.parallel = parallel;
    return capabilities;
  }

  /// Waits until as many streams have been begun. The clock goes on as long as there is only one:
  /// what is slow has to be seen to be slow, and no stream is to look stalled.
  void WaitForStreams(size_t count, const Context& context) {
    for (;;) {
      const size_t begun = RequestCount();
      if (begun >= count || context.IsCancelled()) return;
      if (begun < 2) Advance(milliseconds(1));
      std::this_thread::yield();
    }
  }
  size_t RequestCount() {
    const std::lock_guard lock(mutex_);
    return requests.size();
  }
  GetOptions Request(int stream) {
    const std::lock_guard lock(mutex_);
    return requests[static_cast<size_t>(stream)];
  }
  void Advance(nanoseconds time) { now_ += time.count(); }
  Context::Clock::time_point Now() const {
    return Context::Clock::time_point(nanoseconds(now_.load()));
  }

  bool parallel = true;
  std::atomic<double> rate{50e6};  // Bytes per second of each stream.
  bool full = false;               ///< `rate` is that of all streams together.
  /// Asked before an answer begins.
  std::function<void(int stream, const Context& context)> before_begin;
  /// Asked before each piece.
  std::function<Status(int stream, uint64_t offset, const Context& context)> before_piece;
  std::function<void(int stream)> after_read;
  std::string version = "\"1\"";
  std::vector<GetOptions> requests;
  std::set<std::thread::id> threads;
  std::atomic<int> most_active{0};

 private:
  Result<ObjectInfo> DoPut(std::string_view, const Body&, const PutOptions&,
                           const Context&) override {
    return Fail(ErrorCode::kUnsupported, "not here");
  }
  Result<ObjectInfo> DoHead(std::string_view, const Context&) override {
    return Fail(ErrorCode::kUnsupported, "not here");
  }
  Status DoRemove(std::string_view, const Condition&, const Context&) override {
    return Fail(ErrorCode::kUnsupported, "not here");
  }
  Result<ListPage> DoList(std::string_view, std::string_view, int, const Context&) override {
    return Fail(ErrorCode::kUnsupported, "not here");
  }

  Result<ObjectInfo> DoRead(std::string_view, const GetOptions& options, ReadSink& sink,
                            const Context& context) override {
    int stream = 0;
    {
      const std::lock_guard lock(mutex_);
      stream = static_cast<int>(requests.size());
      requests.push_back(options);
      threads.insert(std::this_thread::get_id());
    }
    const int active = ++active_;
    for (int seen = most_active;
         active > seen && !most_active.compare_exchange_weak(seen, active);) {
    }
    auto read = Stream(stream, options, sink, context);
    if (after_read) after_read(stream);
    --active_;
    return read;
  }

  Result<ObjectInfo> Stream(int stream, const GetOptions& options, ReadSink& sink,
                            const Context& context) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    ObjectInfo info;
    info.size = text_.size();
    info.version = version;
    if (!options.if_version.empty() && options.if_version != version) {
      return Fail(ErrorCode::kConditionFailed, "412");
    }
    if (before_begin) before_begin(stream, context);
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(info));
    AIRFREIGHT_ASSIGN_OR_RETURN(const Range range, ClipRange(options, text_.size()));
    for (uint64_t done = 0; done < range.length;) {
      const uint64_t offset = range.offset + done;
      if (before_piece) AIRFREIGHT_RETURN_IF_ERROR(before_piece(stream, offset, context));
      AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
      // Of a store that is full the clock and what was given go hand in hand, piece by small piece:
      // rates would else be those of the scheduler.
      std::unique_lock turn(turns_, std::defer_lock);
      if (full) turn.lock();
      const uint64_t length = std::min(full ? kPiece / 16 : kPiece, range.length - done);
      const int sharers = full ? 1 : std::max(active_.load(), 1);
      const double seconds = static_cast<double>(length) / rate / sharers;
      Advance(nanoseconds(static_cast<int64_t>(seconds * 1e9)));
      AIRFREIGHT_RETURN_IF_ERROR(sink.Write(AsBytes(text_).subspan(offset, length)));
      done += length;
    }
    return info;
  }

  const std::string text_;
  std::mutex mutex_;
  std::mutex turns_;
  std::atomic<int64_t> now_{1'000'000'000};
  std::atomic<int> active_{0};
};

class DownloadTest : public testing::Test {
 protected:
  DownloadTest() : store_(text_) {
    options_.size = text_.size();
    options_.connections = 4;
    options_.now = [this] { return store_.Now(); };
  }

  Result<Downloaded> Run(const Context& context = {}) {
    Download download(store_, "key", target_, options_);
    return download.Run(context);
  }
  // That a download gives the object, whole and with its digest.
  void ExpectWhole(const Result<Downloaded>& downloaded) {
    ASSERT_TRUE(IsOk(downloaded));
    EXPECT_EQ(downloaded->info.version, store_.version);
    EXPECT_EQ(downloaded->digest, DigestOf(options_.digest, Body(text_)));
    const Buffer got = target_.Take();
    EXPECT_TRUE(AsText(got.view()) == text_);
  }
  // The first stream waits, at its eighth piece, until others have been begun; so do they.
  void Hold(size_t streams, int stream, uint64_t offset, const Context& context) {
    if (stream > 0 || offset == 8 * kPiece) store_.WaitForStreams(streams, context);
  }
  void HoldUntil(size_t streams) {
    store_.before_piece = [this, streams](int stream, uint64_t offset, const Context& context) {
      Hold(streams, stream, offset, context);
      return Status();
    };
  }

  static constexpr size_t kSize = 24 * kMiB + 12'345;
  inline static const std::string text_ = Pattern(kSize);
  ScriptedStore store_;
  BufferTarget target_;
  DownloadOptions options_;
};

TEST_F(DownloadTest, FastStoreIsReadByOnePlainRequestOnTheCallersThread) {
  store_.rate = 2e9;
  ExpectWhole(Run());
  ASSERT_EQ(store_.requests.size(), 1U);
  EXPECT_EQ(store_.requests[0].offset, 0U);
  EXPECT_FALSE(store_.requests[0].length);
  EXPECT_EQ(store_.requests[0].if_version, "");
  EXPECT_EQ(store_.threads, std::set{std::this_thread::get_id()});
}

TEST_F(DownloadTest, OneHiccupOfAFastStoreAddsNoStream) {
  store_.rate = 2e9;
  store_.before_piece = [&](int, uint64_t offset, const Context&) {
    if (offset == 20 * kPiece) store_.Advance(milliseconds(30));
    return Status();
  };
  ExpectWhole(Run());
  EXPECT_EQ(store_.requests.size(), 1U);
}

TEST_F(DownloadTest, SlowStreamsAreJoinedByOthersUpToTheSettingOnTheFirstOnesVersion) {
  HoldUntil(4);
  ExpectWhole(Run());
  EXPECT_GE(store_.requests.size(), 4U);
  EXPECT_LE(store_.most_active, 4);
  EXPECT_LE(store_.threads.size(), 4U);
  uint64_t lowest = text_.size();
  for (size_t i = 1; i < store_.requests.size(); ++i) {
    const GetOptions& request = store_.requests[i];
    EXPECT_EQ(request.if_version, store_.version);
    ASSERT_TRUE(request.length);
    EXPECT_GE(*request.length, kMiB / 2);
    lowest = std::min(lowest, request.offset);
  }
  EXPECT_GT(lowest, 0U);
}

TEST_F(DownloadTest, StoreThatAnswersOneAfterAnotherIsReadToTheEndByTheFirstStream) {
  store_.rate = 5e6;
  std::atomic<bool> first_ended = false;
  std::atomic<int> given_up = 0;
  store_.before_begin = [&](int stream, const Context& context) {
    if (stream == 0) return;
    while (!context.IsCancelled() && !first_ended) std::this_thread::yield();
    if (context.IsCancelled()) ++given_up;
  };
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) {
    if (stream == 0) Hold(4, stream, offset, context);
    return Status();
  };
  store_.after_read = [&](int stream) {
    if (stream == 0) first_ended = true;
  };
  ExpectWhole(Run());
  EXPECT_EQ(store_.requests.size(), 4U);
  EXPECT_EQ(given_up, 3);
}

TEST_F(DownloadTest, StoreThatIsNotParallelIsReadByOneStreamHoweverSlow) {
  store_.parallel = false;
  ExpectWhole(Run());
  EXPECT_EQ(store_.requests.size(), 1U);
}

TEST_F(DownloadTest, OneConnectionIsOneStream) {
  options_.connections = 1;
  ExpectWhole(Run());
  EXPECT_EQ(store_.requests.size(), 1U);
}

TEST_F(DownloadTest, WithoutAVersionThereIsOneStream) {
  store_.version = "";
  ExpectWhole(Run());
  EXPECT_EQ(store_.requests.size(), 1U);
}

TEST_F(DownloadTest, ThrottlingAfterABurstAddsStreams) {
  store_.rate = 3e9;
  store_.before_piece = [this](int stream, uint64_t offset, const Context& context) {
    if (offset >= 40 * kPiece) store_.rate = 50e6;
    if (stream == 0 && offset == 50 * kPiece) store_.WaitForStreams(2, context);
    return Status();
  };
  ExpectWhole(Run());
  EXPECT_GE(store_.requests.size(), 2U);
}

TEST_F(DownloadTest, StreamThatGivesNothingAtAllIsSeenByThePollsOfItsStore) {
  HoldUntil(2);  // No piece comes while it waits: only polls.
  store_.rate = 1e12;
  ExpectWhole(Run());
  EXPECT_GE(store_.requests.size(), 2U);
}

TEST_F(DownloadTest, StreamsThatBringNothingAreNotFollowedByMore) {
  // 100 MB/s, however many share them: eight are tried, as 800 MB/s would take, and no more.
  options_.connections = 16;
  store_.full = true;
  store_.rate = 100e6;
  HoldUntil(8);
  ExpectWhole(Run());
  EXPECT_LE(store_.threads.size(), 8U);
}

TEST_F(DownloadTest, LittleThatIsLeftIsNotWorthAStream) {
  options_.size = 600'000;
  const std::string text = text_.substr(0, 600'000);
  ScriptedStore store(text);
  options_.now = [&] { return store.Now(); };
  Download download(store, "key", target_, options_);
  ASSERT_TRUE(IsOk(download.Run({})));
  EXPECT_EQ(store.requests.size(), 1U);
}

TEST_F(DownloadTest, Sha256IsOfTheWholeWhoeverReadIt) {
  options_.digest = DigestKind::kSha256;
  HoldUntil(3);
  ExpectWhole(Run());
  EXPECT_GE(store_.requests.size(), 3U);
}

TEST_F(DownloadTest, RangeThatFailsForAWhileIsReadByTheOthers) {
  std::atomic<bool> failed{false};
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) -> Status {
    Hold(3, stream, offset, context);
    // In its midst: what came before is kept.
    if (stream == 1 && offset > store_.Request(1).offset && !failed.exchange(true)) {
      Error error;
      error.code = ErrorCode::kThrottled;
      error.retryable = true;
      return Fail(std::move(error));
    }
    return {};
  };
  ExpectWhole(Run());
  EXPECT_TRUE(failed);
}

TEST_F(DownloadTest, RangesThatAreRefusedAreLeftToTheCallersThread) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> refused{0};
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) -> Status {
    if (stream == 0) Hold(2, stream, offset, context);
    if (std::this_thread::get_id() == caller) return {};
    ++refused;
    return Fail(ErrorCode::kDenied, "no ranges");
  };
  ExpectWhole(Run());
  EXPECT_GE(refused, 1);
  EXPECT_LE(refused, 3);  // Each thread was refused once.
}

TEST_F(DownloadTest, CallersRangeThatFailsForGoodEndsTheDownload) {
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) -> Status {
    if (stream == 0) Hold(2, stream, offset, context);
    if (stream > 0 || offset >= 8 * kPiece) return Fail(ErrorCode::kDenied, "no more");
    return {};
  };
  EXPECT_TRUE(IsError(Run(), ErrorCode::kDenied));
}

TEST_F(DownloadTest, ObjectThatIsReplacedInBetweenIsAFailedCondition) {
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) -> Status {
    if (stream == 0 && offset == 8 * kPiece) {
      store_.version = "\"2\"";  // Before any other stream is there.
      while (!context.IsCancelled()) {
        store_.Advance(milliseconds(1));
        std::this_thread::yield();
      }
    }
    return {};
  };
  EXPECT_TRUE(IsError(Run(), ErrorCode::kConditionFailed));
}

TEST_F(DownloadTest, StalledRangeIsTakenOverByWhoIsIdle) {
  std::atomic<int> hung{0};
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) -> Status {
    Hold(3, stream, offset, context);
    if (stream == 1) {
      ++hung;
      while (!context.IsCancelled()) {
        store_.Advance(milliseconds(1));
        std::this_thread::yield();
      }
    }
    return {};
  };
  ExpectWhole(Run());
  EXPECT_GE(hung, 1);
}

TEST_F(DownloadTest, StoreThatStallsForGoodIsNotAskedOverAndOver) {
  // Every stream hangs from the second MiB on, until its store's own layers give it up.
  std::atomic<int64_t> hung{0};
  store_.before_piece = [&](int, uint64_t offset, const Context& context) -> Status {
    if (offset < kMiB) return {};
    ++hung;
    for (int i = 0; i < 20'000 && !context.IsCancelled(); ++i) {
      store_.Advance(milliseconds(1));
      std::this_thread::yield();
    }
    Error error;
    error.code = ErrorCode::kUnavailable;
    error.message = "nothing came";
    error.retryable = true;
    return Fail(std::move(error));
  };
  EXPECT_TRUE(IsError(Run(), ErrorCode::kUnavailable));
  // Each of four streams, and each range three times over: far from one request every 250 ms.
  EXPECT_LE(store_.requests.size(), 40U);
}

TEST_F(DownloadTest, FirstStreamThatStallsIsTakenOverToo) {
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) -> Status {
    if (stream == 0 && offset == 8 * kPiece) {
      while (!context.IsCancelled()) {
        store_.Advance(milliseconds(1));
        std::this_thread::yield();
      }
    }
    return {};
  };
  ExpectWhole(Run());
}

TEST_F(DownloadTest, CancellationInTheMiddleEndsAllStreams) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> begun{0};
  store_.before_piece = [&](int stream, uint64_t offset, const Context& context) -> Status {
    if (stream > 0) ++begun;
    if (stream > 0 || offset == 8 * kPiece) {
      while (!context.IsCancelled()) {
        store_.Advance(nanoseconds(1000));
        std::this_thread::yield();
      }
    }
    return {};
  };
  Context context;
  context.cancelled = [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return begun >= 2;
  };
  EXPECT_TRUE(IsError(Run(context), ErrorCode::kCancelled));
}

TEST_F(DownloadTest, ObjectOfAnotherSizeIsNotReadAtAll) {
  options_.size += 1;
  store_.before_piece = [](int, uint64_t, const Context&) -> Status {
    ADD_FAILURE() << "read";
    return {};
  };
  const auto downloaded = Run();
  ASSERT_TRUE(IsOk(downloaded));
  EXPECT_EQ(downloaded->info.size, text_.size());
  EXPECT_EQ(downloaded->digest, "");
  options_.size = uint64_t{1} << 62;  // And no memory is asked for.
  EXPECT_TRUE(IsOk(Run()));
}

TEST_F(DownloadTest, TargetThatFailsEndsTheDownloadWithItsError) {
  class FullTarget final : public DownloadTarget {
   public:
    Status Reserve(uint64_t) override { return {}; }
    Status WriteAt(uint64_t offset, ByteView) override {
      if (offset < 4 * kPiece) return {};
      Error error;
      error.code = ErrorCode::kUnavailable;
      error.message = "disk full";
      error.retryable = true;
      return Fail(std::move(error));
    }
    Result<ByteView> ReadBack(uint64_t, uint64_t) override { return ByteView(); }
    Status Truncate(uint64_t) override { return {}; }
  };
  FullTarget target;
  Download download(store_, "key", target, options_);
  const auto downloaded = download.Run({});
  ASSERT_TRUE(IsError(downloaded, ErrorCode::kUnavailable));
  EXPECT_EQ(downloaded.error().message, "disk full");
  EXPECT_FALSE(downloaded.error().retryable);  // The store's layers would read it all again.
}

}  // namespace
}  // namespace airfreight
