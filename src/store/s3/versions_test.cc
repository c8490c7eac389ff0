#include "store/s3/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"

namespace airfreight::s3 {
namespace {

using testing::HasSubstr;

// As AWS has it (docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html, "Sample
// response").
constexpr char kVersions[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    "<ListVersionsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01\">"
    "<Name>bucket</Name><Prefix>xcom/</Prefix><EncodingType>url</EncodingType>"
    "<NextKeyMarker>xcom/d/a+b%2Bc</NextKeyMarker><NextVersionIdMarker>v1</NextVersionIdMarker>"
    "<IsTruncated>true</IsTruncated>"
    "<DeleteMarker><Key>xcom/d/a+b%2Bc</Key><VersionId>m1</VersionId><IsLatest>true</IsLatest>"
    "<LastModified>2026-01-01T00:00:01.000Z</LastModified></DeleteMarker>"
    "<Version><Key>xcom/d/a+b%2Bc</Key><VersionId>v1</VersionId><IsLatest>false</IsLatest>"
    "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"e\"</ETag><Size>7</Size>"
    "</Version></ListVersionsResult>";

TEST(S3VersionsTest, VersionsAndMarksComeInTheirOrder) {
  const auto page = DecodeVersions(kVersions, "xcom/");
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->versions.size(), 2u);
  const VersionInfo& mark = page->versions[0];
  EXPECT_EQ(mark.object.key, "d/a b+c");
  EXPECT_EQ(mark.id, "m1");
  EXPECT_TRUE(mark.latest);
  EXPECT_TRUE(mark.removal);
  EXPECT_EQ(mark.object.modified_unix, 1767225601);
  const VersionInfo& version = page->versions[1];
  EXPECT_EQ(version.object.key, "d/a b+c");
  EXPECT_EQ(version.id, "v1");
  EXPECT_FALSE(version.latest);
  EXPECT_FALSE(version.removal);
  EXPECT_EQ(version.object.size, 7u);
  EXPECT_EQ(version.object.version, "\"e\"");
  // The next page begins behind the key as it is, not as it is spelt.
  EXPECT_EQ(page->next_token, "xcom/d/a%20b%2Bc?v1");
}

TEST(S3VersionsTest, TheLastPageHasNoToken) {
  const auto page = DecodeVersions(
      "<ListVersionsResult><IsTruncated>false</IsTruncated></ListVersionsResult>", "");
  ASSERT_TRUE(IsOk(page));
  EXPECT_TRUE(page->versions.empty());
  EXPECT_EQ(page->next_token, "");
}

TEST(S3VersionsTest, WhatIsNoListOfVersionsIsAnError) {
  const std::string version = "<ListVersionsResult><Version><Key>xcom/k</Key>";
  const std::string end = "</Version></ListVersionsResult>";
  for (const std::string& text : {
           std::string("no XML"),
           std::string("<ListBucketResult/>"),
           version + "<Size>1</Size>" + end,
           version + "<VersionId>v</VersionId>" + end,
           version + "<VersionId>" + std::string(3000, 'v') + "</VersionId><Size>1</Size>" + end,
           std::string("<ListVersionsResult><IsTruncated>true</IsTruncated></ListVersionsResult>"),
           std::string("<ListVersionsResult><Version><Key>other/k</Key><VersionId>v</VersionId>"
                       "<Size>1</Size></Version></ListVersionsResult>"),
       }) {
    EXPECT_TRUE(IsError(DecodeVersions(text, "xcom/"), ErrorCode::kInternal)) << text;
  }
}

TEST(S3VersionsTest, UploadsAreReadWithTheirTime) {
  const auto page = DecodeUploads(
      "<ListMultipartUploadsResult><EncodingType>url</EncodingType>"
      "<NextKeyMarker>xcom/d/k</NextKeyMarker><NextUploadIdMarker>u?1</NextUploadIdMarker>"
      "<IsTruncated>true</IsTruncated><Upload><Key>xcom/d/k</Key><UploadId>u?1</UploadId>"
      "<Initiated>2026-01-01T00:00:00.000Z</Initiated></Upload></ListMultipartUploadsResult>",
      "xcom/");
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->uploads.size(), 1u);
  EXPECT_EQ(page->uploads[0].key, "d/k");
  EXPECT_EQ(page->uploads[0].id, "u?1");
  EXPECT_EQ(page->uploads[0].started_unix, 1767225600);
  EXPECT_EQ(page->next_token, "xcom/d/k?u%3F1");
}

TEST(S3VersionsTest, WhatIsNoListOfUploadsIsAnError) {
  for (const char* const text :
       {"", "<ListVersionsResult/>",
        "<ListMultipartUploadsResult><Upload><Key>xcom/k</Key></Upload>"
        "</ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>u</UploadId></Upload>"
        "</ListMultipartUploadsResult>"}) {
    const auto page = DecodeUploads(text, "xcom/");
    EXPECT_TRUE(IsError(page, ErrorCode::kInternal)) << text;
    if (!page) {
      EXPECT_THAT(page.error().message, HasSubstr("is not S3's"));
    }
  }
}

}  // namespace
}  // namespace airfreight::s3
