#include "store/retrying_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/decorators.h"
#include "conformance/matchers.h"
#include "store/memory/memory_store.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;
using Seconds = std::chrono::duration<double>;

Error Failure(ErrorCode code, bool retryable, double retry_after = 0) {
  Error error;
  error.code = code;
  error.message = "as told";
  error.retryable = retryable;
  error.retry_after_seconds = retry_after;
  return error;
}

// Fails `failures` times before it reaches the store inside, by a clock that only sleeping moves.
class RetryingStoreTest : public testing::Test {
 protected:
  RetryingStoreTest() {
    StoreUri uri;
    uri.scheme = "memory";
    uri.bucket = testing::UnitTest::GetInstance()->current_test_info()->name();
    faulty_ = std::make_shared<FaultyStore>(OpenMemoryStore(uri, {}).value());
    faulty_->before_put = [this](auto, const auto&) -> Status {
      ++attempts_;
      now_ += std::chrono::duration_cast<Context::Clock::duration>(attempt_takes_);
      if (failures_.empty()) return {};
      Error error = failures_.front();
      failures_.pop_front();
      return Fail(std::move(error));
    };
    hooks_.now = [this] { return now_; };
    hooks_.sleep = [this](Seconds wait) {
      slices_.push_back(wait.count());
      now_ += std::chrono::duration_cast<Context::Clock::duration>(wait);
    };
    hooks_.random = [this] { return random_; };
  }

  Result<ObjectInfo> Put(const Context& context = {}) {
    RetryingStore store(faulty_, options_, hooks_);
    return store.Put("k", Body("value"), {}, context);
  }
  void FailAlways(const Error& error) { failures_.assign(1000, error); }
  double Slept() const {
    double sum = 0;
    for (const double slice : slices_) sum += slice;
    return sum;
  }

  RetryOptions options_;
  RetryHooks hooks_;
  std::shared_ptr<FaultyStore> faulty_;
  std::deque<Error> failures_;
  Seconds attempt_takes_{0};
  double random_ = 0.5;
  int attempts_ = 0;
  std::vector<double> slices_;
  Context::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(RetryingStoreTest, FailureThatMayPassIsTriedAgain) {
  failures_ = {Failure(ErrorCode::kUnavailable, true), Failure(ErrorCode::kThrottled, true)};
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_EQ(attempts_, 3);
}

TEST_F(RetryingStoreTest, FailureForGoodIsReturnedAtOnceAndAsItIs) {  // Netflix/metaflow#953
  FailAlways(Failure(ErrorCode::kDenied, false));
  const auto put = Put();
  ASSERT_TRUE(IsError(put, ErrorCode::kDenied));
  EXPECT_EQ(put.error().message, "as told");
  EXPECT_EQ(attempts_, 1);
  EXPECT_TRUE(slices_.empty());
}

TEST_F(RetryingStoreTest, WaitsAreDrawnFromADoublingRangeWithACap) {
  options_.max_attempts = 9;
  options_.timeout = Seconds(1000);
  std::vector<double> draws;
  random_ = 1.0;  // The upper end of each range.
  FailAlways(Failure(ErrorCode::kUnavailable, true));
  std::vector<double> before;
  hooks_.random = [&] {
    before.push_back(Slept());
    return random_;
  };
  EXPECT_FALSE(Put());
  std::vector<double> waits;
  for (size_t i = 1; i < before.size(); ++i) waits.push_back(before[i] - before[i - 1]);
  using testing::DoubleNear;
  EXPECT_THAT(waits,
              ElementsAre(DoubleNear(0.1, 1e-9), DoubleNear(0.2, 1e-9), DoubleNear(0.4, 1e-9),
                          DoubleNear(0.8, 1e-9), DoubleNear(1.6, 1e-9), DoubleNear(3.2, 1e-9),
                          DoubleNear(5, 1e-9), DoubleNear(5, 1e-9)));
}

TEST_F(RetryingStoreTest, JitterIsFullSoThatAWaitMayBeNone) {
  random_ = 0;
  failures_ = {Failure(ErrorCode::kThrottled, true)};
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_EQ(Slept(), 0);
}

TEST_F(RetryingStoreTest, RetryAfterIsTheLeastWait) {
  random_ = 0;
  failures_ = {Failure(ErrorCode::kThrottled, true, 7)};
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_NEAR(Slept(), 7, 1e-6);
}

TEST_F(RetryingStoreTest, RetryAfterBeyondTheBudgetIsNotWaitedFor) {
  for (const double asked : {61.0, 1e300}) {
    failures_ = {Failure(ErrorCode::kThrottled, true, asked)};
    EXPECT_TRUE(IsError(Put(), ErrorCode::kThrottled));
    EXPECT_EQ(Slept(), 0);
  }
}

TEST_F(RetryingStoreTest, SpentBudgetReturnsTheLastErrorWithAttemptsAndTime) {
  attempt_takes_ = Seconds(1);
  FailAlways(Failure(ErrorCode::kThrottled, true));
  failures_.front().code = ErrorCode::kUnavailable;
  const Context::Clock::time_point start = now_;
  const auto put = Put();
  ASSERT_TRUE(IsError(put, ErrorCode::kThrottled));
  EXPECT_LE(Seconds(now_ - start).count(), 61);
  EXPECT_GE(Seconds(now_ - start).count(), 50);
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("as told (tried "), HasSubstr(" times in 5")));
}

