// Freight that encrypts what it sends: whole, in streams and in parts; and what does not open.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "airfreight/freight.h"
#include "airfreight/store.h"
#include "base/digest.h"
#include "base/random.h"
#include "conformance/decorators.h"
#include "conformance/matchers.h"
#include "seal/envelope.h"
#include "seal/seal.h"

namespace airfreight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kKeys[] = "s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
constexpr char kOtherKeys[] = "s2:HxwdHhAREhMUFRYXGBkaG///AQIDBAUGBwgJCgsMDQ4=";
constexpr char kSigningKeys[] = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 131 + i / 251);
  return text;
}

class SealingTest : public testing::Test {
 protected:
  std::unique_ptr<Freight> Make(const std::string& keys, const std::string& signing = "") const {
    auto seal = std::make_shared<Seal>();
    seal->keys = SigningKeys::Parse(signing).value();
    seal->sealing = SealingKeys::Parse(keys).value();
    return std::make_unique<Freight>(std::vector<NamedStore>{{"default", store_}}, Decision(), "",
                                     TransferOptions(), std::move(seal));
  }
  static Freight::Item Item(std::string_view text, const std::string& task = "extract") {
    ValueInfo info;
    info.type = "bytes";
    info.extension = "bin";
    Decision decision;
    decision.seal = true;
    return {{"sales", "run", task, Instance::Map(-1), "return_value", {}},
            Body(text),
            info,
            {},
            decision};
  }
  std::string KeyOf(const Reference& reference) const {
    return reference.uri.substr(store_->root().size() + 1);
  }
  std::string Stored(const Reference& reference) const {
    return std::string(AsText(store_->Get(KeyOf(reference), {}, {}).value().body.view()));
  }
  // Puts other bytes in an object's place, with the metadata of the one that is there.
  void Replace(const Reference& reference, const std::string& bytes) const {
    PutOptions options;
    options.metadata = store_->Head(KeyOf(reference), {}).value().metadata;
    ASSERT_TRUE(IsOk(store_->Put(KeyOf(reference), Body(bytes), options, {})));
  }
  static std::string Got(Freight& freight, const Reference& reference) {
    const auto got = freight.Get(reference, {});
    return got ? std::string(AsText(got->view())) : std::string(ErrorCodeName(got.error().code));
  }

  std::shared_ptr<CountingStore> store_ = std::make_shared<CountingStore>(
      OpenStore("memory://" + RandomHex128().value() + "/xcom", {{"retry_timeout", "0"}}).value());
};

TEST_F(SealingTest, ValuesComeBackByOneRequestEachWayAndTheStoreHasNothingOfThem) {
  for (const std::string& signing : {std::string(), std::string(kSigningKeys)}) {
    const auto freight = Make(kKeys, signing);
    for (const size_t size : {size_t{0}, size_t{10}, size_t{65536}, size_t{5'000'000}}) {
      const std::string text = Pattern(size);
      store_->Take();
      const auto put = freight->Put(Item(text, std::to_string(size) + signing.substr(0, 1)), {});
      ASSERT_TRUE(IsOk(put));
      EXPECT_THAT(store_->Take(), ElementsAre("PUT"));
      EXPECT_EQ(put->sealed, kSealedVersion);
      EXPECT_EQ(put->size_bytes, SealedSize(size));
      const std::string stored = Stored(*put);
      EXPECT_EQ(stored.size(), SealedSize(size));
      EXPECT_TRUE(size < 64 || stored.find(text.substr(0, 64)) == std::string::npos);
      EXPECT_EQ(put->digest,
                DigestOf(signing.empty() ? DigestKind::kCrc32c : DigestKind::kSha256,
                         Body(std::string_view(stored).substr(0, stored.size() - kEnvelopeBytes))));
      // Through the row, as another process has it.
      const auto row = put->ToJson();
      ASSERT_TRUE(IsOk(row));
      EXPECT_THAT(*row, HasSubstr("\"_airfreight\":2,"));
      EXPECT_THAT(*row, HasSubstr("\"sealed\":1"));
      const Reference reference = Reference::Parse(*row).value();
      const auto reader = Make(std::string(kOtherKeys) + " " + kKeys, signing);
      store_->Take();
      EXPECT_TRUE(Got(*reader, reference) == text);
      EXPECT_THAT(store_->Take(), ElementsAre("GET"));
      const std::string path = testing::TempDir() + "/sealing_test";
      ASSERT_TRUE(IsOk(reader->GetToFile(reference, path, {})));
      std::ifstream file(path, std::ios::binary);
      EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(file), {}) == text);
      std::filesystem::remove(path);
      EXPECT_TRUE(freight->Purge(reference, {}).value_or(false));
    }
  }
}

