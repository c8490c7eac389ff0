#include "airfreight/freight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "airfreight/store.h"
#include "base/host.h"
#include "base/random.h"
#include "conformance/decorators.h"
#include "conformance/matchers.h"
#include "freight/attempt.h"
#include "freight/test_freight.h"
#include "store/retrying_store.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ValueInfo InfoOf(std::string type, std::string extension) {
  ValueInfo info;
  info.type = std::move(type);
  info.extension = std::move(extension);
  return info;
}

class FreightTest : public FreightFixture {
 protected:
  std::unique_ptr<Freight> Process(Decision decision = {}, std::string owner = "prod") const {
    return std::make_unique<Freight>(std::vector<NamedStore>{{"default", counting_}},
                                     std::move(decision), std::move(owner));
  }
  static Result<Reference> Put(Freight& freight, std::string_view text, int64_t attempt = 1,
                               int64_t started = kNoon, std::string extension = "json") {
    return freight.Put(coordinate_, Body(text), InfoOf("json", std::move(extension)),
                       {attempt, started}, {});
  }
};

TEST_F(FreightTest, ReferenceSaysWhatAndWhereAndByWhom) {
  ValueInfo info;
  info.type = "pandas.DataFrame";
  info.extension = "parquet";
  info.rows = 3;
  info.summary = "DataFrame 3 × 1";
  info.columns = {{"a", "int64"}};
  info.nulls = {2};
  info.columns_cut = true;
  info.preview = {{"1"}};
  const auto reference = Process()->Put(coordinate_, Body("PAR1"), info, {2, kNoon}, {});
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(reference->backend, "memory");
  EXPECT_EQ(reference->type, "pandas.DataFrame");
  EXPECT_EQ(reference->store, "default");
  EXPECT_EQ(reference->uri, root_ +
                                "/sales/manual__2026-01-01T00%3A00%3A00%2B00%3A00/extract/map_-1/"
                                "return_value.parquet");
  EXPECT_EQ(reference->coordinate, coordinate_);
  EXPECT_EQ(reference->attempt, 2);
  EXPECT_EQ(reference->rows, 3);
  EXPECT_EQ(reference->size_bytes, 4u);
  EXPECT_TRUE(reference->digest.starts_with("crc32c:"));
  EXPECT_EQ(reference->columns, info.columns);
  EXPECT_EQ(reference->summary, info.summary);
  EXPECT_EQ(reference->nulls, info.nulls);
  EXPECT_TRUE(reference->columns_cut);
  EXPECT_EQ(reference->preview, info.preview);
  EXPECT_EQ(reference->owner, "prod");
  EXPECT_EQ(reference->write.size(), 32u);
  EXPECT_EQ(reference->written.size(), 20u);
  const auto stamp = ParseWriteMetadata(memory_->Head(KeyOf(*reference), {})->metadata);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(*stamp, (WriteStamp{coordinate_.Hash(), 2, kNoon, reference->write, "prod"}));
  EXPECT_EQ(reference->etag, memory_->Head(KeyOf(*reference), {})->version);
}

TEST_F(FreightTest, AnAliasIsReadThroughAndNeitherWrittenNorRemovedThrough) {
  const auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  // As a bucket that was copied, of which the references know nothing.
  Reference old = *reference;
  old.uri = "memory://old/xcom/" + KeyOf(*reference);
  old.etag = "of another place";
  std::vector<NamedStore> stores = {{"default", counting_}};
  ASSERT_TRUE(IsOk(SetAliases({{"memory://old/xcom", root_}}, &stores)));
  Freight freight(stores, {}, "prod");
  const auto got = freight.Get(old, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->view()), "value");
  counting_->Take();
  EXPECT_EQ(freight.Purge(old, {}), false);
  EXPECT_THAT(counting_->Take(), IsEmpty());
  EXPECT_EQ(Stored(*reference), "value");
  EXPECT_EQ(Put(freight, "again", 2)->uri, reference->uri);
  const auto replaced = freight.Get(old, {});
  ASSERT_TRUE(IsError(replaced, ErrorCode::kReplaced));
  EXPECT_THAT(replaced.error().message, HasSubstr("an alias of memory://old/xcom"));
}

