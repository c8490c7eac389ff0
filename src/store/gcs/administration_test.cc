// Which requests an administrator's verbs make, on a server that a test scripts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"
#include "http/test_server.h"
#include "store/cloud/test_store.h"
#include "store/gcs/test_store.h"

namespace airfreight::gcs {
namespace {

using ::airfreight::testing::Lines;
using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::ElementsAre;

const std::string kOne(32, '1');
const std::string kTwo(32, '2');

std::string Part(const std::string& upload, const std::string& number, const std::string& key) {
  return R"({"name": "xcom/~parts/)" + upload + "-" + number +
         R"(", "size": "1", "generation": "5", "metadata": {"airfreight-key": ")" + key + R"("}})";
}

TEST(GcsAdministrationTest, VersionsAreOneRequestEach) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "DELETE") return ScriptedReply::Http(204, {}, "", false);
    return ScriptedReply::Http(200, {}, "{}");
  });
  const auto store = OpenAt(server);
  EXPECT_TRUE(store->capabilities().versions);
  EXPECT_TRUE(store->capabilities().uploads);
  ASSERT_TRUE(IsOk(store->ListVersions("d/", "t", 10, {})));
  EXPECT_TRUE(IsError(store->HeadVersion("d/k", "17", {}), ErrorCode::kInternal));  // "{}"
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "17", {})));
  EXPECT_TRUE(IsError(store->RemoveVersion("d/k", "latest", {}), ErrorCode::kInvalid));
  EXPECT_THAT(Lines(server),
              ElementsAre("GET /storage/v1/b/bucket/o?versions=true&maxResults=10&fields="
                          "nextPageToken%2Citems%28name%2Csize%2Cgeneration%2Cupdated%2C"
                          "timeDeleted%29&prefix=xcom%2Fd%2F&pageToken=t",
                          "GET /storage/v1/b/bucket/o/xcom%2Fd%2Fk?fields=name%2Csize%2C"
                          "generation%2Ccrc32c%2Cmetadata%2Cupdated&generation=17",
                          "DELETE /storage/v1/b/bucket/o/xcom%2Fd%2Fk?generation=17"));
}

TEST(GcsAdministrationTest, UploadsAreTheirPartsByWhatTheyBelongTo) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.target.find("pageToken") != std::string::npos) {
      // Goes on with the upload in the middle of which the page before ended.
      return ScriptedReply::Http(200, {}, R"({"items": [)" + Part(kTwo, "0002", "d/k") + "]}");
    }
    return ScriptedReply::Http(200, {},
                               R"({"nextPageToken": "t", "items": [)" +
                                   Part(kOne, "0001", "other/k") + "," + Part(kTwo, "0001", "d/k") +
                                   "]}");
  });
  const auto store = OpenAt(server);
  const auto first = store->ListUploads("d/", "", 2, {});
  ASSERT_TRUE(IsOk(first));
  ASSERT_EQ(first->uploads.size(), 1u);
  EXPECT_EQ(first->uploads[0].key, "d/k");
  EXPECT_EQ(first->uploads[0].id, kTwo);
  const auto second = store->ListUploads("d/", first->next_token, 2, {});
  ASSERT_TRUE(IsOk(second));
  EXPECT_TRUE(second->uploads.empty());
  EXPECT_EQ(second->next_token, "");
}

TEST(GcsAdministrationTest, AnUploadIsEndedByTheRemovalOfEachGenerationOfItsParts) {
  TestServer server([](const SeenRequest& seen) {
    // One is gone by then.
    if (seen.target.find("0002") != std::string::npos) {
      return ScriptedReply::Http(404, {}, R"({"error": {"message": "No such object"}})");
    }
    if (seen.method == "DELETE") return ScriptedReply::Http(204, {}, "", false);
    return ScriptedReply::Http(
        200, {},
        R"({"items": [)" + Part(kOne, "0001", "d/k") + "," + Part(kOne, "0002", "d/k") + "]}");
  });
  const auto store = OpenAt(server);
  ASSERT_TRUE(IsOk(store->AbortUpload("d/k", kOne, {})));
  const auto lines = Lines(server);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].ends_with("&prefix=xcom%2F~parts%2F" + kOne + "-")) << lines[0];
  EXPECT_EQ(lines[1],
            "DELETE /storage/v1/b/bucket/o/xcom%2F~parts%2F" + kOne + "-0001?generation=5");
  EXPECT_EQ(lines[2],
            "DELETE /storage/v1/b/bucket/o/xcom%2F~parts%2F" + kOne + "-0002?generation=5");
  // What could name other objects than parts.
  EXPECT_TRUE(IsError(store->AbortUpload("d/k", "../d/k", {}), ErrorCode::kInvalid));
}

}  // namespace
}  // namespace airfreight::gcs