TEST_F(SealingTest, OneThatIsMadeInPiecesIsReadInPartsWithTheRequestsOfAPlainOne) {
  const std::string text = Pattern(3'000'000);
  const std::string index = Pattern(100'000);
  auto reads = [&](bool sealed) {
    const auto freight = Make(kKeys);
    Freight::Item item = Item("", sealed ? "sealed" : "plain");
    item.decision->seal = sealed;
    auto writer = freight->Open(item.coordinate, item.info, {}, item.decision).value();
    for (size_t at = 0; at < text.size(); at += 70'001) {
      EXPECT_TRUE(IsOk(writer->Append(AsBytes(std::string_view(text).substr(at, 70'001)), {})));
    }
    const std::vector<uint32_t> blocks = writer->SealBlocks();
    EXPECT_TRUE(IsOk(writer->Append(AsBytes(index), {})));
    EXPECT_EQ(writer->size(), text.size() + index.size());
    const auto reference = writer->Finish(item.info, {});
    EXPECT_TRUE(IsOk(reference));
    EXPECT_EQ(reference->tail->offset, text.size());
    store_->Take();
    const auto reader = freight->OpenReader(*reference).value();
    EXPECT_EQ(reader->size(), text.size() + index.size());
    EXPECT_EQ(reader->tail_offset(), text.size());
    const auto tail = reader->ReadTail({});
    EXPECT_TRUE(IsOk(tail));
    EXPECT_TRUE(AsText(tail->view()) == index);
    EXPECT_TRUE(IsOk(reader->SetBlocks(blocks)));
    const std::vector<ValueReader::Range> ranges = {
        {0, 10}, {65'530, 12}, {2'000'000, 300'000}, {text.size() - 1, 1}, {5, 0}};
    const auto got = reader->Read(ranges, {});
    EXPECT_TRUE(IsOk(got));
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_TRUE(AsText((*got)[i].view()) == text.substr(ranges[i].offset, ranges[i].length)) << i;
    }
    const std::vector<std::string> requests = store_->Take();
    // All of it, too.
    EXPECT_TRUE(Got(*freight, *reference) == text + index);
    return requests;
  };
  EXPECT_EQ(reads(true), reads(false));
}

TEST_F(SealingTest, ARangeWithoutATailFirstAsksForTheEnvelope) {
  const auto freight = Make(kKeys);
  const std::string text = Pattern(300'000);
  const Freight::Item item = Item("");
  auto writer = freight->Open(item.coordinate, item.info, {}, item.decision).value();
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(text), {})));
  const std::vector<uint32_t> blocks = writer->SealBlocks();
  const auto reference = writer->Finish(item.info, {});
  ASSERT_TRUE(IsOk(reference));
  const auto reader = freight->OpenReader(*reference).value();
  EXPECT_EQ(reader->ReadTail({}).value().size(), 0U);
  ASSERT_TRUE(IsOk(reader->SetBlocks(blocks)));
  const auto got = reader->Read({{100'000, 100'000}}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_TRUE(AsText((*got)[0].view()) == text.substr(100'000, 100'000));
}

TEST_F(SealingTest, WhatWasChangedCutOrExchangedIsAnErrorThatSaysWhich) {
  const auto freight = Make(kKeys);
  const std::string text = Pattern(200'000);
  const auto put = freight->Put(Item(text), {});
  ASSERT_TRUE(IsOk(put));
  const std::string stored = Stored(*put);
  for (const size_t at : {size_t{0}, size_t{70'000}, stored.size() - kEnvelopeBytes - 1,
                          stored.size() - kEnvelopeBytes, stored.size() - kEnvelopeBytes + 20,
                          stored.size() - kEnvelopeBytes + 60, stored.size() - 1}) {
    std::string flipped = stored;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    Replace(*put, flipped);
    // Of the envelope's salt the digest tells nothing, and no frame opens.
    const bool salt = at == stored.size() - kEnvelopeBytes + 20;
    EXPECT_EQ(Got(*freight, *put), salt ? "Forged" : "Corrupt") << at;
  }
  Replace(*put, stored.substr(0, stored.size() - 100));
  EXPECT_EQ(Got(*freight, *put), "Corrupt");
  std::string swapped = stored;
  std::swap_ranges(swapped.begin(), swapped.begin() + kSealedFrameBytes,
                   swapped.begin() + kSealedFrameBytes);
  Replace(*put, swapped);
  EXPECT_EQ(Got(*freight, *put), "Corrupt");
  Replace(*put, stored);
  EXPECT_TRUE(Got(*freight, *put) == text);

  // A later push of the same XCom.
  ASSERT_TRUE(IsOk(freight->Put(Item(text), {})));
  EXPECT_EQ(Got(*freight, *put), "Replaced");
}

TEST_F(SealingTest, TheObjectOfAnotherXComDoesNotOpenWhateverTheRowSays) {
  const auto freight = Make(kKeys);
  const auto mine = freight->Put(Item("mine, of the very same length"), {});
  const auto theirs = freight->Put(Item("their secret of the same size", "payroll"), {});
  ASSERT_TRUE(IsOk(mine));
  ASSERT_TRUE(IsOk(theirs));
  // Who may write to store and database copies the object and makes the row fit.
  Replace(*mine, Stored(*theirs));
  Reference forged = *mine;
  forged.digest = theirs->digest;
  EXPECT_EQ(Got(*freight, forged), "Forged");
  // The row names the other write, too: the object's metadata, and then its seal, tell.
  forged.write = theirs->write;
  EXPECT_EQ(Got(*freight, forged), "Replaced");
  PutOptions options;
  options.metadata = store_->Head(KeyOf(*mine), {}).value().metadata;
  options.metadata["af-write"] = theirs->write;
  ASSERT_TRUE(IsOk(store_->Put(KeyOf(*mine), Body(Stored(*theirs)), options, {})));
  EXPECT_EQ(Got(*freight, forged), "Forged");
  EXPECT_EQ(Got(*freight, *theirs), "their secret of the same size");
}

TEST_F(SealingTest, WithoutTheKeyNothingIsPushedAndNothingIsRead) {
  EXPECT_TRUE(IsError(Make("")->Put(Item("one"), {}), ErrorCode::kInvalid));
  EXPECT_THAT(store_->Take(), testing::IsEmpty());
  const auto put = Make(kKeys)->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  for (const char* const keys : {"", kOtherKeys}) {
    const auto got = Make(keys)->Get(*put, {});
    ASSERT_TRUE(IsError(got, ErrorCode::kDenied));
    EXPECT_THAT(got.error().message, HasSubstr("sealed with the key \"s1\""));
  }
  // The same id for another secret.
  const std::string same = std::string("s1:") + (kOtherKeys + 3);
  EXPECT_TRUE(IsError(Make(same)->Get(*put, {}), ErrorCode::kCorrupt));
}

// What a row keeps while the store is away (`formats/outage.md`).
TEST_F(SealingTest, AValueOfARowIsTheObjectThatAPushWritesAndAsksNoStore) {
  const Coordinate coordinate = Item("").coordinate;
  for (const size_t size : {size_t{0}, size_t{10}, size_t{65536}, size_t{200'000}}) {
    const std::string text = Pattern(size);
    Body body;
    body.Append(AsBytes(text).first(size / 3));
    body.Append(AsBytes(text).subspan(size / 3));
    const auto sealed = Make(kKeys)->SealValue(coordinate, body);
    ASSERT_TRUE(IsOk(sealed));
    EXPECT_EQ(sealed->bytes.size(), SealedSize(size));
    EXPECT_TRUE(size < 64 ||
                AsText(sealed->bytes.view()).find(text.substr(0, 64)) == std::string_view::npos);
    const auto reader = Make(std::string(kOtherKeys) + " " + kKeys);
    const auto opened = reader->OpenValue(coordinate, sealed->write, sealed->bytes.view());
    ASSERT_TRUE(IsOk(opened));
    EXPECT_TRUE(AsText(opened->view()) == text);
    // As an object it is one that a reference may lead to.
    auto put = Make(kKeys)->Put(Item(text), {});
    ASSERT_TRUE(IsOk(put));
    const std::string stored = Stored(*put);
    const auto same = reader->OpenValue(coordinate, put->write, AsBytes(stored));
    ASSERT_TRUE(IsOk(same));
    EXPECT_TRUE(AsText(same->view()) == text);
    EXPECT_TRUE(IsOk(reader->Purge(*put, {})));
  }
  const auto alone = Make(kKeys);
  store_->Take();
  const auto sealed = alone->SealValue(coordinate, Body("one"));
  ASSERT_TRUE(IsOk(alone->OpenValue(coordinate, sealed->write, sealed->bytes.view())));
  EXPECT_THAT(store_->Take(), testing::IsEmpty());
}

TEST_F(SealingTest, AValueOfARowOpensInItsPlaceOnly) {
  const auto freight = Make(kKeys);
  const Coordinate coordinate = Item("").coordinate;
  const auto sealed = freight->SealValue(coordinate, Body(Pattern(70'000)));
  ASSERT_TRUE(IsOk(sealed));
  const std::string bytes(AsText(sealed->bytes.view()));
  const auto code = [&](const Coordinate& where, const std::string& write, std::string_view data,
                        Freight& opening) {
    const auto opened = opening.OpenValue(where, write, AsBytes(data));
    return opened ? "ok" : std::string(ErrorCodeName(opened.error().code));
  };
  EXPECT_EQ(code(coordinate, sealed->write, bytes, *freight), "ok");
  EXPECT_EQ(code(Item("", "payroll").coordinate, sealed->write, bytes, *freight), "Forged");
  EXPECT_EQ(code(coordinate, RandomHex128().value(), bytes, *freight), "Forged");
  EXPECT_EQ(code(coordinate, "", bytes, *freight), "Forged");
  EXPECT_EQ(code(coordinate, sealed->write, bytes, *Make("")), "Denied");
  EXPECT_EQ(code(coordinate, sealed->write, bytes, *Make(kOtherKeys)), "Denied");
  for (const size_t at : {size_t{0}, size_t{65'540}, bytes.size() - kEnvelopeBytes + 20}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_EQ(code(coordinate, sealed->write, flipped, *freight), "Forged") << at;
  }
  std::string other_key = bytes;
  other_key[bytes.size() - kEnvelopeBytes + 60] ^= 4;  // Of the wrapped data key.
  EXPECT_EQ(code(coordinate, sealed->write, other_key, *freight), "Corrupt");
  for (const size_t left : {size_t{0}, size_t{10}, kEnvelopeBytes + 15, bytes.size() - 1}) {
    EXPECT_EQ(code(coordinate, sealed->write, bytes.substr(0, left), *freight), "Corrupt") << left;
  }
  // A frame less, with the right envelope.
  EXPECT_EQ(code(coordinate, sealed->write,
                 bytes.substr(0, 20) + bytes.substr(bytes.size() - kEnvelopeBytes), *freight),
            "Forged");
  EXPECT_TRUE(IsError(Make("")->SealValue(coordinate, Body("one")), ErrorCode::kInvalid));
}

TEST_F(SealingTest, AnotherKeyWrapsTheDataKeyOfAValueOfARow) {
  const Coordinate coordinate = Item("").coordinate;
  const auto sealed = Make(kKeys)->SealValue(coordinate, Body("one"));
  ASSERT_TRUE(IsOk(sealed));
  std::string bytes(AsText(sealed->bytes.view()));
  const auto freight = Make(std::string(kOtherKeys) + " " + kKeys);
  EXPECT_EQ(Make(kKeys)->RewrapValue(AsBytes(bytes)).value(), std::nullopt);
  const auto end = freight->RewrapValue(AsBytes(bytes));
  ASSERT_TRUE(IsOk(end));
  ASSERT_EQ(end->value().size(), kEnvelopeBytes);
  bytes.replace(bytes.size() - kEnvelopeBytes, kEnvelopeBytes, **end);
  EXPECT_EQ(freight->RewrapValue(AsBytes(bytes)).value(), std::nullopt);
  EXPECT_EQ(AsText(Make(kOtherKeys)->OpenValue(coordinate, sealed->write, AsBytes(bytes))->view()),
            "one");
  EXPECT_TRUE(IsError(Make("")->RewrapValue(AsBytes(bytes)), ErrorCode::kDenied));
  EXPECT_TRUE(IsError(freight->RewrapValue(AsBytes("short")), ErrorCode::kCorrupt));
}

TEST_F(SealingTest, ThatItIsSealedIsInsideTheSignature) {
  const auto freight = Make(kKeys, kSigningKeys);
  const auto put = freight->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  Reference forged = *put;
  forged.sealed = 0;
  EXPECT_EQ(Got(*freight, forged), "Forged");
  forged.sealed = 2;
  EXPECT_EQ(Got(*freight, forged), "Forged");
  EXPECT_EQ(Got(*Make(kKeys), forged), "NewerFormat");
  forged.sealed = 1;
  forged.size_bytes = 7;
  EXPECT_EQ(Got(*Make(kKeys), forged), "Invalid");
  EXPECT_EQ(Got(*freight, *put), "one");
}

TEST_F(SealingTest, AnotherKeyWrapsTheDataKeyAndEveryReferenceGoesOnToHold) {
  const std::string both = std::string(kOtherKeys) + " " + kKeys;
  for (const size_t size : {size_t{10}, size_t{20'000'000}}) {
    const std::string text = Pattern(size);
    const auto put = Make(kKeys, kSigningKeys)->Put(Item(text, std::to_string(size)), {});
    ASSERT_TRUE(IsOk(put));
    const std::string before = Stored(*put);
    const auto freight = Make(both, kSigningKeys);
    store_->Take();
    EXPECT_EQ(freight->RewrapKey(*put, {}, true, {}).value(), Rewrap::kOld);
    EXPECT_THAT(store_->Take(), ElementsAre("GET"));
    EXPECT_TRUE(Stored(*put) == before);
    EXPECT_EQ(freight->RewrapKey(*put, {}, false, {}).value(), Rewrap::kRewrapped);
    EXPECT_EQ(freight->RewrapKey(*put, {}, false, {}).value(), Rewrap::kCurrent);
    const std::string after = Stored(*put);
    EXPECT_TRUE(after.substr(0, after.size() - kEnvelopeBytes) ==
                before.substr(0, before.size() - kEnvelopeBytes));
    EXPECT_TRUE(Got(*Make(kOtherKeys, kSigningKeys), *put) == text);
    EXPECT_EQ(Got(*Make(kKeys, kSigningKeys), *put), "Denied");
    EXPECT_TRUE(freight->Purge(*put, {}).value_or(false));
    EXPECT_EQ(freight->RewrapKey(*put, {}, false, {}).value(), Rewrap::kGone);
  }
}

TEST_F(SealingTest, WhatIsDamagedNewerOrNotOursIsNotWrittenAnew) {
  const std::string both = std::string(kOtherKeys) + " " + kKeys;
  const auto put = Make(kKeys)->Put(Item("one"), {});
  ASSERT_TRUE(IsOk(put));
  const auto freight = Make(both);
  std::string damaged = Stored(*put);
  const std::string right = damaged;
  damaged[0] = static_cast<char>(damaged[0] ^ 1);
  Replace(*put, damaged);
  EXPECT_TRUE(IsError(freight->RewrapKey(*put, {}, false, {}), ErrorCode::kCorrupt));
  EXPECT_TRUE(Stored(*put) == damaged);
  Replace(*put, right);
  // Without the old key it can't be told what the new one is to wrap.
  EXPECT_TRUE(IsError(Make(kOtherKeys)->RewrapKey(*put, {}, false, {}), ErrorCode::kDenied));
  EXPECT_TRUE(Stored(*put) == right);
  ASSERT_TRUE(IsOk(Make(kKeys)->Put(Item("one"), {})));
  EXPECT_EQ(freight->RewrapKey(*put, {}, false, {}).value(), Rewrap::kReplaced);
  Freight::Item plain = Item("plain", "plain");
  plain.decision->seal = false;
  EXPECT_EQ(freight->RewrapKey(freight->Put(plain, {}).value(), {}, false, {}).value(),
            Rewrap::kNotSealed);
  // Of another deployment.
  const auto theirs = Make(kKeys)->Put(Item("theirs", "theirs"), {});
  PutOptions options;
  options.metadata = store_->Head(KeyOf(*theirs), {}).value().metadata;
  options.metadata["af-owner"] = "staging";
  ASSERT_TRUE(IsOk(store_->Put(KeyOf(*theirs), Body(Stored(*theirs)), options, {})));
  EXPECT_EQ(freight->RewrapKey(*theirs, {}, false, {}).value(), Rewrap::kForeign);
}

}  // namespace
}  // namespace airfreight