TEST_F(FreightTest, StoresWithEqualRootsAreRememberedApart) {
  // A memory store of one name is one place in a process; what counts is who is asked.
  auto second = std::make_shared<CountingStore>(memory_);
  Decision decision;
  decision.store = "us";
  Freight freight({{"eu", counting_}, {"us", second}}, decision);
  const auto first = Put(freight, "1");
  ASSERT_TRUE(IsOk(first));
  EXPECT_EQ(first->store, "us");
  ASSERT_TRUE(IsOk(freight.Settle(coordinate_, {})));
  EXPECT_THAT(counting_->Take(), IsEmpty());
  EXPECT_THAT(second->Take(), ElementsAre("PUT", "HEAD", "DELETE"));
}

TEST_F(FreightTest, WhatIsMissingOfADirectoryNamesBothHosts) {
  const std::string directory = testing::TempDir() + "airfreight-hosts-" + RandomHex128().value();
  Freight freight({{"default", OpenOnce("file://" + directory)}}, {});
  auto reference = Put(freight, "value");
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(reference->host, HostName());
  ASSERT_TRUE(IsOk(freight.Purge(*reference, {})));
  auto missing = freight.Get(*reference, {});
  ASSERT_TRUE(IsError(missing, ErrorCode::kNotFound));
  EXPECT_THAT(missing.error().message, Not(HasSubstr("written on")));
  reference->host = "worker-7";
  missing = freight.Get(*reference, {});
  ASSERT_TRUE(IsError(missing, ErrorCode::kNotFound));
  EXPECT_THAT(missing.error().message,
              AllOf(HasSubstr("written on the host 'worker-7', and this is '" + HostName() + "'"),
                    HasSubstr("file_store_shared")));
}

TEST_F(FreightTest, DigestIsTheOneThatWasDecided) {
  Decision decision;
  decision.digest = DigestKind::kSha256;
  const auto freight = Process(decision);
  const auto reference = Put(*freight, "value");
  ASSERT_TRUE(IsOk(reference));
  EXPECT_TRUE(reference->digest.starts_with("sha256:"));
  EXPECT_TRUE(IsOk(freight->Get(*reference, {})));
}

TEST_F(FreightTest, ValueAboveTheLimitIsNotSent) {
  Decision decision;
  decision.max_bytes = 4;
  EXPECT_TRUE(IsOk(Put(*Process(decision), "1234")));
  counting_->Take();
  const auto put = Put(*Process(decision), "12345");
  ASSERT_TRUE(IsError(put, ErrorCode::kTooLarge));
  EXPECT_THAT(put.error().message,
              AllOf(HasSubstr("[airfreight] max_object_bytes"), HasSubstr("'extract'")));
  faulty_->declared.max_put_bytes = 3;
  EXPECT_TRUE(IsError(Put(*Process(), "1234"), ErrorCode::kTooLarge));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(FreightTest, WhatNoReferenceCouldDescribeIsNotSent) {
  ValueInfo info = InfoOf("json", "json");
  Coordinate nul = coordinate_;
  nul.task = std::string("a\0b", 3);
  EXPECT_TRUE(IsError(Process()->Put(nul, Body("v"), info, {}, {}), ErrorCode::kInvalid));
  info.extension = "../x";
  EXPECT_TRUE(IsError(Process()->Put(coordinate_, Body("v"), info, {}, {}), ErrorCode::kInvalid));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(FreightTest, LostReplyOfTheOnlyPutIsKnownByTheWriteId) {
  // As the retry layer below meets it: the first Put arrived, its reply did not, and the second one
  // answers that the condition does not hold.
  bool first = true;
  auto retrying = std::make_shared<FaultyStore>(memory_);
  retrying->after_put = [&](const Result<ObjectInfo>& reply) -> Status {
    if (!std::exchange(first, false)) return {};
    EXPECT_TRUE(IsOk(reply));
    Error error;
    error.code = ErrorCode::kConditionFailed;
    return Fail(std::move(error));
  };
  const auto counting = std::make_shared<CountingStore>(retrying);
  Freight freight({{"default", counting}}, {});
  const auto reference = Put(freight, "value");
  ASSERT_TRUE(IsOk(reference));
  EXPECT_THAT(counting->Take(), ElementsAre("PUT", "HEAD"));
  EXPECT_EQ(reference->etag, memory_->Head(KeyOf(*reference), {})->version);
  // And the version that it learnt serves the next push.
  EXPECT_TRUE(IsOk(Put(freight, "again")));
  EXPECT_THAT(counting->Take(), ElementsAre("PUT"));
}

TEST_F(FreightTest, LostReplyBelowTheRetryLayerIsASuccess) {
  // The real layers: the bare store, replies lost above it, the retry layer, Freight.
  int puts = 0;
  faulty_->after_put = [&](const auto&) -> Status {
    if (++puts == 1) return Lost();
    return {};
  };
  RetryHooks hooks = RetryHooks::Real();
  hooks.sleep = [](auto) {};
  const auto retrying = std::make_shared<RetryingStore>(faulty_, RetryOptions(), hooks);
  Freight freight({{"default", retrying}}, {});
  const auto reference = Put(freight, "value");
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(puts, 2);
  EXPECT_EQ(Stored(*reference), "value");
}

TEST_F(FreightTest, UnreachableStoreIsAnErrorThatNamesThePlaceAndIsRetryable) {
  faulty_->before_put = [](auto, const auto&) -> Status { return Lost(); };
  const auto put = Put(*Process(), "value");
  ASSERT_TRUE(IsError(put, ErrorCode::kUnavailable));
  EXPECT_TRUE(put.error().retryable);
  EXPECT_EQ(put.error().store, root_);
  EXPECT_THAT(put.error().key, HasSubstr("return_value.json"));
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("connection was reset"), HasSubstr("'sales'"),
                                         HasSubstr("'return_value'")));
}

