// Freight with signing keys: what it writes is signed, and what is not is not followed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "airfreight/freight.h"
#include "airfreight/store.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/time.h"
#include "conformance/decorators.h"
#include "conformance/matchers.h"
#include "seal/seal.h"

namespace airfreight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kKeys[] = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

class SealedFreightTest : public testing::Test {
 protected:
  std::unique_ptr<Freight> Make(const std::string& keys, int64_t unsigned_until = 0) const {
    auto seal = std::make_shared<Seal>();
    seal->keys = SigningKeys::Parse(keys).value();
    seal->unsigned_until_unix = unsigned_until;
    return std::make_unique<Freight>(std::vector<NamedStore>{{"default", store_}}, Decision(), "",
                                     TransferOptions(), std::move(seal));
  }
  static Freight::Item Item(std::string_view text, const std::string& dag = "sales") {
    ValueInfo info;
    info.type = "bytes";
    info.extension = "bin";
    return {{dag, "run", "extract", Instance::Map(-1), "return_value", {}}, Body(text), info, {}};
  }
  // Every way that leads from a reference to the store.
  std::vector<ErrorCode> Followed(Freight& freight, const Reference& reference) const {
    std::vector<ErrorCode> codes;
    const auto note = [&](const auto& result) {
      codes.push_back(result ? ErrorCode::kInternal : result.error().code);
    };
    note(freight.Get(reference, {}));
    note(freight.GetMany({reference}, {})[0]);
    note(freight.GetToFile(reference, testing::TempDir() + "/sealed", {}));
    note(freight.OpenReader(reference));
    note(freight.Purge(reference, {}));
    return codes;
  }

  std::shared_ptr<CountingStore> store_ = std::make_shared<CountingStore>(
      OpenStore("memory://" + RandomHex128().value() + "/xcom", {{"retry_timeout", "0"}}).value());
};

TEST_F(SealedFreightTest, WhatIsWrittenIsSignedWithTheSha256OfItsBytes) {
  const auto freight = Make(kKeys);
  const auto put = freight->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  EXPECT_TRUE(put->signature.starts_with("k1:"));
  EXPECT_TRUE(put->digest.starts_with("sha256:"));  // Though the decision is a CRC.

  auto writer = freight->Open(Item("").coordinate, Item("").info, {});
  ASSERT_TRUE(IsOk(writer));
  ASSERT_TRUE(IsOk((*writer)->Append(AsBytes("two"), {})));
  const auto streamed = (*writer)->Finish(Item("").info, {});
  ASSERT_TRUE(IsOk(streamed));
  EXPECT_TRUE(streamed->digest.starts_with("sha256:"));
  EXPECT_EQ(AsText(freight->Get(*streamed, {}).value().view()), "two");
  EXPECT_TRUE(freight->Purge(*streamed, {}).value_or(false));
}

TEST_F(SealedFreightTest, ForgeryIsFollowedInNoWayAndTheStoreIsNotAsked) {
  const auto freight = Make(kKeys);
  const auto put = freight->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  store_->Take();
  const std::vector<std::function<void(Reference*)>> forgeries = {
      [](Reference* r) { r->signature.clear(); },
      [](Reference* r) { r->signature = "k2" + r->signature.substr(2); },
      [](Reference* r) { r->write.back() = r->write.back() == '0' ? '1' : '0'; },
      // Another XCom's whole coordinate and place, which exist.
      [](Reference* r) {
        r->coordinate.task = "other";
        r->uri.replace(r->uri.find("/extract/"), 9, "/other/");
      },
  };
  for (const auto& forge : forgeries) {
    Reference forged = *put;
    forge(&forged);
    EXPECT_THAT(Followed(*freight, forged), testing::Each(ErrorCode::kForged));
  }
  EXPECT_THAT(store_->Take(), IsEmpty());
  EXPECT_EQ(AsText(freight->Get(*put, {}).value().view()), "one");
}

TEST_F(SealedFreightTest, UnsignedOnesAreFollowedForAsLongAsIsSaidAndWrongOnesNever) {
  const auto put = Make("")->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  EXPECT_EQ(put->signature, "");
  EXPECT_TRUE(put->digest.starts_with("crc32c:"));
  const int64_t now = UnixSecondsNow();

  EXPECT_TRUE(IsOk(Make(kKeys, now + 1000)->Get(*put, {})));
  const auto late = Make(kKeys, now)->Get(*put, {});
  ASSERT_TRUE(IsError(late, ErrorCode::kForged));
  EXPECT_THAT(late.error().message, HasSubstr("airfreight sign"));

  Reference wrong = *put;
  wrong.signature = "k1:" + std::string(64, '0');
  EXPECT_TRUE(IsError(Make(kKeys, now + 1000)->Get(wrong, {}), ErrorCode::kForged));
  // Who has no keys reads what others have signed.
  EXPECT_TRUE(IsOk(Make("")->Get(wrong, {})));
}

