#include "store/breaking_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "conformance/decorators.h"
#include "conformance/matchers.h"
#include "store/memory/memory_store.h"
#include "store/open.h"

namespace airfreight {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Error Failure(ErrorCode code, bool retryable = true) {
  return {.code = code, .message = "as told", .retryable = retryable};
}

// A store that answers every request with what it was told, if anything, and counts them.
class MoodyStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Ask("PUT", context));
    return inner().Put(key, body, options, context);
  }
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Ask("GET", context));
    return inner().Get(key, options, context);
  }
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Ask("READ", context));
    return inner().Read(key, options, sink, context);
  }
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Ask("CREATE", context));
    AIRFREIGHT_ASSIGN_OR_RETURN(auto upload, inner().StartUpload(key, options, context));
    return std::make_unique<HookedUpload>(std::move(upload), &hooks_);
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Ask("HEAD", context));
    return inner().Head(key, context);
  }
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Ask("DELETE", context));
    return inner().Remove(key, condition, context);
  }
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override {
    AIRFREIGHT_RETURN_IF_ERROR(Ask("LIST", context));
    return inner().List(prefix, token, limit, context);
  }

  Status Ask(const char* name, const Context& context) {
    asked.emplace_back(name);
    deadline = context.deadline;
    if (during) std::exchange(during, nullptr)();
    if (mood) return Fail(*mood);
    return {};
  }
  std::vector<std::string> Take() { return std::exchange(asked, {}); }

  std::optional<Error> mood;
  std::function<void()> during;
  std::vector<std::string> asked;
  std::optional<Context::Clock::time_point> deadline;

 private:
  UploadHooks hooks_{
      .before_part = [this](auto, auto, const Context& context) { return Ask("PART", context); },
      .before_complete = [this](auto&&) { return Ask("COMPLETE", {}); },
      .after_complete = nullptr,
      .before_abort = [this](const Context& context) { return Ask("ABORT", context); }};
};

class BreakingStoreTest : public testing::Test {
 protected:
  BreakingStoreTest() {
    StoreUri uri;
    uri.scheme = "memory";
    uri.bucket = RandomHex128().value();
    moody_ = std::make_shared<MoodyStore>(OpenMemoryStore(uri, {}).value());
    breaker_ = std::make_shared<Breaker>(BreakerOptions(), [this] { return now_; });
    store_ = std::make_unique<BreakingStore>(moody_, breaker_);
  }

  Result<ObjectInfo> Put(const Context& context = {}) {
    return store_->Put("k", Body("value"), {}, context);
  }
  void Open() {
    moody_->mood = Failure(ErrorCode::kUnavailable);
    ASSERT_TRUE(IsError(Put(), ErrorCode::kUnavailable));
    moody_->Take();
  }

  std::shared_ptr<MoodyStore> moody_;
  std::shared_ptr<Breaker> breaker_;
  std::unique_ptr<BreakingStore> store_;
  Context::Clock::time_point now_ = Context::Clock::now();
};

TEST_F(BreakingStoreTest, WhileTheStoreAnswersEveryRequestIsMade) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(IsOk(Put()));
  EXPECT_THAT(moody_->Take(), ElementsAre("PUT", "PUT", "PUT"));
}

TEST_F(BreakingStoreTest, AfterAnOutageNoRequestIsMadeAndEachErrorSaysWhy) {
  moody_->mood = Failure(ErrorCode::kThrottled);
  const auto first = Put();
  ASSERT_TRUE(IsError(first, ErrorCode::kThrottled));
  EXPECT_EQ(first.error().message, "as told");
  moody_->Take();
  moody_->mood.reset();
  now_ += seconds(12);
  const auto second = store_->Get("other", {}, {});
  ASSERT_TRUE(IsError(second, ErrorCode::kThrottled));
  EXPECT_TRUE(second.error().retryable);
  EXPECT_EQ(second.error().key, "other");
  EXPECT_THAT(second.error().message,
              HasSubstr("did not answer 12 s ago and is not asked again for another 18 s"));
  EXPECT_THAT(second.error().message, HasSubstr("as told"));
  EXPECT_THAT(moody_->Take(), IsEmpty());
}

