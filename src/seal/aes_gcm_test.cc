#include "seal/aes_gcm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hex.h"
#include "seal/hkdf.h"

namespace airfreight {
namespace {

std::string Bytes(std::string_view hex) { return HexDecode(hex).value(); }

GcmNonce Nonce(std::string_view hex) {
  const std::string bytes = Bytes(hex);
  GcmNonce nonce{};
  for (size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<std::byte>(bytes[i]);
  return nonce;
}

struct Vector {
  const char* key;
  const char* nonce;
  const char* plain;
  const char* associated;
  const char* sealed;  // With the tag.
};

// Test cases 13 to 16 of "The Galois/Counter Mode of Operation" (McGrew and Viega), which are those
// of AES-256 with a nonce of 96 bits.
constexpr Vector kVectors[] = {
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "00000000000000000000000000000000", "",
     "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
     "",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
     "b094dac5d93471bdec1a502270e3cc6c"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
     "76fc6ece0f4e1768cddf8853bb2d551b"},
};

TEST(AesGcmTest, PublishedVectorsAreGivenAndTaken) {
  for (const Vector& v : kVectors) {
    AesGcm cipher{Secret(Bytes(v.key))};
    const std::string plain = Bytes(v.plain);
    const std::string associated = Bytes(v.associated);
    std::string sealed(plain.size() + kGcmTagBytes, '\0');
    auto* const out = reinterpret_cast<std::byte*>(sealed.data());
    // Twice: what is made ready once serves for many.
    for (int i = 0; i < 2; ++i) {
      cipher.Encrypt(Nonce(v.nonce), associated, AsBytes(plain), out);
      EXPECT_EQ(HexEncode(AsBytes(sealed)), v.sealed);
    }
    std::string opened(plain.size() + 1, '\0');
    ASSERT_TRUE(cipher.Decrypt(Nonce(v.nonce), associated, AsBytes(sealed),
                               reinterpret_cast<std::byte*>(opened.data())));
    EXPECT_EQ(opened.substr(0, plain.size()), plain);
    // In its own place.
    ASSERT_TRUE(cipher.Decrypt(Nonce(v.nonce), associated, AsBytes(sealed), out));
    EXPECT_EQ(sealed.substr(0, plain.size()), plain);
  }
}

TEST(AesGcmTest, NothingElseIsOpenedAndNothingOfItGiven) {
  const Vector& v = kVectors[3];
  AesGcm cipher{Secret(Bytes(v.key))};
  const std::string sealed = Bytes(v.sealed);
  const std::string associated = Bytes(v.associated);
  std::string opened(sealed.size(), 'x');
  auto* const out = reinterpret_cast<std::byte*>(opened.data());
  const auto opens = [&](const std::string& text, std::string_view nonce, std::string_view data) {
    return cipher.Decrypt(Nonce(nonce), data, AsBytes(text), out);
  };
  for (size_t bit = 0; bit < sealed.size() * 8; bit += 7) {
    std::string flipped = sealed;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(opens(flipped, v.nonce, associated)) << bit;
    EXPECT_EQ(opened.substr(0, 4), std::string(4, '\0'));
  }
  EXPECT_FALSE(opens(sealed, "cafebabefacedbaddecaf889", associated));
  EXPECT_FALSE(opens(sealed, v.nonce, associated.substr(1)));
  EXPECT_FALSE(opens(sealed.substr(0, sealed.size() - 1), v.nonce, associated));
  EXPECT_FALSE(opens("short", v.nonce, associated));
  EXPECT_TRUE(opens(sealed, v.nonce, associated));
}

// RFC 5869, appendix A.1 and A.3, of whose 42 bytes the first 32 are one block.
TEST(HkdfTest, PublishedVectorsAreGiven) {
  const std::string key = Bytes("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b");
  EXPECT_EQ(HexEncode(AsBytes(HkdfSha256(AsBytes(key), AsBytes(Bytes("000102030405060708090a0b0c")),
                                         Bytes("f0f1f2f3f4f5f6f7f8f9"))
                                  .Reveal())),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
  EXPECT_EQ(HexEncode(AsBytes(HkdfSha256(AsBytes(key), {}, "").Reveal())),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

}  // namespace
}  // namespace airfreight
