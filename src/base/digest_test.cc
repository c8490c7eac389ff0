#include "base/digest.h"

#include <gtest/gtest.h>

#include "base/hex.h"

namespace airfreight {
namespace {

TEST(DigestTest, Sha256HasThePublishedAnswers) {
  // NIST, "SHA-256 examples" (csrc.nist.gov/projects/cryptographic-standards-and-guidelines).
  EXPECT_EQ(HexEncode(Sha256({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexEncode(Sha256(AsBytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexEncode(Sha256(AsBytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(DigestTest, HmacSha256HasThePublishedAnswers) {
  // RFC 4231 (https://www.rfc-editor.org/rfc/rfc4231), cases 1, 2 and 6.
  EXPECT_EQ(HexEncode(HmacSha256(AsBytes(std::string(20, '\x0B')), AsBytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(HexEncode(HmacSha256(AsBytes("Jefe"), AsBytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      HexEncode(HmacSha256(AsBytes(std::string(131, '\xAA')),
                           AsBytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(DigestTest, EmptyKeyAndEmptyMessageAreDefined) {
  const std::string expected = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
  EXPECT_EQ(HexEncode(HmacSha256({}, {})), expected);
  // OpenSSL keeps nothing of the key of the call before.
  (void)HmacSha256(AsBytes("another"), AsBytes("x"));
  EXPECT_EQ(HexEncode(HmacSha256({}, {})), expected);
}

TEST(DigestTest, SegmentsOfABodyGiveTheDigestOfTheWhole) {
  Body pieces;
  pieces.Append(AsBytes("1234"));
  pieces.Append(AsBytes(""));
  pieces.Append(AsBytes("56789"));
  for (DigestKind kind : {DigestKind::kCrc32c, DigestKind::kSha256}) {
    EXPECT_EQ(DigestOf(kind, pieces), DigestOf(kind, Body(std::string_view("123456789"))));
  }
  EXPECT_EQ(DigestOf(DigestKind::kCrc32c, pieces), "crc32c:e3069283");
  EXPECT_EQ(DigestOf(DigestKind::kSha256, pieces),
            "sha256:15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225");
}

TEST(DigestTest, EmptyBodyHasADigest) {
  EXPECT_EQ(DigestOf(DigestKind::kCrc32c, Body()), "crc32c:00000000");
  EXPECT_EQ(DigestOf(DigestKind::kSha256, Body()),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(DigestTest, ALongBodyIsDigestedInPieces) {
  const std::string text(kDigestPiece + 1, 'x');
  Body body;
  body.Append(AsBytes(text));
  body.Append(AsBytes("y"));
  for (DigestKind kind : {DigestKind::kCrc32c, DigestKind::kSha256}) {
    int asked = 0;
    const auto digested = DigestOf(kind, body, [&asked]() -> Status {
      ++asked;
      return {};
    });
    ASSERT_TRUE(digested);
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(digested->text, DigestOf(kind, body));
    EXPECT_EQ(digested->crc32c.has_value(), kind == DigestKind::kCrc32c);
    if (kind == DigestKind::kCrc32c) {
      EXPECT_EQ(Crc32cText(digested->crc32c.value_or(0)), digested->text);
    }
    asked = 0;
    const auto ended = DigestOf(kind, body, [&asked]() -> Status {
      if (++asked < 2) return {};
      return Fail(ErrorCode::kCancelled, "no longer wanted");
    });
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(asked, 2);
  }
}

TEST(DigestTest, MovedDigesterGoesOn) {
  Digester first(DigestKind::kSha256);
  first.Update(AsBytes("a"));
  Digester second = std::move(first);
  second.Update(AsBytes("bc"));
  EXPECT_EQ(second.Finish(), DigestOf(DigestKind::kSha256, Body(std::string_view("abc"))));
}

TEST(DigestTest, OnlyTheCanonicalTextIsADigest) {
  EXPECT_EQ(DigestKindOf("crc32c:0123abcd"), DigestKind::kCrc32c);
  EXPECT_EQ(DigestKindOf("sha256:" + std::string(64, '0')), DigestKind::kSha256);
  for (const std::string& wrong :
       {std::string(), std::string("crc32c:"), std::string("crc32c"),
        std::string("crc32c:0123abcD"), std::string("crc32c:0123abc"),
        std::string("crc32c:0123abcd0"), std::string("0123abcd"), std::string("CRC32C:0123abcd"),
        "sha256:" + std::string(63, '0'), "crc32c:" + std::string(64, '0'),
        "md5:" + std::string(32, '0')}) {
    EXPECT_FALSE(DigestKindOf(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace airfreight
