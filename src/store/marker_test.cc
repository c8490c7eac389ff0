#include "store/marker.h"

#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

TEST(MarkerTest, WhatIsPrintedIsParsed) {
  using namespace std::string_literals;
  for (const Marker& marker :
       {Marker{}, Marker{"a/b", ""}, Marker{"", "id"}, Marker{"a?b%/ü\n\0c"s, "x?y=&z"}}) {
    const std::string token = PrintMarker(marker);
    for (const char c : token) EXPECT_TRUE(c > 0x20 && c < 0x7f) << token;
    const auto parsed = ParseMarker(token);
    ASSERT_TRUE(IsOk(parsed)) << token;
    EXPECT_EQ(*parsed, marker);
  }
}

TEST(MarkerTest, WhatIsNoneIsInvalid) {
  for (const char* const token : {"a", "a%zz?b", "a?%"}) {
    EXPECT_TRUE(IsError(ParseMarker(token), ErrorCode::kInvalid)) << token;
  }
}

}  // namespace
}  // namespace airfreight
