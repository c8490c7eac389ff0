#include "seal/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "conformance/matchers.h"
#include "seal/envelope.h"
#include "seal/sealing_keys.h"

namespace airfreight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const FrameBinding kBinding = {"00112233445566778899aabbccddeeff",
                               "7f3c0123456789abcdef0123456789ab"};

Secret KeyOf(char letter) { return Secret(std::string(kAesKeyBytes, letter)); }

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 131 + i / 251);
  return text;
}

// The frames of a value that comes in pieces.
std::string Seal(std::string_view plain, size_t piece, const FrameBinding& binding = kBinding) {
  FrameSealer sealer(KeyOf('k'), binding);
  std::string stored;
  const auto out = [&](ByteView bytes) -> Status {
    stored += AsText(bytes);
    return {};
  };
  for (size_t at = 0; at < plain.size(); at += piece) {
    EXPECT_TRUE(IsOk(sealer.Append(AsBytes(plain.substr(at, piece)), out)));
  }
  EXPECT_EQ(sealer.size(), plain.size());
  EXPECT_TRUE(IsOk(sealer.Finish(out)));
  return stored;
}

// What opens of it, or "no".
std::string Open(const std::string& stored, size_t plain_size, char key = 'k',
                 const FrameBinding& binding = kBinding) {
  FrameOpener opener(KeyOf(key), binding, plain_size);
  std::string plain;
  std::vector<std::byte> frame(kFrameBytes);
  size_t at = 0;
  for (uint64_t index = 0; index <= opener.last(); ++index) {
    const size_t size = std::min<size_t>(opener.SealedBytes(index), stored.size() - at);
    if (!opener.Open(index, AsBytes(std::string_view(stored).substr(at, size)), frame.data())) {
      return "no";
    }
    plain += AsText(ByteView(frame).first(opener.PlainBytes(index)));
    at += size;
  }
  return plain;
}

TEST(FramesTest, ValuesOfAllLengthsComeBackHoweverTheyCame) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537},
                            size_t{131072}, size_t{200'000}}) {
    const std::string plain = Pattern(size);
    for (const size_t piece : {size_t{1000}, size_t{65536}, size_t{1} << 20}) {
      const std::string stored = Seal(plain, piece);
      EXPECT_EQ(stored.size() + kEnvelopeBytes, SealedSize(size));
      EXPECT_EQ(PlainSize(SealedSize(size)), size);
      EXPECT_TRUE(Open(stored, size) == plain) << size;
    }
    EXPECT_TRUE(size < 64 || Seal(plain, 1000).find(plain.substr(0, 64)) == std::string::npos);
  }
  EXPECT_EQ(PlainSize(0), std::nullopt);
  EXPECT_EQ(PlainSize(kEnvelopeBytes + 15), std::nullopt);
  EXPECT_EQ(PlainSize(kEnvelopeBytes + kSealedFrameBytes + 15), std::nullopt);
}

