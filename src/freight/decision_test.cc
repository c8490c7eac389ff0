// What is decided for one value, beside what holds for all: where it goes, how and for how long.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "airfreight/store.h"
#include "base/random.h"
#include "base/time.h"
#include "conformance/decorators.h"
#include "conformance/matchers.h"
#include "freight/retention.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;

constexpr int64_t kDay = 24 * 60 * 60;

/// Keeps what the last write was told, and takes keys of encryption, of which it makes nothing.
class NotingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Capabilities capabilities() const override {
    Capabilities own = ForwardingStore::capabilities();
    own.encryption_key = true;
    return own;
  }
  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override {
    return ForwardingStore::Put(key, body, Note(options), context);
  }
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override {
    return ForwardingStore::StartUpload(key, Note(options), context);
  }

  PutOptions told;

 private:
  PutOptions Note(PutOptions options) {
    told = options;
    options.encryption_key.clear();
    return options;
  }
};

class DecisionTest : public testing::Test {
 protected:
  static std::shared_ptr<ObjectStore> Memory() {
    return OpenStore("memory://" + RandomHex128().value() + "/xcom", {{"retry_timeout", "0"}})
        .value();
  }
  static ValueInfo Info() {
    ValueInfo info;
    info.type = "bytes";
    info.extension = "bin";
    return info;
  }
  static Freight::Item Item(std::string_view text, std::optional<Decision> decision,
                            int64_t map = -1) {
    return {{"sales", "run", "extract", Instance::Map(map), "return_value", {}},
            Body(text),
            Info(),
            {},
            std::move(decision)};
  }
  static std::string Text(const Result<Buffer>& got) {
    return got ? std::string(AsText(got->view())) : got.error().ToString();
  }

  std::shared_ptr<NotingStore> noting_ = std::make_shared<NotingStore>(Memory());
  std::shared_ptr<CountingStore> home_ = std::make_shared<CountingStore>(Memory());
  std::shared_ptr<CountingStore> eu_ = std::make_shared<CountingStore>(noting_);
  Freight freight_{{{"default", home_}, {"eu", eu_}}};
};

TEST_F(DecisionTest, EachValueOfAListGoesToItsStoreWithItsDigest) {
  Decision eu;
  eu.store = "eu";
  eu.digest = DigestKind::kSha256;
  const auto put = freight_.PutMany({Item("a", {}, 0), Item("b", eu, 1)}, {});
  ASSERT_TRUE(IsOk(put[0]));
  ASSERT_TRUE(IsOk(put[1]));
  EXPECT_EQ(put[0]->store, "default");
  EXPECT_TRUE(put[0]->digest.starts_with("crc32c:"));
  EXPECT_EQ(put[1]->store, "eu");
  EXPECT_TRUE(put[1]->uri.starts_with(eu_->root() + "/"));
  EXPECT_TRUE(put[1]->digest.starts_with("sha256:"));
  EXPECT_THAT(home_->Take(), ElementsAre("PUT"));
  EXPECT_THAT(eu_->Take(), ElementsAre("PUT"));
  EXPECT_EQ(Text(freight_.Get(*put[1], {})), "b");
  // Whatever is decided by now.
  Freight later({{"default", home_}, {"eu", eu_}}, eu);
  EXPECT_EQ(Text(later.Get(*put[0], {})), "a");
}

TEST_F(DecisionTest, ValueOfTheSameXComThatGoesElsewhereNowLeavesNothingBehind) {
  Decision eu;
  eu.store = "eu";
  const auto first = freight_.Put(Item("a", {}), {});
  ASSERT_TRUE(IsOk(first));
  ASSERT_TRUE(IsOk(freight_.Put(Item("b", eu), {})));
  EXPECT_TRUE(IsError(freight_.Get(*first, {}), ErrorCode::kNotFound));
}

TEST_F(DecisionTest, LimitIsNamedAsItWasDecidedAndNothingIsSent) {
  Decision small;
  small.max_bytes = 4;
  small.max_bytes_name = "max_size of rule 'small', line 3 of p.toml,";
  EXPECT_TRUE(IsOk(freight_.Put(Item("1234", small), {})));
  home_->Take();
  const auto put = freight_.Put(Item("12345", small), {});
  ASSERT_TRUE(IsError(put, ErrorCode::kTooLarge));
  EXPECT_THAT(put.error().message,
              HasSubstr("max_size of rule 'small', line 3 of p.toml, allows 4"));
  EXPECT_TRUE(IsOk(freight_.Put(Item("12345", {}), {})));
  EXPECT_THAT(home_->Take(), ElementsAre("PUT"));
}