TEST_F(BreakingStoreTest, NoVerbIsAskedWhileItIsOpenButTheEndOfAnUpload) {
  auto upload = store_->StartUpload("parts", {}, {});
  ASSERT_TRUE(IsOk(upload));
  Open();
  struct Nothing final : ReadSink {
    Status Begin(const ObjectInfo& /*info*/) override { return {}; }
    Status Write(ByteView /*bytes*/) override { return {}; }
  } sink;
  EXPECT_FALSE(store_->Get("k", {}, {}));
  EXPECT_FALSE(store_->Read("k", {}, sink, {}));
  EXPECT_FALSE(store_->Head("k", {}));
  EXPECT_FALSE(store_->Remove("k", Condition::None(), {}));
  EXPECT_FALSE(store_->List("", "", 10, {}));
  EXPECT_FALSE(store_->StartUpload("k", {}, {}));
  EXPECT_FALSE((*upload)->PutPart(1, 0, Body("part"), 0, {}));
  EXPECT_FALSE((*upload)->Complete({}, Condition::None(), {}));
  EXPECT_THAT(moody_->Take(), IsEmpty());
  moody_->mood.reset();
  EXPECT_TRUE(IsOk((*upload)->Abort({})));
  EXPECT_THAT(moody_->Take(), ElementsAre("ABORT"));
}

TEST_F(BreakingStoreTest, OnlyAnOutageOpensIt) {
  for (const Error& error :
       {Failure(ErrorCode::kDenied, false), Failure(ErrorCode::kNotFound, false),
        Failure(ErrorCode::kInvalid, false), Failure(ErrorCode::kCorrupt, true),
        Failure(ErrorCode::kConditionFailed, false), Failure(ErrorCode::kCancelled, false),
        Failure(ErrorCode::kTooLarge, false), Failure(ErrorCode::kInternal, true),
        // A certificate that no retry will mend.
        Failure(ErrorCode::kUnavailable, false)}) {
    moody_->mood = error;
    const auto put = Put();
    ASSERT_TRUE(IsError(put, error.code));
    moody_->Take();
    moody_->mood.reset();
    EXPECT_TRUE(IsOk(Put())) << ErrorCodeName(error.code);
    EXPECT_THAT(moody_->Take(), ElementsAre("PUT"));
  }
}

TEST_F(BreakingStoreTest, ATimeoutOpensItUnlessTheCallersOwnTimeWasOver) {
  moody_->mood = Failure(ErrorCode::kTimeout);
  Context over;
  over.deadline = Context::Clock::now() - seconds(1);
  const auto late = Put(over);
  ASSERT_TRUE(IsError(late, ErrorCode::kTimeout));
  const auto put = Put();
  ASSERT_TRUE(IsError(put, ErrorCode::kTimeout));
  moody_->Take();
  EXPECT_FALSE(Put());
  EXPECT_THAT(moody_->Take(), IsEmpty());
}

TEST_F(BreakingStoreTest, WhatAReaderSaysIsNotOfTheStore) {  // A full disk, say.
  ASSERT_TRUE(IsOk(Put()));
  struct Full final : ReadSink {
    Status Begin(const ObjectInfo& /*info*/) override { return {}; }
    Status Write(ByteView /*bytes*/) override { return Fail(Failure(ErrorCode::kUnavailable)); }
  } sink;
  const auto read = store_->Read("k", {}, sink, {});
  ASSERT_TRUE(IsError(read, ErrorCode::kUnavailable));
  EXPECT_TRUE(IsOk(store_->Get("k", {}, {})));
}

TEST_F(BreakingStoreTest, AfterItsRestOneSmallQuestionFindsOutWhetherTheStoreIsBack) {
  Open();
  now_ += seconds(29);
  EXPECT_FALSE(Put());
  EXPECT_THAT(moody_->Take(), IsEmpty());
  now_ += seconds(1);
  moody_->mood.reset();
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_THAT(moody_->Take(), ElementsAre("HEAD", "PUT"));
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_THAT(moody_->Take(), ElementsAre("PUT"));
}

TEST_F(BreakingStoreTest, WhileItIsStillAwayTheTrialIsShortAndTheRestBeginsAnew) {
  Open();
  now_ += seconds(31);
  const auto put = Put();
  ASSERT_TRUE(IsError(put, ErrorCode::kUnavailable));
  EXPECT_THAT(moody_->Take(), ElementsAre("HEAD"));
  EXPECT_EQ(moody_->deadline, now_ + seconds(5));
  now_ += seconds(29);
  EXPECT_FALSE(Put());
  EXPECT_THAT(moody_->Take(), IsEmpty());
}

TEST_F(BreakingStoreTest, ATrialCutShortByItsOwnLimitIsAnOutage) {
  Open();
  now_ += seconds(31);
  moody_->mood = Failure(ErrorCode::kTimeout);
  EXPECT_FALSE(Put());
  moody_->Take();
  EXPECT_FALSE(Put());
  EXPECT_THAT(moody_->Take(), IsEmpty());
}