TEST_F(FreightTest, SupersededNamesBothAttemptsAndWhatToDo) {
  ASSERT_TRUE(IsOk(Put(*Process(), "new", 3, kNoon + kMinute)));
  const auto late = Put(*Process(), "late", 1, kNoon);
  ASSERT_TRUE(IsError(late, ErrorCode::kSuperseded));
  EXPECT_FALSE(late.error().retryable);
  EXPECT_THAT(late.error().message, AllOf(HasSubstr("attempt 1, started 2026-01-01T12:00:00Z"),
                                          HasSubstr("attempt 3, started 2026-01-01T12:01:00Z"),
                                          HasSubstr("clear the task")));
}

TEST_F(FreightTest, AttemptWithoutANumberIsOrderedByItsStart) {
  ASSERT_TRUE(IsOk(Put(*Process(), "early", 0, kNoon)));
  EXPECT_TRUE(IsOk(Put(*Process(), "now", 0, 0)));
  EXPECT_TRUE(IsError(Put(*Process(), "late", 0, kNoon), ErrorCode::kSuperseded));
}

TEST_F(FreightTest, AnotherCoordinatesObjectIsNeverOverwritten) {
  const auto reference = Put(*Process(), "mine");
  ASSERT_TRUE(IsOk(reference));
  PutOptions theirs;
  theirs.metadata = memory_->Head(KeyOf(*reference), {})->metadata;
  theirs.metadata["af-coordinate"] = std::string(32, '0');
  ASSERT_TRUE(IsOk(memory_->Put(KeyOf(*reference), Body("theirs"), theirs, {})));
  const auto put = Put(*Process(), "mine again", 2, kNoon + kMinute);
  ASSERT_TRUE(IsError(put, ErrorCode::kInternal));
  EXPECT_THAT(put.error().message, HasSubstr("upper from lower case"));
  EXPECT_EQ(Stored(*reference), "theirs");
}

TEST_F(FreightTest, ObjectWithoutOurMetadataIsReplaced) {
  const auto reference = Put(*Process(), "mine");
  ASSERT_TRUE(IsOk(memory_->Put(KeyOf(*reference), Body("copied by hand"), {}, {})));
  EXPECT_TRUE(IsOk(Put(*Process(), "new")));
  EXPECT_EQ(Stored(*reference), "new");
}

TEST_F(FreightTest, WriterWhoseObjectVanishesBetweenTwoRequestsWritesItAnew) {
  const auto reference = Put(*Process(), "first");
  ASSERT_TRUE(IsOk(reference));
  // Removed after the first Put was refused and before it is looked at.
  bool once = true;
  faulty_->after_put = [&](const auto& reply) -> Status {
    if (!reply && std::exchange(once, false)) {
      EXPECT_TRUE(IsOk(memory_->Remove(KeyOf(*reference), Condition::None(), {})));
    }
    return {};
  };
  EXPECT_TRUE(IsOk(Put(*Process(), "second")));
  EXPECT_EQ(Stored(*reference), "second");
}

