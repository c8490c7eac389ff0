// What Freight does on every store: the protocol of attempts, checked reading, clean removal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "airfreight/freight.h"
#include "conformance/decorators.h"
#include "conformance/matchers.h"
#include "conformance/stores.h"

namespace airfreight::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kNoon = 1'767'268'800'000'000;  // 2026-01-01T12:00:00Z in microseconds.
constexpr int64_t kMinute = 60'000'000;

ValueInfo InfoOf(std::string type, std::string extension) {
  ValueInfo info;
  info.type = std::move(type);
  info.extension = std::move(extension);
  return info;
}

// One Freight for each process that there would be, all on one store.
class FreightOnStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    counting_ = std::make_shared<CountingStore>(shared_store());
  }

  std::unique_ptr<Freight> Process() const {
    return std::make_unique<Freight>(std::vector<NamedStore>{{"default", counting_}}, Decision());
  }
  static Result<Reference> Put(Freight& freight, std::string_view text, int64_t attempt,
                               int64_t started, std::string extension = "json") {
    return freight.Put(coordinate_, Body(text), InfoOf("json", std::move(extension)),
                       {attempt, started}, {});
  }
  static std::string Get(Freight& freight, const Reference& reference) {
    const auto got = freight.Get(reference, {});
    if (!got) return "<" + std::string(ErrorCodeName(got.error().code)) + ">";
    return std::string(AsText(got->view()));
  }
  size_t ObjectCount() {
    const auto page = store().List("", "", 1000, {});
    EXPECT_TRUE(IsOk(page));
    return page ? page->objects.size() : 0;
  }
  std::vector<std::string> Requests() { return counting_->Take(); }
  // What a push takes where nothing newer lies; without conditions it looks first.
  std::vector<std::string> OnePut() {
    return Ordered() ? std::vector<std::string>{"PUT"} : std::vector<std::string>{"HEAD", "PUT"};
  }
  bool Ordered() { return store().capabilities().conditional_put; }

  inline static const Coordinate coordinate_ = {"sales",        "manual__2026-01-01T00:00:00+00:00",
                                                "extract",      Instance::Map(-1),
                                                "return_value", {}};

 private:
  std::shared_ptr<CountingStore> counting_;
};

INSTANTIATE_TEST_SUITE_P(Stores, FreightOnStoreTest, testing::ValuesIn(AllStores()), NameOf);

TEST_P(FreightOnStoreTest, PushIsOnePutAndPullIsOneGet) {
  const auto writer = Process();
  const auto reader = Process();
  const auto reference = Put(*writer, "value", 1, kNoon);
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(Requests(), OnePut());
  EXPECT_EQ(Get(*reader, *reference), "value");
  EXPECT_THAT(Requests(), ElementsAre("GET"));
}

TEST_P(FreightOnStoreTest, ReferenceSurvivesItsJsonAndIsFollowed) {
  const auto freight = Process();
  const auto reference = Put(*freight, "value", 1, kNoon);
  ASSERT_TRUE(IsOk(reference));
  const auto json = reference->ToJson();
  ASSERT_TRUE(IsOk(json));
  const auto parsed = Reference::Parse(*json);
  ASSERT_TRUE(IsOk(parsed));
  EXPECT_EQ(Get(*freight, *parsed), "value");
}

TEST_P(FreightOnStoreTest, LaterAttemptReplacesWithPutHeadPut) {
  ASSERT_TRUE(IsOk(Put(*Process(), "first", 1, kNoon)));
  Requests();
  const auto second = Put(*Process(), "second", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(second));
  if (Ordered()) {
    EXPECT_THAT(Requests(), ElementsAre("PUT", "HEAD", "PUT"));
  }
  EXPECT_EQ(Get(*Process(), *second), "second");
  EXPECT_EQ(ObjectCount(), 1u);
}

TEST_P(FreightOnStoreTest, ProcessThatWroteTheObjectReplacesItWithOnePut) {
  const auto freight = Process();
  ASSERT_TRUE(IsOk(Put(*freight, "first", 1, kNoon)));
  Requests();
  const auto second = Put(*freight, "second", 1, kNoon);
  ASSERT_TRUE(IsOk(second));
  EXPECT_EQ(Requests(), OnePut());
  EXPECT_EQ(Get(*freight, *second), "second");
}

