#include "store/gcs/gcs_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "conformance/matchers.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/gcs/test_store.h"

namespace airfreight::gcs {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A store in front of a scripted server, with a fixed clock and nothing from this machine's
// settings.
class GcsStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<GcsStore> Open(const TestServer& server, StoreSettings settings = {}) {
    return OpenAt(server, std::move(settings), environment_);
  }

  FakeEnvironment environment_;
  Context context_;
};

ScriptedReply Resource(std::string_view body, const std::string& crc32c = "") {
  const std::string crc = crc32c.empty() ? Crc32cText(Crc32c(AsBytes(body))) : crc32c;
  return ScriptedReply::Http(200, {},
                             R"({"name":"k","size":")" + std::to_string(body.size()) +
                                 R"(","generation":"17","crc32c":")" + crc + R"("})");
}

ScriptedReply Media(const std::string& body, Headers headers = {}) {
  headers.Set("x-goog-generation", "17");
  if (!headers.Find("x-goog-hash")) {
    headers.Set("x-goog-hash", "crc32c=" + Crc32cText(Crc32c(AsBytes(body))));
  }
  return ScriptedReply::Http(200, headers, body);
}

TEST_F(GcsStoreTest, EachVerbIsOneRequestWithTheToken) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "POST") return Resource("body");
    if (seen.method == "DELETE") return ScriptedReply::Http(204, {}, "", false);
    if (seen.target.starts_with("/bucket/")) return Media("body", {{"x-goog-meta-w", "7f"}});
    if (seen.target.find("maxResults") != std::string::npos) {
      return ScriptedReply::Http(200, {}, "{}");
    }
    return Resource("body");
  });
  const auto store = Open(server);
  const auto put = store->Put("a/k", Body("body"), {}, context_);
  ASSERT_TRUE(IsOk(put));
  EXPECT_EQ(put->version, "17");
  const auto got = store->Get("a/k", {}, context_);
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "body");
  // Comes with the bytes: who wrote an object needs no second request.
  EXPECT_EQ(got->info.metadata.at("w"), "7f");
  ASSERT_TRUE(IsOk(store->Head("a/k", context_)));
  ASSERT_TRUE(store->Remove("a/k", {}, context_).has_value());
  ASSERT_TRUE(IsOk(store->List("", "", 10, context_)));
  std::vector<std::string> seen;
  for (const SeenRequest& request : server.requests()) {
    seen.push_back(request.method + " " + request.target.substr(0, request.target.find('?')));
    EXPECT_EQ(request.headers.Get("Authorization"), "Bearer ya29");
  }
  EXPECT_THAT(seen, ElementsAre("POST /upload/storage/v1/b/bucket/o", "GET /bucket/xcom/a/k",
                                "GET /storage/v1/b/bucket/o/xcom%2Fa%2Fk",
                                "DELETE /storage/v1/b/bucket/o/xcom%2Fa%2Fk",
                                "GET /storage/v1/b/bucket/o"));
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(GcsStoreTest, AnonymousSendsNoToken) {
  TestServer server([](const SeenRequest&) { return Media("body"); });
  ASSERT_TRUE(IsOk(Open(server, {{"anonymous", "true"}})->Get("k", {}, context_)));
  EXPECT_FALSE(server.requests().at(0).headers.Find("Authorization"));
}

// Both ways: what is sent carries a checksum that the store compares, and what it confirms and what
// it sends is compared here.
TEST_F(GcsStoreTest, BytesThatAreNotThoseThatWereSentAreNoSuccess) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "POST") return Resource("body", "AAAAAA==");
    return Media("body", {{"x-goog-hash", "crc32c=AAAAAA==,md5=x"}});
  });
  const auto store = Open(server);
  EXPECT_TRUE(IsError(store->Put("k", Body("body"), {}, context_), ErrorCode::kInternal));
  EXPECT_THAT(server.requests().at(0).body,
              HasSubstr("\"crc32c\":\"" + Crc32cText(Crc32c(AsBytes("body")))));
  const auto got = store->Get("k", {}, context_);
  ASSERT_TRUE(IsError(got, ErrorCode::kCorrupt));
  EXPECT_FALSE(got.error().retryable);
}