TEST(FramesTest, WhatWasChangedMovedExchangedOrCutDoesNotOpen) {
  const size_t size = 3 * kFrameBytes + 100;
  const std::string stored = Seal(Pattern(size), 5000);
  EXPECT_EQ(Open(stored, size).size(), size);
  for (const size_t at : {size_t{0}, size_t{65536}, size_t{70'000}, stored.size() - 1}) {
    std::string flipped = stored;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_EQ(Open(flipped, size), "no") << at;
  }
  std::string swapped = stored;
  std::swap_ranges(swapped.begin(), swapped.begin() + kSealedFrameBytes,
                   swapped.begin() + kSealedFrameBytes);
  EXPECT_EQ(Open(swapped, size), "no");
  // Cut between frames, and told to be as long as that: the last frame is none that was last.
  EXPECT_EQ(Open(stored.substr(0, 2 * kSealedFrameBytes), 2 * kFrameBytes), "no");
  EXPECT_EQ(Open(stored.substr(0, 2 * kSealedFrameBytes + 16), 2 * kFrameBytes), "no");
  EXPECT_EQ(Open(stored.substr(0, kSealedFrameBytes), kFrameBytes - 1), "no");
  // Other keys, XCom and push.
  EXPECT_EQ(Open(stored, size, 'x'), "no");
  EXPECT_EQ(Open(stored, size, 'k', {std::string(32, '0'), kBinding.write}), "no");
  EXPECT_EQ(Open(stored, size, 'k', {kBinding.coordinate, std::string(32, '0')}), "no");
  // A frame of another object in its place.
  std::string mixed = Seal(Pattern(size), 5000, {kBinding.coordinate, std::string(32, 'a')});
  mixed.replace(0, kSealedFrameBytes, stored, 0, kSealedFrameBytes);
  EXPECT_EQ(Open(mixed, size), "no");
}

TEST(FramesTest, BlocksAreThoseOfWhatWasAppended) {
  const std::string plain = Pattern(kFrameBytes + 10);
  FrameSealer sealer(KeyOf('k'), kBinding);
  const auto out = [](ByteView) -> Status { return {}; };
  ASSERT_TRUE(IsOk(sealer.Append(AsBytes(plain), out)));
  const std::string_view all = plain;
  EXPECT_THAT(sealer.SealBlocks(), ElementsAre(Crc32c(AsBytes(all.substr(0, kFrameBytes))),
                                               Crc32c(AsBytes(all.substr(kFrameBytes)))));
  ASSERT_TRUE(IsOk(sealer.Append(AsBytes(plain), out)));
  EXPECT_EQ(sealer.SealBlocks().size(), 2U);
}

TEST(EnvelopeTest, OneComesBackAndNothingElseIsTaken) {
  Envelope envelope;
  envelope.salt.fill(std::byte{7});
  envelope.key_id = "s1";
  envelope.wrapped = std::string(60, 'w');
  const std::string text = envelope.Encode();
  ASSERT_EQ(text.size(), kEnvelopeBytes);
  const auto back = Envelope::Parse(AsBytes(text));
  ASSERT_TRUE(IsOk(back));
  EXPECT_EQ(back->key_id, "s1");
  EXPECT_EQ(back->wrapped, envelope.wrapped);
  EXPECT_EQ(back->salt, envelope.salt);

  const auto code = [&](size_t at, char value) {
    std::string other = text;
    other[at] = value;
    const auto parsed = Envelope::Parse(AsBytes(other));
    return parsed ? ErrorCode::kInternal : parsed.error().code;
  };
  EXPECT_EQ(code(0, 'B'), ErrorCode::kCorrupt);
  EXPECT_EQ(code(9, 2), ErrorCode::kNewerFormat);
  EXPECT_EQ(code(9, 0), ErrorCode::kCorrupt);
  EXPECT_EQ(code(42, 0), ErrorCode::kCorrupt);  // The length of the key id,
  EXPECT_EQ(code(42, 65), ErrorCode::kCorrupt);
  EXPECT_EQ(code(43, ' '), ErrorCode::kCorrupt);                // its letters,
  EXPECT_EQ(code(45, 9), ErrorCode::kCorrupt);                  // the length of the key,
  EXPECT_EQ(code(kEnvelopeBytes - 1, 1), ErrorCode::kCorrupt);  // what is behind.
  EXPECT_FALSE(Envelope::Parse(AsBytes(text.substr(1))));
  EXPECT_FALSE(Envelope::Parse({}));
}

constexpr char kOne[] = "s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
constexpr char kTwo[] = "s2:HxwdHhAREhMUFRYXGBkaG___AQIDBAUGBwgJCgsMDQ4";  // Of URLs, unpadded.

TEST(SealingKeysTest, WhatIsWrongNamesTheEntryAndNoSecret) {
  const auto problem = [](std::string_view text) {
    const auto keys = SealingKeys::Parse(text);
    return keys ? std::string() : keys.error().message;
  };
  EXPECT_EQ(problem(""), "");
  EXPECT_EQ(problem(std::string(kOne) + ",\n" + kTwo), "");
  EXPECT_THAT(problem("AAECAwQFBgcI"), HasSubstr("key 1 has no colon"));
  EXPECT_THAT(problem("s 1:AAEC"), HasSubstr("key 1 has no colon"));
  EXPECT_THAT(problem("s1:AAEC"), HasSubstr("key 1, \"s1\", has 3 bytes"));
  EXPECT_THAT(problem("s1:%%SECRET%%"), HasSubstr("is not base64"));
  EXPECT_THAT(problem("s1:%%SECRET%%"), Not(HasSubstr("SECRET")));
  // Turned round.
  EXPECT_THAT(problem("0123456789abcdef0123456789abcdef:s1"), HasSubstr("key 1 "));
  EXPECT_THAT(problem("0123456789abcdef0123456789abcdef:s1"), Not(HasSubstr("0123456789abcdef")));
  EXPECT_THAT(problem("s1:azure:key"), HasSubstr("not aws-kms or gcp-kms"));
  EXPECT_THAT(problem("s1:gcp-kms:key"), HasSubstr("no name of a key of Google's"));
  EXPECT_THAT(problem(std::string(kOne) + " " + kOne), HasSubstr("key 2 has the id \"s1\""));
  EXPECT_EQ(problem("a:aws-kms:alias/xcom b:gcp-kms:projects/p/locations/l/keyRings/r/"
                    "cryptoKeys/k"),
            "");
}

TEST(DataKeysTest, TheFirstKeyWrapsAndAllOpen) {
  const SealingKeys old_keys = SealingKeys::Parse(kOne).value();
  const SealingKeys both = SealingKeys::Parse(std::string(kTwo) + "," + kOne).value();
  DataKeys writer(old_keys);
  DataKeys reader(both);
  const auto made = writer.ForNewObject();
  const auto next = writer.ForNewObject();
  ASSERT_TRUE(IsOk(made));
  ASSERT_TRUE(IsOk(next));
  EXPECT_EQ(made->envelope.key_id, "s1");
  // One data key for the process, and a key for each object.
  EXPECT_EQ(made->envelope.wrapped, next->envelope.wrapped);
  EXPECT_FALSE(made->object_key == next->object_key);
  for (DataKeys* keys : {&writer, &reader}) {
    const auto opened = keys->ForObject(made->envelope);
    ASSERT_TRUE(IsOk(opened));
    EXPECT_TRUE(*opened == made->object_key);
  }
  const auto newer = reader.ForNewObject();
  ASSERT_TRUE(IsOk(newer));
  EXPECT_EQ(newer->envelope.key_id, "s2");
  const auto unknown = writer.ForObject(newer->envelope);
  ASSERT_TRUE(IsError(unknown, ErrorCode::kDenied));
  EXPECT_THAT(unknown.error().message, HasSubstr("\"s2\", which is not among the keys here (s1)"));
  Envelope changed = made->envelope;
  changed.wrapped[20] = static_cast<char>(changed.wrapped[20] ^ 1);
  EXPECT_TRUE(IsError(reader.ForObject(changed), ErrorCode::kCorrupt));
  Envelope renamed = made->envelope;
  renamed.key_id = "s2";
  EXPECT_TRUE(IsError(reader.ForObject(renamed), ErrorCode::kCorrupt));
}

TEST(DataKeysTest, AServiceIsAskedOnceForEachDataKey) {
  std::vector<std::string> asked;
  const KeyService service = [&](std::string_view kind, std::string_view key, std::string_view id,
                                 bool wraps, std::string_view bytes) -> Result<Secret> {
    asked.push_back(std::string(kind) + " " + std::string(key) + " " + std::string(id) +
                    (wraps ? " wrap" : " unwrap"));
    std::string turned(bytes.rbegin(), bytes.rend());
    return Secret(std::move(turned));
  };
  const SealingKeys keys = SealingKeys::Parse("a:aws-kms:alias/xcom", service).value();
  DataKeys writer(keys);
  DataKeys reader(keys);
  const auto made = writer.ForNewObject();
  ASSERT_TRUE(IsOk(writer.ForNewObject()));
  ASSERT_TRUE(IsOk(made));
  ASSERT_TRUE(IsOk(writer.ForObject(made->envelope)));
  EXPECT_THAT(asked, ElementsAre("aws-kms alias/xcom a wrap"));
  for (int i = 0; i < 3; ++i) {
    const auto opened = reader.ForObject(made->envelope);
    ASSERT_TRUE(IsOk(opened));
    EXPECT_TRUE(*opened == made->object_key);
  }
  EXPECT_THAT(asked, ElementsAre("aws-kms alias/xcom a wrap", "aws-kms alias/xcom a unwrap"));
}

}  // namespace
}  // namespace airfreight
