#include "base/hex.h"

#include <gtest/gtest.h>

namespace airfreight {
namespace {

TEST(HexTest, EveryByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string hex = HexEncode(AsBytes(bytes));
  EXPECT_EQ(hex.substr(0, 8), "00010203");
  EXPECT_EQ(hex.substr(504), "fcfdfeff");
  EXPECT_EQ(HexDecode(hex), bytes);
  EXPECT_EQ(HexDecode("FCfd"), "\xFC\xFD");
  EXPECT_EQ(HexDecode(""), "");
}

TEST(HexTest, WhatIsNotHexDoesNotDecode) {
  for (const char* wrong : {"0", "000", "0g", "g0", " 0", "0x", "-1"}) {
    EXPECT_FALSE(HexDecode(wrong)) << wrong;
  }
}

TEST(HexTest, LowerHexIsOfTheGivenLengthAndCase) {
  EXPECT_TRUE(IsLowerHex("09af", 4));
  EXPECT_TRUE(IsLowerHex("", 0));
  EXPECT_FALSE(IsLowerHex("09af", 3));
  EXPECT_FALSE(IsLowerHex("09AF", 4));
  EXPECT_FALSE(IsLowerHex("09ag", 4));
}

}  // namespace
}  // namespace airfreight