TEST_P(FreightOnStoreTest, ZombieChangesNothingAndIsToldSo) {
  if (!Ordered()) GTEST_SKIP() << "the store declares no conditions";
  const auto zombie = Process();
  ASSERT_TRUE(IsOk(Put(*zombie, "first of the zombie", 1, kNoon)));
  const auto retry = Put(*Process(), "retry", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(retry));
  // The zombie knows a version of its own, which is no longer there; a fresh one knows none.
  EXPECT_TRUE(IsError(Put(*zombie, "late", 1, kNoon), ErrorCode::kSuperseded));
  EXPECT_TRUE(IsError(Put(*Process(), "late", 1, kNoon), ErrorCode::kSuperseded));
  EXPECT_EQ(Get(*Process(), *retry), "retry");
}

// formats/reference.md, "Attempts": on S3 two writes of the same bytes share a version.
TEST_P(FreightOnStoreTest, ZombieThatWroteTheSameBytesBeforeNeverMakesAWrongValue) {
  const auto zombie = Process();
  const auto first = Put(*zombie, "same", 1, kNoon);
  ASSERT_TRUE(IsOk(first));
  const auto retry = Put(*Process(), "same", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(retry));
  const auto late = Put(*zombie, "other", 1, kNoon);
  const std::string read = Get(*Process(), *retry);
  if (late) {
    EXPECT_EQ(read, "<Replaced>");
    EXPECT_EQ(first->etag, retry->etag);
  } else {
    EXPECT_TRUE(IsError(late, ErrorCode::kSuperseded));
    EXPECT_EQ(read, "same");
  }
}

TEST_P(FreightOnStoreTest, ZombieOfARunThatWasClearedIsOlderThoughItsNumberIsTheSame) {
  if (!Ordered()) GTEST_SKIP() << "the store declares no conditions";
  const auto rerun = Put(*Process(), "rerun", 1, kNoon + kMinute);
  ASSERT_TRUE(IsOk(rerun));
  EXPECT_TRUE(IsError(Put(*Process(), "late", 1, kNoon), ErrorCode::kSuperseded));
  EXPECT_EQ(Get(*Process(), *rerun), "rerun");
}

TEST_P(FreightOnStoreTest, PushAfterAPurgeNeedsNoMoreThanOnePut) {
  const auto first = Put(*Process(), "first", 1, kNoon);
  ASSERT_TRUE(IsOk(first));
  EXPECT_EQ(Process()->Purge(*first, {}).value(), true);
  Requests();
  EXPECT_TRUE(IsOk(Put(*Process(), "second", 2, kNoon + kMinute)));
  EXPECT_EQ(Requests(), OnePut());
}

TEST_P(FreightOnStoreTest, ObjectThatWasRemovedBehindItsWriterIsWrittenAgain) {
  const auto freight = Process();
  const auto first = Put(*freight, "first", 1, kNoon);
  ASSERT_TRUE(IsOk(first));
  ASSERT_EQ(Process()->Purge(*first, {}).value(), true);
  const auto second = Put(*freight, "second", 1, kNoon);
  ASSERT_TRUE(IsOk(second));
  EXPECT_EQ(Get(*freight, *second), "second");
}

TEST_P(FreightOnStoreTest, AnotherTypeOfTheSameXComLeavesOneObject) {
  const auto freight = Process();
  const auto frame = Put(*freight, "PAR1", 1, kNoon, "parquet");
  ASSERT_TRUE(IsOk(frame));
  const auto json = Put(*freight, "{}", 1, kNoon, "json");
  ASSERT_TRUE(IsOk(json));
  EXPECT_EQ(ObjectCount(), 1u);
  EXPECT_EQ(Get(*freight, *json), "{}");
  EXPECT_EQ(Get(*freight, *frame), "<NotFound>");
}

TEST_P(FreightOnStoreTest, SettlingRemovesWhatThisProcessWroteAndNothingElse) {
  const auto freight = Process();
  ASSERT_TRUE(IsOk(Put(*freight, "large", 1, kNoon)));
  Requests();
  EXPECT_TRUE(IsOk(Process()->Settle(coordinate_, {})));
  EXPECT_THAT(Requests(), IsEmpty());
  EXPECT_EQ(ObjectCount(), 1u);
  EXPECT_TRUE(IsOk(freight->Settle(coordinate_, {})));
  EXPECT_EQ(ObjectCount(), 0u);
  Requests();
  EXPECT_TRUE(IsOk(freight->Settle(coordinate_, {})));
  EXPECT_THAT(Requests(), IsEmpty());
}

TEST_P(FreightOnStoreTest, SettlingOfAZombieLeavesTheNewerObject) {
  const auto zombie = Process();
  // The same bytes: on S3 the two writes have one ETag.
  ASSERT_TRUE(IsOk(Put(*zombie, "value", 1, kNoon)));
  const auto retry = Put(*Process(), "value", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(retry));
  EXPECT_TRUE(IsOk(zombie->Settle(coordinate_, {})));
  EXPECT_EQ(Get(*Process(), *retry), "value");
}

