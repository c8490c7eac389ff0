#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace airfreight {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

TEST(JsonTest, EveryBasicPlaneCharacterIsReadBackByAnotherParser) {
  for (unsigned code = 0; code < 0x10000; code += code < 0x300 ? 1 : 0xFD) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    const std::string text =
        nlohmann::json::parse(fmt::format("\"\\u{:04x}\"", code)).get<std::string>();
    const std::string quoted = Quoted(text);
    for (char c : quoted) ASSERT_TRUE(c >= 0x20 && c < 0x7F) << code;
    EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(), text) << code;
  }
}

TEST(JsonTest, CharactersBeyondTheBasicPlaneAreSurrogatePairs) {
  EXPECT_EQ(Quoted("🚢"), R"("\ud83d\udea2")");
  EXPECT_EQ(Quoted("\xF0\x90\x80\x80"), R"("\ud800\udc00")");
  EXPECT_EQ(Quoted("\xF4\x8F\xBF\xBF"), R"("\udbff\udfff")");
}

TEST(JsonTest, BytesThatAreNotTextBecomeTheReplacementCharacter) {
  EXPECT_EQ(Quoted("a\xFFz"), R"("a\ufffdz")");
}

TEST(JsonTest, IntegersInEveryFormAreExact) {
  const std::pair<const char*, int64_t> cases[] = {
      {"0", 0},
      {"-0", 0},
      {"0.000", 0},
      {"0e999999999999", 0},
      {"1E+2", 100},
      {"1e2", 100},
      {"100.0", 100},
      {"1200e-2", 12},
      {"12.50E1", 125},
      {"0.001e3", 1},
      {"-1.0", -1},
      {"9223372036854775807", INT64_MAX},
      {"9223372036854775807.0", INT64_MAX},
      {"922337203685477580.7e1", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"9007199254740993.0", 9007199254740993},  // 2^53 + 1: no double.
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(ExactInteger(text), value) << text;
}

TEST(JsonTest, WhatIsNoIntegerOf64BitsIsNone) {
  for (const char* wrong : {"",
                            "-",
                            "+1",
                            "01",
                            "1.",
                            ".5",
                            "1e",
                            "1e+",
                            "0x1",
                            "1 ",
                            " 1",
                            "NaN",
                            "1.5",
                            "1e-1",
                            "0.0001e3",
                            "9223372036854775808",
                            "-9223372036854775809",
                            "1e19",
                            "99999999999999999999",
                            "1e999999999999",
                            "1e-999999999999",
                            "18446744073709551616"}) {
    EXPECT_FALSE(ExactInteger(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace airfreight