// It is the whole object's.
TEST_F(GcsStoreTest, AChecksumIsNotComparedWithAPart) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(206,
                               {{"x-goog-generation", "17"},
                                {"x-goog-hash", "crc32c=AAAAAA=="},
                                {"Content-Range", "bytes 1-2/4"}},
                               "od");
  });
  GetOptions options;
  options.offset = 1;
  options.length = 2;
  const auto got = Open(server)->Get("k", options, context_);
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "od");
  EXPECT_EQ(got->info.size, 4U);
}

TEST_F(GcsStoreTest, ATokenThatIsRefusedAndTheOnlyOneIsSentOnceAndNotShown) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(401, {}, R"({"error":{"message":"Invalid Credentials"}})");
  });
  const auto got = Open(server)->Get("k", {}, context_);
  ASSERT_TRUE(IsError(got, ErrorCode::kDenied));
  EXPECT_THAT(got.error().ToString(), Not(HasSubstr("ya29")));
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(GcsStoreTest, AnotherTokenIsTriedWhereThereIsOne) {
  int tokens = 0;
  TestServer server([&](const SeenRequest& seen) {
    if (seen.target == "/token") {
      const std::string name = "token-" + std::to_string(++tokens);
      return ScriptedReply::Http(200, {},
                                 R"({"access_token":")" + name + R"(","expires_in":3600})");
    }
    if (seen.headers.Get("Authorization") == "Bearer token-2") return Media("body");
    return ScriptedReply::Http(401, {}, R"({"error":{"message":"Invalid Credentials"}})");
  });
  environment_.files["/key.json"] = R"({"type":"authorized_user","client_id":"c",
      "client_secret":"s","refresh_token":"r","token_uri":")" +
                                    server.url() + R"(/token"})";
  const auto store = Open(server, {{"key_path", "/key.json"}});
  ASSERT_TRUE(IsOk(store->Get("k", {}, context_)));
  ASSERT_TRUE(IsOk(store->Get("k", {}, context_)));
  // Two tokens, one refused read and two that were answered.
  EXPECT_EQ(server.requests().size(), 5U);
}

TEST_F(GcsStoreTest, AWrongKeyIsRefusedBeforeAByteIsSent) {
  TestServer server([](const SeenRequest&) { return Resource("body"); });
  PutOptions put;
  put.encryption_key = "alias/xcom";
  const auto store = Open(server);
  EXPECT_TRUE(IsError(store->Put("k", Body("body"), put, context_), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(store->StartUpload("k", put, context_), ErrorCode::kInvalid));
  EXPECT_EQ(server.accepted(), 0);
}

// In a bucket with a hierarchical namespace an empty folder of each upload would stay.
TEST_F(GcsStoreTest, PartsOfAllUploadsLieInOneFolder) {
  TestServer server([](const SeenRequest&) { return Resource("part"); });
  const auto upload = Open(server)->StartUpload("a/k", {}, context_);
  ASSERT_TRUE(IsOk(upload));
  const uint32_t crc32c = Crc32c(AsBytes("part"));
  ASSERT_TRUE(IsOk((*upload)->PutPart(1, 0, Body("part"), crc32c, context_)));
  const std::string target = server.requests().at(0).target;
  const std::string folder = "name=xcom%2F~parts%2F";
  const size_t at = target.find(folder);
  ASSERT_NE(at, std::string::npos);
  const size_t begin = at + folder.size();
  EXPECT_EQ(target.substr(begin, target.find('&', at) - begin).find("%2F"), std::string::npos);
}

TEST_F(GcsStoreTest, ErrorsSayWhere) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(404, {}, "<Error><Code>NoSuchKey</Code></Error>");
  });
  const auto got = Open(server)->Get("a/k", {}, context_);
  ASSERT_TRUE(IsError(got, ErrorCode::kNotFound));
  EXPECT_EQ(got.error().store, "gs://bucket/xcom");
  EXPECT_EQ(got.error().key, "a/k");
  EXPECT_EQ(got.error().service_code, "NoSuchKey");
}

}  // namespace
}  // namespace airfreight::gcs
