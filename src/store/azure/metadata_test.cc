#include "store/azure/metadata.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace airfreight::azure {
namespace {

TEST(AzureMetadata, NamesAreIdentifiersAndComeBack) {
  EXPECT_EQ(EncodeMetadataName("af-write"), "af_write");
  EXPECT_EQ(EncodeMetadataName("9lives"), "n_9lives");
  std::set<std::string> seen;
  for (const char* const name : {"af-write", "a", "-", "--", "-9", "9", "9-9", "n", "n-", "n-9",
                                 "n9", "n--9", "-n-9", "n-n-9", "a-b-c", "ab"}) {
    const std::string encoded = EncodeMetadataName(name);
    EXPECT_EQ(encoded.find('-'), std::string::npos) << name;
    EXPECT_FALSE(encoded.front() >= '0' && encoded.front() <= '9') << name;
    EXPECT_EQ(DecodeMetadataName(encoded), name);
    EXPECT_TRUE(seen.insert(encoded).second) << name;
  }
}

TEST(AzureMetadata, TheCaseOfANameIsNotToldApart) {
  EXPECT_EQ(DecodeMetadataName("Af_Write"), "af-write");
}

TEST(AzureMetadata, ValuesHoldNoBlanksThatAreFolded) {
  EXPECT_EQ(EncodeMetadataValue("a b"), "a b");
  EXPECT_EQ(EncodeMetadataValue("x "), "x%20");
  EXPECT_EQ(EncodeMetadataValue(" x"), "%20x");
  EXPECT_EQ(EncodeMetadataValue("a   b"), "a %20%20b");
  EXPECT_EQ(EncodeMetadataValue("prod%2Feu"), "prod%252Feu");
  for (const char* const value : {"", " ", "  ", "x ", " x", "a  b", "100%", "%20", "%%", "a b"}) {
    EXPECT_EQ(DecodeMetadataValue(EncodeMetadataValue(value)), value);
  }
}

TEST(AzureMetadata, AValueThatSomeoneElseWroteIsTakenAsItIs) {
  EXPECT_EQ(DecodeMetadataValue("100% right"), "100% right");
}

}  // namespace
}  // namespace airfreight::azure