TEST_F(FreightTest, ObjectThatNeverRestsIsUnavailableAfterFourPuts) {
  const auto reference = Put(*Process(), "first");
  faulty_->before_put = [&](auto key, const auto&) -> Status {
    EXPECT_TRUE(IsOk(memory_->Put(key, Body("restless"), {}, {})));
    return {};
  };
  counting_->Take();
  EXPECT_TRUE(IsError(Put(*Process(), "second"), ErrorCode::kUnavailable));
  EXPECT_THAT(counting_->Take(), ElementsAre("PUT", "HEAD", "PUT", "HEAD", "PUT", "HEAD", "PUT"));
}

TEST_F(FreightTest, StoreThatDeclaresNoConditionsIsLookedAtAndPutToWithoutOne) {
  faulty_->declared.conditional_put = false;
  faulty_->before_put = [](auto, const PutOptions& options) -> Status {
    EXPECT_EQ(options.condition.kind, Condition::Kind::kNone);
    return {};
  };
  ASSERT_TRUE(IsOk(Put(*Process(), "first")));
  const auto second = Put(*Process(), "second");
  ASSERT_TRUE(IsOk(second));
  EXPECT_THAT(counting_->Take(), ElementsAre("HEAD", "PUT", "HEAD", "PUT"));
  const auto retry = Put(*Process(), "retry", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(retry));
  counting_->Take();
  EXPECT_TRUE(IsError(Put(*Process(), "late"), ErrorCode::kSuperseded));
  EXPECT_THAT(counting_->Take(), ElementsAre("HEAD"));
  EXPECT_EQ(Stored(*retry), "retry");
}

TEST_F(FreightTest, ServerWithoutConditionsIsAskedOnceAndFromThenOnLookedAt) {
  faulty_->before_put = [](auto, const PutOptions& options) -> Status {
    if (options.condition.kind == Condition::Kind::kNone) return {};
    return Fail(ErrorCode::kUnsupported, "501");
  };
  const auto freight = Process();
  EXPECT_TRUE(IsOk(Put(*freight, "first")));
  EXPECT_THAT(counting_->Take(), ElementsAre("PUT", "HEAD", "PUT"));
  EXPECT_TRUE(IsOk(Put(*freight, "second")));
  EXPECT_THAT(counting_->Take(), ElementsAre("HEAD", "PUT"));
  const auto retry = Put(*Process(), "retry", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(retry));
  EXPECT_TRUE(IsError(Put(*freight, "late"), ErrorCode::kSuperseded));
  EXPECT_TRUE(IsError(Put(*Process(), "late"), ErrorCode::kSuperseded));
  EXPECT_EQ(Stored(*retry), "retry");
}

TEST_F(FreightTest, ObjectThatMayNotBeLookedAtFailsAfterTheSecondPut) {
  ASSERT_TRUE(IsOk(Put(*Process(), "first")));
  counting_->Take();
  faulty_->before_head = []() -> Status { return Fail(ErrorCode::kNotFoundOrDenied, "403"); };
  const auto put = Put(*Process(), "second", 2, kNoon + kMinute);
  ASSERT_TRUE(IsError(put, ErrorCode::kDenied));
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("already there"), HasSubstr("403")));
  EXPECT_THAT(counting_->Take(), ElementsAre("PUT", "HEAD", "PUT", "HEAD"));
}

TEST_F(FreightTest, MissingObjectThatMayNotBeLookedAtIsWritten) {
  // Without s3:ListBucket, HEAD says 403 of what is not there.
  faulty_->before_head = []() -> Status { return Fail(ErrorCode::kNotFoundOrDenied, "403"); };
  faulty_->declared.conditional_put = false;
  EXPECT_TRUE(IsOk(Put(*Process(), "value")));
  EXPECT_THAT(counting_->Take(), ElementsAre("HEAD", "PUT"));
}

TEST_F(FreightTest, ObjectOfAnotherDeploymentIsNeverOverwritten) {
  const auto theirs = Put(*Process({}, "prod-us"), "theirs");
  ASSERT_TRUE(IsOk(theirs));
  const auto put = Put(*Process({}, "prod-eu"), "mine", 2, kNoon + kMinute);
  ASSERT_TRUE(IsError(put, ErrorCode::kInvalid));
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("'prod-us'"), HasSubstr("'prod-eu'"),
                                         HasSubstr("prefix of its own")));
  EXPECT_EQ(Stored(*theirs), "theirs");
}

