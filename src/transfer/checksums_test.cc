#include "transfer/checksums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace airfreight {
namespace {

std::string Noise(size_t size) {
  std::mt19937_64 generator(20260101);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(generator());
  return text;
}

TEST(ChecksumsTest, OnePassGivesWhatSeveralWould) {
  const std::string noise = Noise(10'000);
  const ByteView all = AsBytes(noise);
  for (const size_t piece : {size_t{1}, size_t{64}, size_t{99}, size_t{2500}, size_t{10'000}}) {
    for (const size_t part_bytes : {size_t{100}, size_t{512}, size_t{3000}}) {
      Checksums sums(DigestKind::kCrc32c, 64);
      constexpr size_t kSealed = 7'777;
      size_t part_begin = 0;
      std::vector<uint32_t> blocks;
      for (size_t at = 0; at < all.size();) {
        size_t length = std::min({piece, all.size() - at, part_begin + part_bytes - at});
        if (at < kSealed) length = std::min(length, kSealed - at);
        sums.Update(all.subspan(at, length));
        at += length;
        if (at == kSealed) blocks = sums.SealBlocks();
        if (at == part_begin + part_bytes) {
          ASSERT_EQ(sums.EndPart(), Crc32c(all.subspan(part_begin, part_bytes)));
          part_begin = at;
        }
      }
      EXPECT_EQ(sums.EndPart(), Crc32c(all.subspan(part_begin)));
      ASSERT_EQ(blocks.size(), (kSealed + 63) / 64);
      for (size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_EQ(blocks[i], Crc32c(all.subspan(i * 64, std::min<size_t>(64, kSealed - i * 64))));
      }
      EXPECT_EQ(sums.SealBlocks(), blocks);
      EXPECT_EQ(sums.tail_offset(), kSealed);
      EXPECT_EQ(sums.tail_crc32c(), Crc32c(all.subspan(kSealed)));
      EXPECT_EQ(sums.crc32c(), Crc32c(all));
      EXPECT_EQ(sums.size(), all.size());
      EXPECT_EQ(sums.FinishDigest(), DigestOf(DigestKind::kCrc32c, Body(all)));
    }
  }
}

TEST(ChecksumsTest, Sha256IsOfTheWholeAndPartsHaveTheirSumsAllTheSame) {
  const std::string noise = Noise(1000);
  Checksums sums(DigestKind::kSha256, 64);
  sums.Update(AsBytes(noise).first(400));
  EXPECT_EQ(sums.EndPart(), Crc32c(AsBytes(noise).first(400)));
  sums.Update(AsBytes(noise).subspan(400));
  EXPECT_EQ(sums.crc32c(), Crc32c(AsBytes(noise)));
  EXPECT_EQ(sums.FinishDigest(), DigestOf(DigestKind::kSha256, Body(AsBytes(noise))));
}

TEST(ChecksumsTest, NothingHasNoBlocksAndAnEmptyTail) {
  Checksums sums(DigestKind::kCrc32c, 64);
  EXPECT_FALSE(sums.tail_offset());
  EXPECT_TRUE(sums.SealBlocks().empty());
  EXPECT_EQ(sums.tail_offset(), 0U);
  EXPECT_EQ(sums.tail_crc32c(), 0U);
  EXPECT_EQ(sums.FinishDigest(), "crc32c:00000000");
}

}  // namespace
}  // namespace airfreight
