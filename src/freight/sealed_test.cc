// Freight with signing keys: what it writes is signed, and what is not is not followed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "airfreight/freight.h"
#include "airfreight/store.h"
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

}  // namespace
}  // namespace airfreight
