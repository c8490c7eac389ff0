#include "rules/hint.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight {
namespace {

TEST(HintTest, ANameThatWasMistypedIsFound) {
  const std::vector<std::string_view> known = {"compression", "format", "key", "s3_endpoint_url"};
  EXPECT_EQ(Nearest("fromat", known), "format");
  EXPECT_EQ(Nearest("formatt", known), "format");
  EXPECT_EQ(Nearest("Compresion", known), "compression");
  EXPECT_EQ(Nearest("S3-ENDPOINT", known), "s3_endpoint_url");
  EXPECT_EQ(Nearest("kye", known), "key");
}

TEST(HintTest, WhatIsLikeNoneIsLeftAlone) {
  const std::vector<std::string_view> known = {"compression", "format", "key"};
  for (const std::string_view name : {"", "colour", "keyboards", "x", "f"}) {
    EXPECT_EQ(Nearest(name, known), "") << name;
  }
  EXPECT_EQ(Nearest("format", {}), "");
  EXPECT_EQ(Nearest(std::string(1000, 'f'), known), "");
}

TEST(HintTest, TheNearestOfSeveralIsMeant) {
  EXPECT_EQ(Nearest("dogs", {"dig", "dags", "dag"}), "dags");
  EXPECT_EQ(Nearest("max_sise", {"min_size", "max_size"}), "max_size");
}

TEST(HintTest, AHintIsAQuestionOrWhatElseThereIs) {
  EXPECT_EQ(Hint("fromat", {"format"}, "known are a, b"), "did you mean format?");
  EXPECT_EQ(Hint("colour", {"format"}, "known are a, b"), "known are a, b");
}

}  // namespace
}  // namespace airfreight
