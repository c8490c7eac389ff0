#include "store/gcs/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"

namespace airfreight::gcs {
namespace {

const std::string kId(32, 'a');

TEST(GcsVersionsTest, GenerationsAreVersionsAndPartsAreNone) {
  const auto page = DecodeVersions(
      R"({"nextPageToken": "t", "items": [
        {"name": "xcom/d/k", "size": "3", "generation": "1", "updated": "2026-01-01T00:00:00Z",
         "timeDeleted": "2026-01-02T00:00:00Z"},
        {"name": "xcom/d/k", "size": "4", "generation": "2", "updated": "2026-01-02T00:00:00Z"},
        {"name": "xcom/~parts/x", "size": "4", "generation": "2"}]})",
      "xcom/");
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->versions.size(), 2u);
  EXPECT_EQ(page->versions[0].object.key, "d/k");
  EXPECT_EQ(page->versions[0].id, "1");
  EXPECT_FALSE(page->versions[0].latest);
  EXPECT_EQ(page->versions[0].object.modified_unix, 1767225600);
  EXPECT_EQ(page->versions[1].id, "2");
  EXPECT_TRUE(page->versions[1].latest);
  EXPECT_EQ(page->versions[1].object.size, 4u);
  EXPECT_EQ(page->next_token, "t");
}

TEST(GcsVersionsTest, PartsTellWhoseTheyAre) {
  const auto page = DecodeParts(
      R"({"items": [{"name": "xcom/~parts/)" + kId +
          R"(-0001", "size": "3", "generation": "1", "timeCreated": "2026-01-01T00:00:00Z",
          "metadata": {"airfreight-key": "d/a%20b"}},
        {"name": "xcom/~parts/)" +
          kId + R"(-g0000", "size": "3", "generation": "2"},
        {"name": "xcom/~parts/other", "size": "3", "generation": "2"},
        {"name": "xcom/~parts/)" +
          kId + R"(", "size": "3", "generation": "2"}]})",
      "xcom/");
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->parts.size(), 2u);
  EXPECT_EQ(page->parts[0].name, "xcom/~parts/" + kId + "-0001");
  EXPECT_EQ(page->parts[0].upload, kId);
  EXPECT_EQ(page->parts[0].object_key, "d/a b");
  EXPECT_EQ(page->parts[0].created_unix, 1767225600);
  EXPECT_EQ(page->parts[1].object_key, "");
}

TEST(GcsVersionsTest, WhatIsNoListIsAnError) {
  for (const char* const text : {
           "",
           "[]",
           R"({"items": {}})",
           R"({"items": [1]})",
           R"({"items": [{"name": "xcom/k", "size": "1"}]})",
           R"({"items": [{"name": "xcom/k", "generation": "1"}]})",
           R"({"items": [{"name": "xcom/k", "size": "1", "generation": "one"}]})",
           R"({"items": [{"name": "other/k", "size": "1", "generation": "1"}]})",
       }) {
    EXPECT_TRUE(IsError(DecodeVersions(text, "xcom/"), ErrorCode::kInternal)) << text;
    EXPECT_TRUE(IsError(DecodeParts(text, "xcom/"), ErrorCode::kInternal)) << text;
  }
  // Of parts, another folder too.
  EXPECT_TRUE(IsError(
      DecodeParts(R"({"items": [{"name": "xcom/k", "size": "1", "generation": "1"}]})", "xcom/"),
      ErrorCode::kInternal));
}

}  // namespace
}  // namespace airfreight::gcs