TEST_F(BreakingStoreTest, AnAnswerToTheTrialClosesItWhateverItSays) {
  for (const ErrorCode code : {ErrorCode::kDenied, ErrorCode::kNotFoundOrDenied}) {
    Open();
    now_ += seconds(31);
    moody_->mood = Failure(code, false);
    EXPECT_TRUE(IsError(Put(), code));
    EXPECT_THAT(moody_->Take(), ElementsAre("HEAD", "PUT"));
    moody_->mood.reset();
    EXPECT_TRUE(IsOk(Put()));
    EXPECT_THAT(moody_->Take(), ElementsAre("PUT"));
  }
}

TEST_F(BreakingStoreTest, OneMakesTheTrialAndOthersDoNotWaitForIt) {
  Open();
  now_ += seconds(31);
  moody_->mood.reset();
  std::optional<Error> meanwhile;
  moody_->during = [&] { meanwhile = store_->Get("other", {}, {}).error(); };
  EXPECT_TRUE(IsOk(Put()));
  ASSERT_TRUE(meanwhile);
  EXPECT_THAT(meanwhile->message, HasSubstr("is not asked again"));
  EXPECT_THAT(moody_->Take(), ElementsAre("HEAD", "PUT"));
}

TEST_F(BreakingStoreTest, ATrialThatWasGivenUpIsMadeByTheNext) {
  Open();
  now_ += seconds(31);
  moody_->mood = Failure(ErrorCode::kCancelled, false);
  EXPECT_TRUE(IsError(Put(), ErrorCode::kCancelled));
  Context over;
  over.deadline = Context::Clock::now() - seconds(1);
  moody_->mood = Failure(ErrorCode::kTimeout);
  EXPECT_TRUE(IsError(Put(over), ErrorCode::kTimeout));
  EXPECT_THAT(moody_->Take(), ElementsAre("HEAD", "HEAD"));
  moody_->mood.reset();
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_THAT(moody_->Take(), ElementsAre("HEAD", "PUT"));
}

TEST_F(BreakingStoreTest, AnAnswerToARequestThatWasUnderWayClosesIt) {
  moody_->during = [&] {
    moody_->mood = Failure(ErrorCode::kUnavailable);
    EXPECT_FALSE(store_->Head("k", {}));
    moody_->mood.reset();
  };
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_TRUE(IsOk(Put()));
  EXPECT_THAT(moody_->Take(), ElementsAre("PUT", "HEAD", "PUT"));
}

TEST_F(BreakingStoreTest, APartThatFailsOpensIt) {
  auto upload = store_->StartUpload("parts", {}, {});
  ASSERT_TRUE(IsOk(upload));
  moody_->mood = Failure(ErrorCode::kUnavailable);
  const auto part = (*upload)->PutPart(1, 0, Body("part"), 0, {});
  ASSERT_FALSE(part);
  moody_->Take();
  EXPECT_FALSE(Put());
  EXPECT_THAT(moody_->Take(), IsEmpty());
}

TEST_F(BreakingStoreTest, VerbsOfAdministrationReachTheStoreToo) {
  Open();
  EXPECT_TRUE(IsError(store_->ListVersions("", "", 10, {}), ErrorCode::kUnavailable));
  EXPECT_TRUE(IsError(store_->HeadVersion("k", "1", {}), ErrorCode::kUnavailable));
  EXPECT_TRUE(IsError(store_->RemoveVersion("k", "1", {}), ErrorCode::kUnavailable));
  EXPECT_TRUE(IsError(store_->ListUploads("", "", 10, {}), ErrorCode::kUnavailable));
  EXPECT_TRUE(IsError(store_->AbortUpload("k", "1", {}), ErrorCode::kUnavailable));
}

// The order of the layers: what opens it has outlasted all retries.
TEST_F(BreakingStoreTest, RetriesComeFirst) {
  RetryHooks hooks;
  hooks.now = [this] { return now_; };
  hooks.sleep = [this](std::chrono::duration<double> wait) {
    now_ += std::chrono::duration_cast<Context::Clock::duration>(wait);
  };
  hooks.random = [] { return 0.5; };
  RetryOptions retry;
  retry.max_attempts = 3;
  const auto store = InLayers(moody_, retry, hooks);
  moody_->mood = Failure(ErrorCode::kUnavailable);
  const auto put = store->Put("k", Body("value"), {}, {});
  ASSERT_TRUE(IsError(put, ErrorCode::kUnavailable));
  EXPECT_THAT(put.error().message, HasSubstr("tried 3 times"));
  EXPECT_THAT(moody_->Take(), ElementsAre("PUT", "PUT", "PUT"));
  EXPECT_FALSE(store->Put("k", Body("value"), {}, {}));
  EXPECT_THAT(moody_->Take(), IsEmpty());
  now_ += seconds(31);
  moody_->mood.reset();
  EXPECT_TRUE(IsOk(store->Put("k", Body("value"), {}, {})));
}

}  // namespace
}  // namespace airfreight
