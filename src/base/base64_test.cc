#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace airfreight {
namespace {

// www.rfc-editor.org/rfc/rfc4648#section-10
const std::pair<std::string, std::string> kVectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
};

TEST(Base64, TheVectorsOfItsSpecification) {
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(Base64Encode(AsBytes(bytes)), text);
    EXPECT_EQ(Base64Decode(text), bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (size_t length = 0; length <= all.size(); ++length) {
    const std::string bytes = all.substr(all.size() - length);
    EXPECT_EQ(Base64Decode(Base64Encode(AsBytes(bytes))), bytes);
  }
}

TEST(Base64, WhatIsNotOneTextOfSomeBytesIsRefused) {
  for (const char* const text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=",
                                 "Zm9v\n", "Zm 9", "-_-_", "Zg==Zg=="}) {
    EXPECT_EQ(Base64Decode(text), std::nullopt) << text;
  }
}

TEST(Base64, ForUrlsNoCharacterNeedsEncoding) {
  EXPECT_EQ(Base64UrlEncode(AsBytes("\xfb\xff\xfe")), "-__-");
  EXPECT_EQ(Base64UrlEncode(AsBytes("f")), "Zg");
}

}  // namespace
}  // namespace airfreight