TEST_P(FreightOnStoreTest, PurgeRemovesTheReferencesOwnWriteOnly) {
  const auto first = Put(*Process(), "value", 1, kNoon);
  const auto second = Put(*Process(), "value", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk(second));
  EXPECT_EQ(Process()->Purge(*first, {}).value(), false);
  EXPECT_EQ(Get(*Process(), *second), "value");
  EXPECT_EQ(Process()->Purge(*second, {}).value(), true);
  EXPECT_EQ(Process()->Purge(*second, {}).value(), false);
  EXPECT_EQ(ObjectCount(), 0u);
}

TEST_P(FreightOnStoreTest, LostObjectIsNotFoundAndNamesItsPlace) {  // apache/airflow#39602
  const auto reference = Put(*Process(), "value", 1, kNoon);
  ASSERT_TRUE(IsOk(reference));
  ASSERT_EQ(Process()->Purge(*reference, {}).value(), true);
  const auto got = Process()->Get(*reference, {});
  ASSERT_TRUE(IsError(got, ErrorCode::kNotFound));
  const std::string text = got.error().ToString();
  for (const char* part :
       {"sales", "extract", "return_value", "manual__2026-01-01T00:00:00+00:00"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
  EXPECT_THAT(text, testing::HasSubstr(reference->uri));
}

TEST_P(FreightOnStoreTest, FlippedByteIsCorrupt) {
  const auto reference = Put(*Process(), "value", 1, kNoon);
  ASSERT_TRUE(IsOk(reference));
  const std::string key = reference->uri.substr(store().root().size() + 1);
  const auto there = store().Head(key, {});
  ASSERT_TRUE(IsOk(there));
  PutOptions options;
  options.metadata = there->metadata;
  for (const char* damaged : {"valuf", "valu", "values", ""}) {
    ASSERT_TRUE(IsOk(store().Put(key, Body(damaged), options, {})));
    EXPECT_EQ(Get(*Process(), *reference), "<Corrupt>") << damaged;
  }
}

TEST_P(FreightOnStoreTest, LaterWriteIsReplacedToTheEarlierReference) {
  const auto first = Put(*Process(), "first", 1, kNoon);
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk(Put(*Process(), "other", 2, kNoon + kMinute)));
  EXPECT_EQ(Get(*Process(), *first), "<Replaced>");
}

// The metadata that comes with the bytes tells whose they are, on every store.
TEST_P(FreightOnStoreTest, LaterWriteOfTheSameBytesIsAnother) {
  const auto first = Put(*Process(), "same", 1, kNoon);
  ASSERT_TRUE(IsOk(first));
  const auto second = Put(*Process(), "same", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(second));
  EXPECT_EQ(Get(*Process(), *first), "<Replaced>");
  EXPECT_EQ(Get(*Process(), *second), "same");
}

TEST_P(FreightOnStoreTest, ObjectsPutByHandLieBesideTheReturnValue) {
  const auto freight = Process();
  ASSERT_TRUE(IsOk(Put(*freight, "returned", 1, kNoon)));
  const ValueInfo info = InfoOf("bytes", "bin");
  std::vector<Reference> references;
  for (const char* name : {"0", "1", "model"}) {
    Coordinate by_hand = coordinate_;
    by_hand.key.clear();
    by_hand.put_name = name;
    const auto reference = freight->Put(by_hand, Body(name), info, {1, kNoon}, {});
    ASSERT_TRUE(IsOk(reference));
    references.push_back(*reference);
  }
  EXPECT_EQ(ObjectCount(), 4u);
  EXPECT_EQ(Get(*Process(), references[0]), "0");
  EXPECT_EQ(Get(*Process(), references[2]), "model");
}

TEST_P(FreightOnStoreTest, MappedInstancesHaveAnObjectEach) {
  const auto freight = Process();
  for (int64_t index = 0; index < 5; ++index) {
    Coordinate mapped = coordinate_;
    mapped.instance = Instance::Map(index);
    ASSERT_TRUE(IsOk(freight->Put(mapped, Body("v"), InfoOf("json", "json"), {1, kNoon}, {})));
  }
  EXPECT_EQ(ObjectCount(), 5u);
}

TEST_P(FreightOnStoreTest, EmptyValueIsAValue) {
  const auto reference = Put(*Process(), "", 1, kNoon);
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(reference->size_bytes, 0u);
  EXPECT_EQ(Get(*Process(), *reference), "");
}

}  // namespace
}  // namespace airfreight::conformance