TEST_F(RetryingStoreTest, ByDefaultOnlyTheBudgetEndsTheAttempts) {
  FailAlways(Failure(ErrorCode::kUnavailable, true));
  const Context::Clock::time_point start = now_;
  EXPECT_TRUE(IsError(Put(), ErrorCode::kUnavailable));
  // The longest wait is 5 s, of which these draw the half: 60 s are used up but for less than that.
  EXPECT_GT(Seconds(now_ - start).count(), 57);
  EXPECT_LE(Seconds(now_ - start).count(), 60);
  EXPECT_GT(attempts_, 20);
}

TEST_F(RetryingStoreTest, ABudgetOfTwoSecondsIsSpentWithinThem) {
  options_.timeout = Seconds(2);
  for (const double draw : {0.01, 0.5, 0.99}) {
    random_ = draw;
    FailAlways(Failure(ErrorCode::kUnavailable, true));
    const Context::Clock::time_point start = now_;
    EXPECT_TRUE(IsError(Put(), ErrorCode::kUnavailable));
    EXPECT_LE(Seconds(now_ - start).count(), 2) << draw;
    // The wait that would end beyond it is at most as long as all before it together, and a bit.
    EXPECT_GT(Seconds(now_ - start).count(), 0.7) << draw;
  }
}

TEST_F(RetryingStoreTest, AttemptsHaveAnEndWhereOneIsSet) {
  options_.max_attempts = 3;
  FailAlways(Failure(ErrorCode::kUnavailable, true));
  const auto put = Put();
  ASSERT_FALSE(put);
  EXPECT_EQ(attempts_, 3);
  EXPECT_THAT(put.error().message, HasSubstr("tried 3 times"));
}

TEST_F(RetryingStoreTest, NoWaitGoesOnBeyondTheDeadline) {
  Context context;
  context.deadline = now_ + std::chrono::seconds(2);
  FailAlways(Failure(ErrorCode::kUnavailable, true));
  EXPECT_TRUE(IsError(Put(context), ErrorCode::kUnavailable));
  EXPECT_LT(now_, *context.deadline);
}

TEST_F(RetryingStoreTest, BodyOfASlowAttemptIsNotCutByTheBudget) {
  attempt_takes_ = Seconds(500);
  EXPECT_TRUE(IsOk(Put()));
}

TEST_F(RetryingStoreTest, LongWaitsAreTakenInSlicesOfATenthOfASecond) {
  failures_ = {Failure(ErrorCode::kThrottled, true, 3)};
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_THAT(slices_, Each(Le(0.1)));
  EXPECT_GE(slices_.size(), 30u);
}

TEST_F(RetryingStoreTest, CancellingEndsAWait) {
  failures_ = {Failure(ErrorCode::kThrottled, true, 50)};
  Context context;
  context.cancelled = [this] { return slices_.size() >= 5; };
  const auto put = Put(context);
  ASSERT_TRUE(IsError(put, ErrorCode::kCancelled));
  EXPECT_FALSE(put.error().retryable);
  EXPECT_EQ(slices_.size(), 5u);
  EXPECT_EQ(attempts_, 1);
}

TEST_F(RetryingStoreTest, EveryAttemptSendsTheWholeBody) {  // boto/boto3#3738
  failures_ = {Failure(ErrorCode::kUnavailable, true)};
  ASSERT_TRUE(IsOk(Put()));
  EXPECT_EQ(AsText(faulty_->Get("k", {}, {})->body.view()), "value");
}