TEST_F(FreightTest, DeploymentIsKnownByWhateverItIsCalledAndReplacesWhatHasNoName) {
  for (const std::string& owner : {std::string("prod eu/é"), std::string(1000, 'x')}) {
    ASSERT_TRUE(IsOk(Put(*Process({}, owner), "first")));
    const auto second = Put(*Process({}, owner), "second");
    ASSERT_TRUE(IsOk(second));
    ASSERT_TRUE(IsOk(memory_->Remove(KeyOf(*second), {}, {})));
  }
  EXPECT_TRUE(IsOk(Put(*Process({}, ""), "third")));
  const auto named = Put(*Process({}, "prod"), "fourth");
  ASSERT_TRUE(IsOk(named));
  // A copy of the deployment that was not given its name.
  const auto without = Put(*Process({}, ""), "fifth");
  ASSERT_TRUE(IsError(without, ErrorCode::kInvalid));
  EXPECT_THAT(without.error().message, HasSubstr("without [airfreight] deployment_id"));
  EXPECT_EQ(Stored(*named), "fourth");
}

TEST_F(FreightTest, PurgeLeavesWhatIsAnothersAndAsksTheStoreNothing) {
  const auto theirs = Put(*Process({}, "prod"), "theirs");
  ASSERT_TRUE(IsOk(theirs));
  counting_->Take();
  // A copy of the database, in a deployment of another name and in one without.
  EXPECT_EQ(Process({}, "staging")->Purge(*theirs, {}).value(), false);
  EXPECT_EQ(Process({}, "")->Purge(*theirs, {}).value(), false);
  EXPECT_THAT(counting_->Take(), ElementsAre());
  // A row that was edited: the object still says whose it is.
  Reference edited = *theirs;
  edited.owner = "staging";
  EXPECT_EQ(Process({}, "staging")->Purge(edited, {}).value(), false);
  EXPECT_EQ(Stored(*theirs), "theirs");
  EXPECT_EQ(Process({}, "prod")->Purge(*theirs, {}).value(), true);
}

TEST_F(FreightTest, PurgeThatComesTooLateAfterItsLookLooksAgain) {
  const auto first = Process();
  const auto reference = Put(*first, "old");
  ASSERT_TRUE(IsOk(reference));
  // A process that was stopped between its look and its removal: its time is over, and a newer
  // attempt has written meanwhile. (The server is one that would remove whatever lies there.)
  Context::Clock::time_point until;
  faulty_->before_remove = [&](const Context& context) -> Status {
    until = context.deadline.value();
    faulty_->before_remove = nullptr;
    if (!Put(*Process(), "new", 2, kNoon + kMinute)) return Lost();
    return Fail(ErrorCode::kTimeout, "the time for it is over");
  };
  counting_->Take();
  EXPECT_EQ(Process()->Purge(*reference, {}).value(), false);
  EXPECT_EQ(Stored(*reference), "new");
  EXPECT_LE(until, Context::Clock::now() + std::chrono::seconds(10));
  EXPECT_THAT(counting_->Take(), ElementsAre("HEAD", "DELETE", "PUT", "HEAD", "PUT", "HEAD"));

  // It does so three times at most, and not longer than it was given.
  const auto again = Put(*Process(), "again", 3, kNoon + 2 * kMinute);
  ASSERT_TRUE(IsOk(again));
  faulty_->before_remove = [](const Context&) -> Status {
    return Fail(ErrorCode::kTimeout, "the time for it is over");
  };
  counting_->Take();
  EXPECT_TRUE(IsError(Process()->Purge(*again, {}), ErrorCode::kTimeout));
  EXPECT_THAT(counting_->Take(), ElementsAre("HEAD", "DELETE", "HEAD", "DELETE", "HEAD", "DELETE"));
}

TEST_F(FreightTest, PurgeOfADeploymentThatGotItsNameLaterLeavesWhatHasNone) {
  const auto before = Put(*Process({}, ""), "before");
  ASSERT_TRUE(IsOk(before));
  EXPECT_EQ(Process({}, "prod")->Purge(*before, {}).value(), false);
  EXPECT_EQ(Process({}, "")->Purge(*before, {}).value(), true);
}

