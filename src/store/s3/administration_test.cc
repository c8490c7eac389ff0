// Which requests an administrator's verbs make, on a server that a test scripts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"
#include "http/test_server.h"
#include "store/cloud/test_store.h"
#include "store/s3/test_store.h"

namespace airfreight::s3 {
namespace {

using ::airfreight::testing::Lines;
using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(S3AdministrationTest, EachVerbIsOneRequest) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "DELETE") return ScriptedReply::Http(204, {}, "", false);
    if (seen.method == "HEAD") return ScriptedReply::Http(200, {{"ETag", "\"e\""}}, "");
    if (seen.target.find("uploads") != std::string::npos) {
      return ScriptedReply::Http(200, {}, "<ListMultipartUploadsResult/>");
    }
    return ScriptedReply::Http(200, {}, "<ListVersionsResult/>");
  });
  const auto store = OpenAt(server);
  EXPECT_TRUE(store->capabilities().versions);
  EXPECT_TRUE(store->capabilities().uploads);
  ASSERT_TRUE(IsOk(store->ListVersions("d/", "", 10, {})));
  ASSERT_TRUE(IsOk(store->HeadVersion("d/k", "v/1+", {})));
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "v/1+", {})));
  ASSERT_TRUE(IsOk(store->ListUploads("d/", "", 10, {})));
  ASSERT_TRUE(IsOk(store->AbortUpload("d/k", "u 1", {})));
  EXPECT_THAT(
      Lines(server),
      ElementsAre("GET /bucket?encoding-type=url&max-keys=10&prefix=xcom%2Fd%2F&versions=",
                  "HEAD /bucket/xcom/d/k?versionId=v%2F1%2B",
                  "DELETE /bucket/xcom/d/k?versionId=v%2F1%2B",
                  "GET /bucket?encoding-type=url&max-uploads=10&prefix=xcom%2Fd%2F&uploads=",
                  "DELETE /bucket/xcom/d/k?uploadId=u%201"));
}

TEST(S3AdministrationTest, AMarkSaysNothingOfItself) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(405, {}, ""); });
  EXPECT_TRUE(IsError(OpenAt(server)->HeadVersion("k", "m", {}), ErrorCode::kNotFound));
}

TEST(S3AdministrationTest, APageBeginsBehindAKeyAndAVersion) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(
        200, {},
        "<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>xcom/a b</NextKeyMarker>"
        "<NextVersionIdMarker>v1</NextVersionIdMarker></ListVersionsResult>");
  });
  const auto store = OpenAt(server);
  const auto page = store->ListVersions("", "", 1, {});
  ASSERT_TRUE(IsOk(page));
  // The same answer once more: whoever reads all pages must not go on for ever.
  EXPECT_TRUE(IsError(store->ListVersions("", page->next_token, 1, {}), ErrorCode::kInternal));
  EXPECT_EQ(Lines(server)[1],
            "GET /bucket?encoding-type=url&key-marker=xcom%2Fa%20b&max-keys=2&prefix=xcom%2F&"
            "version-id-marker=v1&versions=");
  EXPECT_TRUE(IsError(store->ListVersions("", "not one", 1, {}), ErrorCode::kInvalid));
}

TEST(S3AdministrationTest, AServerThatBeginsWithTheMarkerRepeatsNothing) {
  TestServer server([](const SeenRequest& seen) {
    const bool second = seen.target.find("marker") != std::string::npos;
    const auto version = [](const std::string& key) {
      return "<Version><Key>xcom/" + key + "</Key><VersionId>v</VersionId><Size>1</Size></Version>";
    };
    return ScriptedReply::Http(
        200, {},
        second ? "<ListVersionsResult>" + version("a") + version("b") + "</ListVersionsResult>"
               : "<ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>xcom/a"
                 "</NextKeyMarker><NextVersionIdMarker>v</NextVersionIdMarker>" +
                     version("a") + "</ListVersionsResult>");
  });
  const auto store = OpenAt(server);
  const auto first = store->ListVersions("", "", 1, {});
  ASSERT_TRUE(IsOk(first));
  const auto second = store->ListVersions("", first->next_token, 1, {});
  ASSERT_TRUE(IsOk(second));
  ASSERT_EQ(second->versions.size(), 1u);
  EXPECT_EQ(second->versions[0].object.key, "b");
  EXPECT_EQ(second->next_token, "");
}

TEST(S3AdministrationTest, AServerThatRefusesItsOwnMarkerIsAskedBehindTheKey) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.target.find("upload-id-marker") != std::string::npos) {
      return ScriptedReply::Http(400, {}, "<Error><Code>InvalidArgument</Code></Error>");
    }
    return ScriptedReply::Http(200, {}, "<ListMultipartUploadsResult/>");
  });
  ASSERT_TRUE(IsOk(OpenAt(server)->ListUploads("", "xcom/a?u", 10, {})));
  EXPECT_EQ(Lines(server)[1],
            "GET /bucket?encoding-type=url&key-marker=xcom%2Fa&max-uploads=10&prefix=xcom%2F&"
            "uploads=");
}

TEST(S3AdministrationTest, WhatIsGoneIsASuccessAndADenialIsNot) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.target.find("gone") != std::string::npos) {
      return ScriptedReply::Http(404, {}, "<Error><Code>NoSuchVersion</Code></Error>");
    }
    return ScriptedReply::Http(
        403, {},
        "<Error><Code>AccessDenied</Code><Message>not authorized to perform: "
        "s3:DeleteObjectVersion</Message></Error>");
  });
  const auto store = OpenAt(server);
  EXPECT_TRUE(IsOk(store->RemoveVersion("gone", "v", {})));
  EXPECT_TRUE(IsOk(store->AbortUpload("gone", "u", {})));
  const Status denied = store->RemoveVersion("kept", "v", {});
  EXPECT_TRUE(IsError(denied, ErrorCode::kDenied));
  EXPECT_THAT(denied.error().ToString(), HasSubstr("s3:DeleteObjectVersion"));
  EXPECT_TRUE(IsError(store->ListVersions("", "", 1, {}), ErrorCode::kDenied));
  EXPECT_TRUE(IsError(store->ListUploads("", "", 1, {}), ErrorCode::kDenied));
}

}  // namespace
}  // namespace airfreight::s3
