#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace airfreight {
namespace {

using Bytes = std::vector<std::byte>;

Bytes Noise(size_t size) {
  std::mt19937_64 generator(20260101);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(generator());
  return bytes;
}

// One bit at a time, straight from the polynomial: nothing in common with what it checks.
uint32_t Bitwise(ByteView bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

struct Known {
  Bytes bytes;
  uint32_t crc;
};

std::vector<Known> KnownAnswers() {
  Bytes ascending(32);
  std::iota(reinterpret_cast<uint8_t*>(ascending.data()),
            reinterpret_cast<uint8_t*>(ascending.data()) + 32, uint8_t{0});
  const Bytes descending(ascending.rbegin(), ascending.rend());
  const unsigned char read_pdu[48] = {0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0,    0, 0, 0, 0,
                                      0x14, 0,    0, 0, 0, 0, 4, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                                      0x28, 0,    0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0,    0, 0, 0, 0};
  const ByteView pdu = std::as_bytes(std::span(read_pdu));
  const ByteView digits = AsBytes("123456789");
  return {
      {{}, 0},
      // RFC 3720, appendix B.4, whose bytes are written least significant first.
      {Bytes(32, std::byte{0}), 0x8A9136AA},
      {Bytes(32, std::byte{0xFF}), 0x62A8AB43},
      {ascending, 0x46DD794E},
      {descending, 0x113FDB5C},
      {Bytes(pdu.begin(), pdu.end()), 0xD9963A56},
      // The check value of the catalogue (reveng.sourceforge.io/crc-catalogue/all.htm,
      // CRC-32/ISCSI).
      {Bytes(digits.begin(), digits.end()), 0xE3069283},
  };
}

TEST(Crc32cTest, KnownAnswers) {
  for (const Known& known : KnownAnswers()) {
    EXPECT_EQ(Crc32c(known.bytes), known.crc);
    EXPECT_EQ(internal::ExtendCrc32cPortable(0, known.bytes), known.crc);
    EXPECT_EQ(Bitwise(known.bytes), known.crc);
    if (internal::HasHardwareCrc32c()) {
      EXPECT_EQ(internal::ExtendCrc32cHardware(0, known.bytes), known.crc);
    }
  }
}

// Around every size at which the hardware version changes its way of working (3 x 256, 3 x 8192),
// from every alignment.
TEST(Crc32cTest, HardwarePortableAndBitwiseAgree) {
  if (!internal::HasHardwareCrc32c()) GTEST_SKIP() << "this processor has no such instruction";
  const Bytes noise = Noise(60000);
  std::vector<size_t> sizes = {24568, 24576, 24577, 24584, 25343,
                               25344, 25345, 49151, 49152, 59000};
  for (size_t size = 0; size < 40; ++size) sizes.push_back(size);
  for (size_t size = 760; size < 780; ++size) sizes.push_back(size);
  for (size_t size = 1530; size < 1550; ++size) sizes.push_back(size);
  for (size_t size : sizes) {
    for (size_t offset = 0; offset < 9; ++offset) {
      const ByteView bytes = ByteView(noise).subspan(offset, size);
      const uint32_t portable = internal::ExtendCrc32cPortable(0x12345678, bytes);
      ASSERT_EQ(internal::ExtendCrc32cHardware(0x12345678, bytes), portable) << size;
      if (offset == 0) {
        ASSERT_EQ(internal::ExtendCrc32cPortable(0, bytes), Bitwise(bytes)) << size;
      }
    }
  }
}

TEST(Crc32cTest, PiecesGiveTheChecksumOfTheWhole) {
  const Bytes noise = Noise(30000);
  const uint32_t whole = Crc32c(noise);
  for (size_t piece : {size_t{1}, size_t{7}, size_t{255}, size_t{768}, size_t{24577}}) {
    uint32_t crc = 0;
    for (size_t begin = 0; begin < noise.size(); begin += piece) {
      const size_t size = std::min(piece, noise.size() - begin);
      crc = ExtendCrc32c(crc, ByteView(noise).subspan(begin, size));
    }
    EXPECT_EQ(crc, whole) << piece;
  }
}

TEST(Crc32cTest, EverySingleFlippedBitIsFound) {
  Bytes noise = Noise(1000);
  const uint32_t whole = Crc32c(noise);
  for (size_t bit = 0; bit < noise.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    noise[bit / 8] ^= mask;
    EXPECT_NE(Crc32c(noise), whole);
    noise[bit / 8] ^= mask;
  }
}

TEST(Crc32cTest, JoinedChecksumsOfPublishedAnswer) {
  // "123456789" gives e3069283, the check value of CRC-32C, however it is cut.
  const ByteView digits = AsBytes("123456789");
  for (size_t cut = 0; cut <= digits.size(); ++cut) {
    EXPECT_EQ(
        Crc32cCombine(Crc32c(digits.first(cut)), Crc32c(digits.subspan(cut)), digits.size() - cut),
        0xE3069283U)
        << cut;
  }
}

TEST(Crc32cTest, JoinedChecksumsAreThatOfTheWhole) {
  const Bytes noise = Noise(200'000);
  const ByteView all = noise;
  std::mt19937_64 generator(7);
  for (int round = 0; round < 300; ++round) {
    const size_t begin = generator() % all.size();
    const size_t cut = begin + generator() % (all.size() - begin);
    const size_t end = cut + generator() % (all.size() - cut);
    EXPECT_EQ(Crc32cCombine(Crc32c(all.subspan(begin, cut - begin)),
                            Crc32c(all.subspan(cut, end - cut)), end - cut),
              Crc32c(all.subspan(begin, end - begin)));
  }
}

TEST(Crc32cTest, OneJoinServesAllRunsOfItsLength) {
  const Bytes noise = Noise(100'000);
  const Crc32cJoin join(1000);
  uint32_t crc = 0;
  for (size_t begin = 0; begin < noise.size(); begin += 1000) {
    crc = join(crc, Crc32c(ByteView(noise).subspan(begin, 1000)));
  }
  EXPECT_EQ(crc, Crc32c(noise));
}

TEST(Crc32cTest, JoinOverTerabytesIsTheJoinOfItsParts) {
  // What no test can compute directly: moving over 5 TiB at once, and over 5,120 times a GiB.
  const uint64_t kGibibyte = uint64_t{1} << 30;
  const Crc32cJoin over_one(kGibibyte);
  uint32_t crc = 0x12345678;
  for (int i = 0; i < 5 * 1024; ++i) crc = over_one(crc, 0);
  EXPECT_EQ(Crc32cCombine(0x12345678, 0, 5 * 1024 * kGibibyte), crc);
}

}  // namespace
}  // namespace airfreight