TEST_F(FreightTest, PurgeLeavesWhatIsWrittenBetweenItsLookAndItsRemoval) {
  // Whatever the store promises of it: AWS honours the version on DELETE, others ignore it.
  faulty_->declared.conditional_remove = false;
  const auto first = Put(*Process(), "first");
  ASSERT_TRUE(IsOk(first));
  Result<Reference> second = Fail(ErrorCode::kInternal, "not written yet");
  faulty_->before_remove = [&](const Context&) -> Status {
    second = Put(*Process(), "second", 2, kNoon + kMinute);
    return {};
  };
  EXPECT_EQ(Process()->Purge(*first, {}).value(), false);
  ASSERT_TRUE(IsOk(second));
  EXPECT_EQ(Stored(*second), "second");
}

TEST_F(FreightTest, PurgeOnAServerThatRefusesTheVersionRemovesWithoutIt) {
  const auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  counting_->Take();
  int removals = 0;
  faulty_->before_remove = [&](const Context&) -> Status {
    if (++removals == 1) return Fail(ErrorCode::kUnsupported, "501");
    return {};
  };
  EXPECT_EQ(Process()->Purge(*reference, {}).value(), true);
  EXPECT_THAT(counting_->Take(), ElementsAre("HEAD", "DELETE", "DELETE"));
  EXPECT_TRUE(IsError(memory_->Head(KeyOf(*reference), {}), ErrorCode::kNotFound));
}

TEST_F(FreightTest, PurgeOfWhatMayNotBeLookedAtSaysSoAndRemovesNothing) {
  const auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  faulty_->before_head = []() -> Status { return Fail(ErrorCode::kNotFoundOrDenied, "403"); };
  EXPECT_TRUE(IsError(Process()->Purge(*reference, {}), ErrorCode::kNotFoundOrDenied));
  EXPECT_EQ(Stored(*reference), "value");
}

TEST_F(FreightTest, ServerThatKnowsAbsentOnlyKeepsZombiesOutByLooking) {
  faulty_->before_put = [](auto, const PutOptions& options) -> Status {
    if (options.condition.kind != Condition::Kind::kVersion) return {};
    return Fail(ErrorCode::kUnsupported, "501");
  };
  const auto zombie = Process();
  ASSERT_TRUE(IsOk(Put(*zombie, "first", 1, kNoon)));
  counting_->Take();
  ASSERT_TRUE(IsOk(Put(*zombie, "second", 1, kNoon)));
  EXPECT_THAT(counting_->Take(), ElementsAre("PUT", "HEAD", "PUT"));
  const auto retry = Put(*Process(), "retry", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(retry));
  EXPECT_THAT(counting_->Take(), ElementsAre("PUT", "HEAD", "PUT", "PUT"));
  EXPECT_TRUE(IsError(Put(*zombie, "late", 1, kNoon), ErrorCode::kSuperseded));
  EXPECT_TRUE(IsError(Put(*Process(), "late", 1, kNoon), ErrorCode::kSuperseded));
  EXPECT_EQ(Stored(*retry), "retry");
}

TEST_F(FreightTest, FailureToRemoveTheEarlierObjectDoesNotFailThePush) {
  const auto freight = Process();
  ASSERT_TRUE(IsOk(Put(*freight, "PAR1", 1, kNoon, "parquet")));
  faulty_->before_remove = [](const Context&) -> Status { return Lost(); };
  const auto json = Put(*freight, "{}", 1, kNoon, "json");
  ASSERT_TRUE(IsOk(json));
  EXPECT_EQ(Stored(*json), "{}");
}

TEST_F(FreightTest, FailedSettlingIsReportedAndCanBeRepeated) {
  const auto freight = Process();
  const auto reference = Put(*freight, "large");
  faulty_->before_remove = [](const Context&) -> Status { return Lost(); };
  EXPECT_TRUE(IsError(freight->Settle(coordinate_, {}), ErrorCode::kUnavailable));
  faulty_->before_remove = nullptr;
  EXPECT_TRUE(IsOk(freight->Settle(coordinate_, {})));
  EXPECT_TRUE(IsError(memory_->Head(KeyOf(*reference), {}), ErrorCode::kNotFound));
}