TEST_F(RetryingStoreTest, ConditionalPutWhoseReplyWasLostMeetsItsOwnFirstWrite) {
  bool lost = false;
  faulty_->after_put = [&](const auto&) -> Status {
    if (std::exchange(lost, true)) return {};
    return Fail(Failure(ErrorCode::kUnavailable, true));
  };
  RetryingStore store(faulty_, options_, hooks_);
  PutOptions options;
  options.condition = Condition::Absent();
  // Freight tells it from another's by the write id: freight_test.cc.
  EXPECT_TRUE(IsError(store.Put("k", Body("value"), options, {}), ErrorCode::kConditionFailed));
}

/// Delivers a read in pieces as told, each of which but the last breaks, and notes what was asked.
class BreakingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  std::deque<size_t> pieces;       // Bytes that come before each break.
  std::function<void()> on_break;  // What happens between two requests.
  std::vector<GetOptions> asked;

  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override {
    asked.push_back(options);
    AIRFREIGHT_ASSIGN_OR_RETURN(const GetResult got, inner().Get(key, options, context));
    AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(got.info));
    if (pieces.empty()) {
      AIRFREIGHT_RETURN_IF_ERROR(sink.Write(got.body.view()));
      return got.info;
    }
    const ByteView piece = got.body.view().first(pieces.front());
    pieces.pop_front();
    AIRFREIGHT_RETURN_IF_ERROR(sink.Write(piece));
    if (on_break) on_break();
    return Fail(Failure(ErrorCode::kUnavailable, true));
  }
};

/// Keeps what it is given.
class KeepingSink final : public ReadSink {
 public:
  int begins = 0;
  std::string text;
  std::optional<Error> refuse;  // The answer to Write, after it has kept the bytes.

  Status Begin(const ObjectInfo&) override {
    ++begins;
    return {};
  }
  Status Write(ByteView bytes) override {
    text += AsText(bytes);
    if (refuse) return Fail(*refuse);
    return {};
  }
};

class ResumingReadTest : public RetryingStoreTest {
 protected:
  ResumingReadTest() {
    EXPECT_TRUE(IsOk(faulty_->Put("k", Body("0123456789"), {}, {})));
    breaking_ = std::make_shared<BreakingStore>(faulty_);
  }
  Result<ObjectInfo> Read(const GetOptions& options = {}) {
    return RetryingStore(breaking_, options_, hooks_).Read("k", options, sink_, {});
  }

  std::shared_ptr<BreakingStore> breaking_;
  KeepingSink sink_;
};

// tensorlakeai/tensorlake#469: a download that ended early.
TEST_F(ResumingReadTest, GoesOnWhereItStoppedOnTheVersionThatItBeganWith) {
  breaking_->pieces = {3, 0, 4};
  const auto read = Read();
  ASSERT_TRUE(IsOk(read));
  EXPECT_EQ(sink_.text, "0123456789");
  EXPECT_EQ(sink_.begins, 1);
  EXPECT_EQ(read->size, 10u);
  ASSERT_EQ(breaking_->asked.size(), 4u);
  EXPECT_EQ(breaking_->asked[0].if_version, "");
  EXPECT_EQ(breaking_->asked[1].offset, 3u);
  EXPECT_EQ(breaking_->asked[1].length, 7u);
  EXPECT_EQ(breaking_->asked[1].if_version, read->version);
  EXPECT_EQ(breaking_->asked[2].offset, 3u);
  EXPECT_EQ(breaking_->asked[3].offset, 7u);
  EXPECT_EQ(breaking_->asked[3].length, 3u);
}

TEST_F(ResumingReadTest, OfARangeOnlyTheRestIsAskedFor) {
  breaking_->pieces = {2};
  GetOptions range;
  range.offset = 4;
  range.length = 5;
  ASSERT_TRUE(IsOk(Read(range)));
  EXPECT_EQ(sink_.text, "45678");
  EXPECT_EQ(breaking_->asked.at(1).offset, 6u);
  EXPECT_EQ(breaking_->asked.at(1).length, 3u);
}

TEST_F(ResumingReadTest, ABreakBeforeTheFirstByteAsksForTheSameAgain) {
  breaking_->pieces = {0};
  ASSERT_TRUE(IsOk(Read()));
  EXPECT_EQ(sink_.text, "0123456789");
  EXPECT_EQ(sink_.begins, 1);
  EXPECT_FALSE(breaking_->asked.at(1).length.has_value());
}

TEST_F(ResumingReadTest, ABreakBehindTheLastByteIsNoFailure) {
  breaking_->pieces = {10};
  ASSERT_TRUE(IsOk(Read()));
  EXPECT_EQ(breaking_->asked.size(), 1u);
}

