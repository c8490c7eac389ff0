#include "store/azure/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"

namespace airfreight::azure {
namespace {

std::string Page(const std::string& blobs, const std::string& next = "") {
  return "<?xml version=\"1.0\"?><EnumerationResults><Blobs>" + blobs + "</Blobs><NextMarker>" +
         next + "</NextMarker></EnumerationResults>";
}

std::string Blob(const std::string& name, const std::string& more,
                 const std::string& properties =
                     "<Content-Length>3</Content-Length>"
                     "<Etag>0x1</Etag>"
                     "<Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT"
                     "</Last-Modified>") {
  return "<Blob><Name>" + name + "</Name>" + more + "<Properties>" + properties +
         "</Properties></Blob>";
}

TEST(AzureVersionsTest, VersionsSnapshotsAndBlobsAreToldApart) {
  const auto page = DecodeVersions(
      Page(
          Blob("xcom/a", "<VersionId>t1</VersionId>") +
              Blob("xcom/a", "<VersionId>t1</VersionId><Snapshot>t2</Snapshot>") +
              Blob("xcom/a", "<VersionId>t3</VersionId><IsCurrentVersion>true</IsCurrentVersion>") +
              Blob("xcom/b", "") +
              Blob("xcom/folder", "", "<ResourceType>directory</ResourceType>"),
          "n"),
      "xcom/");
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->versions.size(), 4u);
  EXPECT_EQ(page->versions[0].id, "version=t1");
  EXPECT_FALSE(page->versions[0].latest);
  EXPECT_EQ(page->versions[1].id, "snapshot=t2");
  EXPECT_FALSE(page->versions[1].latest);
  EXPECT_EQ(page->versions[2].id, "version=t3");
  EXPECT_TRUE(page->versions[2].latest);
  EXPECT_EQ(page->versions[3].id, "etag=\"0x1\"");
  EXPECT_TRUE(page->versions[3].latest);
  EXPECT_EQ(page->versions[3].object.key, "b");
  EXPECT_EQ(page->versions[3].object.modified_unix, 1767225600);
  EXPECT_EQ(page->next_token, "n");
}

TEST(AzureVersionsTest, BlobsOfBlocksAloneAreUploads) {
  const auto page =
      DecodeUploads(Page(Blob("xcom/a", "", "<Content-Type>text/plain</Content-Type>") +
                         Blob("xcom/b", "",
                              "<Creation-Time>Thu, 01 Jan 2026 00:00:00 GMT</Creation-Time>"
                              "<Content-Length>0</Content-Length>")),
                    "xcom/");
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->uploads.size(), 1u);
  EXPECT_EQ(page->uploads[0].key, "b");
  EXPECT_EQ(page->uploads[0].id, kBlocksId);
  EXPECT_EQ(page->uploads[0].started_unix, 1767225600);
}

TEST(AzureVersionsTest, NamesOfVersionsGoThereAndBack) {
  for (const VersionName::Kind kind :
       {VersionName::Kind::kVersion, VersionName::Kind::kSnapshot, VersionName::Kind::kBlob}) {
    const std::string id = PrintVersionName({kind, "2026-01-01T00:00:00.0000000Z"});
    const auto parsed = ParseVersionName(id);
    ASSERT_TRUE(parsed) << id;
    EXPECT_EQ(parsed->kind, kind);
    EXPECT_EQ(parsed->value, "2026-01-01T00:00:00.0000000Z");
  }
  EXPECT_FALSE(ParseVersionName("version="));
  EXPECT_FALSE(ParseVersionName("2026-01-01T00:00:00.0000000Z"));
}

TEST(AzureVersionsTest, WhatIsNoListIsAnError) {
  for (const std::string& text : {std::string(), std::string("<Error/>"), Page(Blob("other/a", "")),
                                  Page(Blob("xcom/a", "", "<Etag>0x1</Etag>")),
                                  Page(Blob("xcom/a", "", "<Content-Length>3</Content-Length>")),
                                  Page("", std::string(5000, 'n'))}) {
    EXPECT_TRUE(IsError(DecodeVersions(text, "xcom/"), ErrorCode::kInternal)) << text;
  }
  EXPECT_TRUE(IsError(DecodeUploads("<Error/>", "xcom/"), ErrorCode::kInternal));
}

}  // namespace
}  // namespace airfreight::azure
