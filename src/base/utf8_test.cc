#include "base/utf8.h"

#include <gtest/gtest.h>

namespace airfreight {
namespace {

// What RFC 3629 says of each code point, in the plainest way, to compare with.
std::string Encode(char32_t code) {
  const auto byte = [](char32_t bits) {
    return static_cast<char>(static_cast<unsigned char>(bits));
  };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) {
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)),
          byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
}

TEST(Utf8Test, EveryCodePointButSurrogatesIsWellFormed) {
  for (char32_t code = 0; code < 0x120000; ++code) {
    const std::string text = Encode(code);
    const bool legal = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
    const size_t length = Utf8LengthAt(text, 0);
    ASSERT_EQ(length, legal ? text.size() : 0) << static_cast<unsigned>(code);
    if (legal) {
      ASSERT_EQ(Utf8CodePointAt(text, 0, length), code);
    }
  }
}

TEST(Utf8Test, OverlongCutAndStrayBytesAreNot) {
  for (const char* wrong :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80",
        "\xF0\x8F\xBF\xBF", "\xC3", "\xE6\xBC", "\xF0\x9F\x9A", "\xC3(", "\xE6(\xA2",
        "\xF0\x9F(\xA2", "\xF5\x80\x80\x80", "\xFE", "\xFF", "a\xC3"}) {
    EXPECT_FALSE(IsUtf8(wrong)) << wrong;
  }
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("aé漢🚢"));
}

TEST(Utf8Test, VisibleTextShowsWhatCannotBeShown) {
  EXPECT_EQ(VisibleText(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(VisibleText("\x1B[31m\n\x7F"), "\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(VisibleText("\xED\xA0\x80\xFF"), "\\xed\\xa0\\x80\\xff");
  EXPECT_EQ(VisibleText("aé漢🚢"), "aé漢🚢");
}

}  // namespace
}  // namespace airfreight