TEST_F(ResumingReadTest, AnObjectThatWasReplacedMeanwhileIsNeverMixedWithTheOld) {
  breaking_->pieces = {3};
  breaking_->on_break = [&] { EXPECT_TRUE(IsOk(faulty_->Put("k", Body("ABCDEFGHIJ"), {}, {}))); };
  EXPECT_TRUE(IsError(Read(), ErrorCode::kConditionFailed));
  EXPECT_EQ(sink_.text, "012");
}

TEST_F(ResumingReadTest, TheReadersOwnErrorIsHandedUpAsItIsAndNeverRepeated) {
  sink_.refuse = Failure(ErrorCode::kUnavailable, true);  // As if it could pass.
  const auto read = Read();
  ASSERT_TRUE(IsError(read, ErrorCode::kUnavailable));
  EXPECT_EQ(read.error().message, "as told");
  EXPECT_TRUE(read.error().retryable);
  EXPECT_EQ(breaking_->asked.size(), 1u);
  EXPECT_TRUE(slices_.empty());
}

TEST_F(ResumingReadTest, GetGoesOnInTheSameWay) {
  breaking_->pieces = {3, 4};
  const auto got = RetryingStore(breaking_, options_, hooks_).Get("k", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "0123456789");
  EXPECT_EQ(got->body.capacity(), 10u);
  EXPECT_EQ(breaking_->asked.at(2).offset, 7u);
}

TEST_F(ResumingReadTest, TheBudgetBeginsAnewWhileBytesComeAndEndsWhereNoneDo) {
  const std::string large(10 << 20, 'x');
  ASSERT_TRUE(IsOk(faulty_->Put("k", Body(large), {}, {})));
  options_.max_attempts = 2;
  breaking_->pieces = {1 << 20, 1 << 20, 1 << 20};
  EXPECT_TRUE(IsOk(Read()));
  EXPECT_TRUE(sink_.text == large);

  breaking_->pieces = {1 << 20, 10, 10, 10, 10};
  breaking_->asked.clear();
  EXPECT_TRUE(IsError(Read(), ErrorCode::kUnavailable));
  EXPECT_EQ(breaking_->asked.size(), 2u);
}

/// Fails each request as often as told.
class FailingUpload final : public PartUpload {
 public:
  explicit FailingUpload(std::vector<std::string>& seen) : seen_(seen) {}

  Result<UploadedPart> PutPart(int number, uint64_t offset, const Body& body, uint32_t crc32c,
                               const Context&) override {
    AIRFREIGHT_RETURN_IF_ERROR(Step("part"));
    return UploadedPart{number, offset, body.size(), crc32c, "tag"};
  }
  Result<ObjectInfo> Complete(const std::vector<UploadedPart>&, const Condition&,
                              const Context&) override {
    AIRFREIGHT_RETURN_IF_ERROR(Step("complete"));
    return ObjectInfo{};
  }
  Status Abort(const Context&) override { return Step("abort"); }

 private:
  Status Step(std::string name) {
    const bool first = seen_.empty() || seen_.back() != name;
    seen_.push_back(std::move(name));
    if (first) return Fail(Failure(ErrorCode::kThrottled, true));
    return {};
  }

  std::vector<std::string>& seen_;
};

class UploadingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  std::vector<std::string> seen;

  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view, const PutOptions&,
                                                  const Context&) override {
    const bool first = seen.empty();
    seen.emplace_back("start");
    if (first) return Fail(Failure(ErrorCode::kUnavailable, true));
    return std::make_unique<FailingUpload>(seen);
  }
};

TEST_F(RetryingStoreTest, EachRequestOfAnUploadInPartsIsTriedAgain) {
  const auto uploading = std::make_shared<UploadingStore>(faulty_);
  std::unique_ptr<PartUpload> upload;
  {
    RetryingStore store(uploading, options_, hooks_);
    auto started = store.StartUpload("k", {}, {});
    ASSERT_TRUE(IsOk(started));
    upload = *std::move(started);
  }
  EXPECT_TRUE(IsOk(upload->PutPart(1, 0, Body("part"), 7, {})));
  EXPECT_TRUE(IsOk(upload->Complete({}, {}, {})));
  EXPECT_TRUE(IsOk(upload->Abort({})));
  EXPECT_THAT(uploading->seen, ElementsAre("start", "start", "part", "part", "complete", "complete",
                                           "abort", "abort"));
}

TEST(RetryHooksTest, RandomNumbersAreUniformAndNeverOne) {
  const RetryHooks hooks = RetryHooks::Real();
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double number = hooks.random();
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    sum += number;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.03);  // Ten standard deviations.
}

}  // namespace
}  // namespace airfreight