TEST_F(SealedFreightTest, ProcessOfOneDagWritesNothingForAnother) {
  const Result<Secret> key = SigningKeys::Parse(kKeys)->ForDag("sales");
  ASSERT_TRUE(key);
  const auto pod = Make(std::string(key->Reveal()));
  const auto put = pod->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  EXPECT_THAT(store_->Take(), ElementsAre("PUT"));
  EXPECT_TRUE(IsOk(Make(kKeys)->Get(*put, {})));
  store_->Take();
  EXPECT_TRUE(IsError(pod->Put(Item("one", "finance"), {}), ErrorCode::kInvalid));
  EXPECT_FALSE(pod->Open(Item("", "finance").coordinate, Item("").info, {}));
  EXPECT_THAT(store_->Take(), IsEmpty());
}

TEST_F(SealedFreightTest, OnlyWhatIsSignedForTheVeryXComIsAdopted) {
  const auto freight = Make(kKeys);
  const auto put = freight->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  store_->Take();
  EXPECT_TRUE(IsOk(freight->Adopt(*put, put->coordinate, false)));
  const std::vector<std::function<void(Coordinate*)>> others = {
      [](Coordinate* c) { c->dag = "finance"; }, [](Coordinate* c) { c->run = "r"; },
      [](Coordinate* c) { c->task = "t"; },      [](Coordinate* c) { c->instance.map_index = 0; },
      [](Coordinate* c) { c->key = "k"; },       [](Coordinate* c) { c->put_name = "0"; },
  };
  for (const auto& change : others) {
    Coordinate other = put->coordinate;
    change(&other);
    EXPECT_TRUE(IsError(freight->Adopt(*put, other, true), ErrorCode::kForged));
  }
  Reference unsigned_one = *put;
  unsigned_one.signature.clear();
  // A bridge for rows from before is none for new ones; and keys go before the policy.
  const auto bridged = Make(kKeys, UnixSecondsNow() + 1000);
  EXPECT_TRUE(IsError(bridged->Adopt(unsigned_one, put->coordinate, true), ErrorCode::kForged));
  // Without keys a signature says nothing.
  EXPECT_TRUE(IsError(Make("")->Adopt(*put, put->coordinate, false), ErrorCode::kForged));
  EXPECT_TRUE(IsOk(Make("")->Adopt(unsigned_one, put->coordinate, true)));
  Reference elsewhere = unsigned_one;
  elsewhere.uri.replace(0, elsewhere.uri.rfind("/sales/"), "s3://other/xcom");
  EXPECT_TRUE(
      IsError(Make("")->Adopt(elsewhere, elsewhere.coordinate, true), ErrorCode::kOutOfScope));
  EXPECT_THAT(store_->Take(), IsEmpty());
}

TEST_F(SealedFreightTest, ReferenceIsAdoptedOnlyForTheStoresAndTheDeploymentThatAreWrittenTo) {
  const auto make = [&](const std::string& name, const std::string& owner) {
    return std::make_unique<Freight>(
        std::vector<NamedStore>{{"default", OpenStore("memory://d/xcom", {}).value()},
                                {name, store_}},
        Decision(), owner);
  };
  Freight::Item item = Item("one");
  item.decision.emplace().store = "pod";
  const auto put = make("pod", "prod")->Put(item, {});
  ASSERT_TRUE(IsOk(put));
  EXPECT_TRUE(IsOk(make("pod", "prod")->Adopt(*put, put->coordinate, true)));
  EXPECT_TRUE(IsOk(make("pod", "")->Adopt(*put, put->coordinate, true)));
  EXPECT_TRUE(
      IsError(make("pod", "staging")->Adopt(*put, put->coordinate, true), ErrorCode::kInvalid));
  EXPECT_TRUE(
      IsError(make("", "prod")->Adopt(*put, put->coordinate, true), ErrorCode::kOutOfScope));
}

TEST_F(SealedFreightTest, WhatIsHandedOverTakesThePlaceOfWhatThisProcessWrote) {
  const auto freight = Make("");
  const auto put = freight->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  store_->Take();
  EXPECT_TRUE(IsOk(freight->Settle(put->coordinate, {}, put->write)));
  EXPECT_THAT(store_->Take(), IsEmpty());
  EXPECT_TRUE(IsOk(freight->Settle(put->coordinate, {}, std::string(32, '0'))));
  EXPECT_TRUE(IsError(freight->Get(*put, {}), ErrorCode::kNotFound));
}

