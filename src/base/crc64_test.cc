#include "base/crc64.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace airfreight {
namespace {

uint64_t Of(std::string_view text) { return ExtendCrc64(0, AsBytes(text)); }

std::string Bytes(size_t size) {
  std::string bytes;
  uint32_t state = 1;
  while (bytes.size() < size) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  return bytes;
}

// The check value of the catalogue (reveng.sourceforge.io/crc-catalogue/17plus.htm); the others are
// what azure-storage-extensions 0.1.0, the extension of Azure's own Python client, computes.
TEST(Crc64, KnownAnswers) {
  EXPECT_EQ(Of(""), 0U);
  EXPECT_EQ(Of("123456789"), 0xAE8B14860A799888U);
  EXPECT_EQ(Of("a"), 0x8C2F8445B4CBFC3CU);
  std::string every;
  for (int i = 0; i < 5 * 256; ++i) every += static_cast<char>(i);
  EXPECT_EQ(Of(every), 0x20B2E6D20677D312U);
  std::string repeated;
  for (int i = 0; i < 1000; ++i) repeated += "airfreight";
  EXPECT_EQ(Of(repeated), 0x4110BDE518014BBCU);
}

TEST(Crc64, BothWaysAgreeOnEveryLengthAndPlace) {
  if (!internal::HasHardwareCrc64()) GTEST_SKIP() << "this processor has no such instruction";
  const std::string bytes = Bytes(700);
  for (size_t length = 0; length <= 600; ++length) {
    const ByteView view = AsBytes(bytes).subspan(length % 17, length);
    const uint64_t before = 0x0123456789ABCDEFU * length;
    ASSERT_EQ(internal::ExtendCrc64Hardware(before, view),
              internal::ExtendCrc64Portable(before, view))
        << length;
  }
}

TEST(Crc64, PiecesMakeTheWhole) {
  const std::string bytes = Bytes(1000);
  const uint64_t whole = Of(bytes);
  for (size_t cut = 0; cut <= bytes.size(); cut += 37) {
    const uint64_t first = ExtendCrc64(0, AsBytes(bytes).first(cut));
    EXPECT_EQ(ExtendCrc64(first, AsBytes(bytes).subspan(cut)), whole) << cut;
  }
}

}  // namespace
}  // namespace airfreight
