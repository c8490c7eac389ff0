#include "base/percent.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace airfreight {
namespace {

TEST(PercentTest, EveryByteOutsideTheSetIsEncodedInUpperCase) {
  for (int i = 0; i < 256; ++i) {
    const std::string byte(1, static_cast<char>(i));
    const std::string encoded = PercentEncode(byte, kUriUnreserved);
    const bool unreserved = (i >= '0' && i <= '9') || (i >= 'A' && i <= 'Z') ||
                            (i >= 'a' && i <= 'z') || i == '-' || i == '.' || i == '_' || i == '~';
    if (unreserved) {
      EXPECT_EQ(encoded, byte);
    } else {
      char expected[4];
      snprintf(expected, sizeof expected, "%%%02X", static_cast<unsigned>(i));
      EXPECT_EQ(encoded, expected);
    }
    EXPECT_EQ(PercentDecode(encoded), byte);
  }
}

TEST(PercentTest, PathKeepsItsSeparators) {
  EXPECT_EQ(PercentEncode("a b/c%3A", kUriPath), "a%20b/c%253A");
}

TEST(PercentTest, DecodingIsStrict) {
  for (const char* wrong : {"%", "%4", "a%", "%4g", "%g4", "%%41", "% 1"}) {
    EXPECT_FALSE(PercentDecode(wrong)) << wrong;
  }
  EXPECT_EQ(PercentDecode("%3a%3A+"), "::+");
  EXPECT_EQ(PercentDecode("%00"), std::string(1, '\0'));
}

}  // namespace
}  // namespace airfreight