TEST_F(DecisionTest, StreamEndsWhereItPassesItsLimitAndLeavesNothing) {
  Decision small;
  small.max_bytes = 4;
  auto writer = freight_.Open(Item("", {}).coordinate, Info(), {}, small);
  ASSERT_TRUE(IsOk(writer));
  EXPECT_TRUE(IsOk((*writer)->Append(AsBytes("1234"), {})));
  EXPECT_TRUE(IsError((*writer)->Append(AsBytes("5"), {}), ErrorCode::kTooLarge));
  EXPECT_TRUE(IsError((*writer)->Finish(Info(), {}), ErrorCode::kTooLarge));
  EXPECT_THAT(home_->Take(), IsEmpty());
}

TEST_F(DecisionTest, KeyReachesWholeObjectsAndUploadsInParts) {
  Decision secret;
  secret.store = "eu";
  secret.encryption_key = "key-1";
  ASSERT_TRUE(IsOk(freight_.Put(Item("a", secret), {})));
  EXPECT_EQ(noting_->told.encryption_key, "key-1");
  noting_->told = {};
  TransferOptions transfer;
  transfer.part_bytes = 1024;
  Freight parts({{"eu", eu_}}, {}, {}, transfer);
  auto writer = parts.Open(Item("", {}).coordinate, Info(), {}, secret);
  ASSERT_TRUE(IsOk(writer));
  EXPECT_TRUE(IsOk((*writer)->Append(AsBytes(std::string(5000, 'x')), {})));
  EXPECT_TRUE(IsOk((*writer)->Finish(Info(), {})));
  EXPECT_EQ(noting_->told.encryption_key, "key-1");
}

TEST_F(DecisionTest, KeyForAStoreThatTakesNoneIsRefusedBeforeAnyRequest) {
  Decision secret;
  secret.encryption_key = "key-1";
  secret.encryption_key_name = "encryption_key of rule 'pii', line 3 of p.toml,";
  const auto put = freight_.Put(Item("a", secret), {});
  ASSERT_TRUE(IsError(put, ErrorCode::kUnsupported));
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("encryption_key of rule 'pii'"),
                                         HasSubstr("'key-1'"), HasSubstr("'default'")));
  EXPECT_TRUE(
      IsError(freight_.Open(Item("", {}).coordinate, Info(), {}, secret), ErrorCode::kUnsupported));
  EXPECT_THAT(home_->Take(), IsEmpty());
}

TEST_F(DecisionTest, RetentionIsInTheReferenceAndToldToTheStore) {
  Decision week;
  week.store = "eu";
  week.retention_seconds = 6 * kDay;
  const int64_t before = UnixSecondsNow();
  const auto put = freight_.Put(Item("a", week), {});
  const int64_t after = UnixSecondsNow();
  ASSERT_TRUE(IsOk(put));
  const std::optional<int64_t> expires = ParseIso8601(put->expires);
  ASSERT_TRUE(expires);
  EXPECT_THAT(*expires, AllOf(Ge(before + 6 * kDay), Le(after + 6 * kDay)));
  EXPECT_EQ(noting_->told.expires_unix, expires);
  EXPECT_EQ(noting_->told.retention_class, "7d");
  EXPECT_EQ(Text(freight_.Get(*put, {})), "a");
  EXPECT_EQ(freight_.Put(Item("a", {}), {})->expires, "");
}

TEST_F(DecisionTest, WhatHasExpiredIsNotAskedForThoughItIsThere) {
  auto put = freight_.Put(Item("a", {}), {});
  ASSERT_TRUE(IsOk(put));
  put->expires = FormatIso8601(UnixSecondsNow());
  home_->Take();
  const auto got = freight_.Get(*put, {});
  ASSERT_TRUE(IsError(got, ErrorCode::kExpired));
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("retention"), HasSubstr(put->expires)));
  EXPECT_TRUE(IsError(freight_.GetMany({*put}, {})[0], ErrorCode::kExpired));
  EXPECT_TRUE(IsError(freight_.OpenReader(*put), ErrorCode::kExpired));
  EXPECT_TRUE(IsError(freight_.GetToFile(*put, "/nowhere/a", {}), ErrorCode::kExpired));
  EXPECT_THAT(home_->Take(), IsEmpty());
  // The row that goes takes its object along all the same.
  EXPECT_EQ(freight_.Purge(*put, {}).value(), true);
}

TEST_F(DecisionTest, WhatAStoreDropsALittleEarlyHasExpiredAndIsNotLost) {
  auto put = freight_.Put(Item("a", {}), {});
  ASSERT_TRUE(IsOk(put));
  ASSERT_TRUE(IsOk(freight_.Purge(*put, {})));
  put->expires = FormatIso8601(UnixSecondsNow() + kClockDifference / 2);
  EXPECT_TRUE(IsError(freight_.Get(*put, {}), ErrorCode::kExpired));
  put->expires = FormatIso8601(UnixSecondsNow() + 3 * kClockDifference);
  EXPECT_TRUE(IsError(freight_.Get(*put, {}), ErrorCode::kNotFound));
}

}  // namespace
}  // namespace airfreight