TEST_F(SealedFreightTest, RowFromBeforeIsSignedOnceItsObjectIsSeenToBeRight) {
  const std::string bytes(size_t{5} << 20, 'x');
  const auto put = Make("")->Put(Item(bytes), {});
  ASSERT_TRUE(IsOk(put));
  const auto freight = Make(kKeys);
  store_->Take();
  const auto made = freight->Sign(*put, {});
  ASSERT_TRUE(IsOk(made));
  EXPECT_THAT(store_->Take(), ElementsAre("GET"));
  EXPECT_EQ(made->digest, DigestOf(DigestKind::kSha256, Body(bytes)));
  EXPECT_EQ(made->etag, put->etag);
  EXPECT_TRUE(IsOk(freight->Get(*made, {})));
  store_->Take();
  // Another first key: no look at the object.
  const auto anew = Make(std::string("k2:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA= ") + kKeys)
                        ->Sign(*made, {});
  ASSERT_TRUE(IsOk(anew));
  EXPECT_TRUE(anew->signature.starts_with("k2:"));
  EXPECT_EQ(anew->digest, made->digest);
  EXPECT_THAT(store_->Take(), IsEmpty());

  Reference wrong = *made;
  wrong.signature = "k1:" + std::string(64, '0');
  EXPECT_TRUE(IsError(freight->Sign(wrong, {}), ErrorCode::kForged));
  wrong = *put;
  wrong.digest.back() = wrong.digest.back() == '0' ? '1' : '0';
  EXPECT_TRUE(IsError(freight->Sign(wrong, {}), ErrorCode::kCorrupt));
  wrong = *put;
  wrong.write = std::string(32, '0');
  EXPECT_TRUE(IsError(freight->Sign(wrong, {}), ErrorCode::kReplaced));
  wrong = *put;
  wrong.coordinate.task = "other";
  EXPECT_TRUE(IsError(freight->Sign(wrong, {}), ErrorCode::kOutOfScope));
  EXPECT_TRUE(IsError(Make("")->Sign(*put, {}), ErrorCode::kInvalid));
}

// What an object says of itself, and what a reference then comes to.
class StampTest : public SealedFreightTest {
 protected:
  // The object of `put` once more, with other metadata: the same bytes at the same place.
  void PutAgain(const Reference& put, Metadata metadata) const {
    PutOptions options;
    options.metadata = std::move(metadata);
    const std::string key = put.uri.substr(store_->root().size() + 1);
    const std::string bytes(put.size_bytes, 'x');
    ASSERT_TRUE(IsOk(store_->Put(key, Body(bytes), options, {})));
  }
  std::vector<ErrorCode> Pulled(Freight& freight, const Reference& reference) const {
    std::vector<ErrorCode> codes;
    const auto note = [&](const auto& result) {
      codes.push_back(result ? ErrorCode::kInternal : result.error().code);
    };
    note(freight.Get(reference, {}));
    note(freight.GetMany({reference}, {})[0]);
    note(freight.GetToFile(reference, testing::TempDir() + "/stamped", {}));
    const auto reader = freight.OpenReader(reference);
    EXPECT_TRUE(IsOk(reader));
    EXPECT_TRUE(IsOk((*reader)->SetChecks({{0, reference.size_bytes, 0}})));
    note((*reader)->Read({{0, 1}}, {}));
    return codes;
  }
};

TEST_F(StampTest, ObjectOfAnotherXComOrWriteIsNotReadThoughItsBytesAreRight) {
  // One request, and several streams.
  for (const size_t size : {size_t{3}, size_t{5} << 20}) {
    const auto freight = Make("");
    const std::string bytes(size, 'x');
    const auto put = freight->Put(Item(bytes), {});
    ASSERT_TRUE(IsOk(put));
    const auto head = store_->Head(put->uri.substr(store_->root().size() + 1), {});
    ASSERT_TRUE(IsOk(head));
    Metadata metadata = head->metadata;
    metadata["af-coordinate"] = std::string(32, '0');
    PutAgain(*put, metadata);
    EXPECT_THAT(Pulled(*freight, *put), testing::Each(ErrorCode::kForged));
    metadata = head->metadata;
    metadata["af-write"] = std::string(32, '0');
    PutAgain(*put, metadata);
    EXPECT_THAT(Pulled(*freight, *put), testing::Each(ErrorCode::kReplaced));
    PutAgain(*put, {});
    EXPECT_THAT(Pulled(*freight, *put), testing::Each(ErrorCode::kCorrupt));
  }
}

TEST_F(StampTest, CopyWithoutMetadataIsReadWhereItIsSignedOrThePlaceIsSaidToBeOne) {
  const auto signs = Make(kKeys);
  const auto put = signs->Put(Item("xxx"), {});
  ASSERT_TRUE(IsOk(put));
  PutAgain(*put, {});
  EXPECT_EQ(AsText(signs->Get(*put, {}).value().view()), "xxx");
  const auto plain = Make("");
  const auto refused = plain->Get(*put, {});
  ASSERT_TRUE(IsError(refused, ErrorCode::kCorrupt));
  EXPECT_THAT(refused.error().message, HasSubstr("read_also = " + store_->root()));
  Freight told({{"default", store_}, {"", store_}});
  EXPECT_EQ(AsText(told.Get(*put, {}).value().view()), "xxx");
}

}  // namespace
}  // namespace airfreight