TEST_F(FreightTest, ReferenceToAnotherBucketIsOutOfScopeAndSaysWhichSettingWouldAllowIt) {
  auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  counting_->Take();
  reference->uri = "s3://other-bucket/xcom" + reference->uri.substr(root_.size());
  const auto got = Process()->Get(*reference, {});
  ASSERT_TRUE(IsError(got, ErrorCode::kOutOfScope));
  EXPECT_THAT(got.error().message, AllOf(HasSubstr(reference->uri), HasSubstr(root_),
                                         HasSubstr("read_also"), HasSubstr("'sales'")));
  EXPECT_TRUE(IsError(Process()->Purge(*reference, {}), ErrorCode::kOutOfScope));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(FreightTest, ReferenceWhoseUriIsNotItsCoordinatesIsOutOfScope) {
  const auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  counting_->Take();
  std::vector<Reference> forged(7, *reference);
  forged[0].coordinate.dag = "finance";
  forged[1].uri = root_ + "/finance" + reference->uri.substr(reference->uri.find("/manual__"));
  forged[2].uri = root_ + "/../" + KeyOf(*reference);
  forged[3].uri = reference->uri + "/../x.json";
  forged[4].uri = reference->uri + "?versionId=1";
  forged[5].uri = root_ + "//" + KeyOf(*reference);
  forged[6].uri = root_ + "x/" + KeyOf(*reference);
  for (const Reference& one : forged) {
    EXPECT_TRUE(IsError(Process()->Get(one, {}), ErrorCode::kOutOfScope)) << one.uri;
  }
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(FreightTest, StoreOfTheSameRootUnderAnotherNameIsRead) {  // PrefectHQ/prefect#15794
  const auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  Freight renamed({{"primary", OpenOnce("memory://elsewhere")}, {"archive", counting_}}, {});
  EXPECT_EQ(AsText(renamed.Get(*reference, {})->view()), "value");
}

TEST_F(FreightTest, OfTwoStoresOfOneRootTheOneOfTheReferencesNameIsRead) {
  const auto other = std::make_shared<CountingStore>(memory_);
  Freight freight({{"first", other}, {"default", counting_}}, {});
  const auto reference = Put(*Process(), "value");
  counting_->Take();
  EXPECT_TRUE(IsOk(freight.Get(*reference, {})));
  EXPECT_THAT(other->Take(), IsEmpty());
  EXPECT_THAT(counting_->Take(), ElementsAre("GET"));
}

TEST_F(FreightTest, FirstStoreIsWrittenToUnlessAnotherWasDecided) {
  Freight by_position({{"primary", counting_}, {"other", OpenOnce("memory://elsewhere")}}, {});
  EXPECT_TRUE(IsOk(Put(by_position, "value")));
  EXPECT_THAT(counting_->Take(), ElementsAre("PUT"));
  Decision decision;
  decision.store = "primary";
  Freight by_name({{"other", OpenOnce("memory://elsewhere")}, {"primary", counting_}}, decision);
  EXPECT_TRUE(IsOk(Put(by_name, "value")));
  EXPECT_THAT(counting_->Take(), Not(IsEmpty()));
  decision.store = "gone";
  Freight wrong({{"primary", counting_}}, decision);
  const auto put = Put(wrong, "value");
  ASSERT_TRUE(IsError(put, ErrorCode::kInvalid));
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("'gone'"), HasSubstr("'primary'")));
  Freight none({}, {});
  EXPECT_TRUE(IsError(Put(none, "value"), ErrorCode::kInvalid));
}

TEST_F(FreightTest, ForgedSizeAllocatesNothing) {
  auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  reference->size_bytes = uint64_t{1} << 62;
  EXPECT_TRUE(IsError(Process()->Get(*reference, {}), ErrorCode::kCorrupt));
}

TEST_F(FreightTest, DigestOfAnUnknownKindIsOfANewerFormatAndNothingIsRead) {
  auto reference = Put(*Process(), "value");
  ASSERT_TRUE(IsOk(reference));
  counting_->Take();
  reference->digest = "blake3:00";
  EXPECT_TRUE(IsError(Process()->Get(*reference, {}), ErrorCode::kNewerFormat));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(FreightTest, CancelledPushSendsNothing) {
  Context context;
  context.cancelled = [] { return true; };
  const auto put =
      Process()->Put(coordinate_, Body("value"), InfoOf("json", "json"), {1, kNoon}, context);
  EXPECT_TRUE(IsError(put, ErrorCode::kCancelled));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

}  // namespace
}  // namespace airfreight
