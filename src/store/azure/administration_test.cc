// Which requests an administrator's verbs make, on a server that a test scripts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "conformance/matchers.h"
#include "http/curl_transport.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/azure/azure_store.h"

namespace airfreight::azure {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::ElementsAre;

class AzureAdministrationTest : public ::testing::Test {
 protected:
  std::unique_ptr<AzureStore> Open(const TestServer& server) {
    auto options = ParseAzureOptions({{"endpoint_url", server.url() + "/account"},
                                      {"account", "account"},
                                      {"account_key", "a2V5"}});
    EXPECT_TRUE(IsOk(options));
    StoreUri uri;
    uri.scheme = "az";
    uri.bucket = "box";
    uri.prefix = "xcom";
    return std::make_unique<AzureStore>(
        uri, *options, std::make_unique<CurlTransport>(options->transport, environment_.Get()),
        environment_.Get(), [] { return int64_t{1767225600}; });
  }

  // Method and target, and a condition.
  static std::vector<std::string> Lines(const TestServer& server) {
    std::vector<std::string> lines;
    for (const SeenRequest& request : server.requests()) {
      std::string line = request.method + " " + request.target;
      for (const char* const name : {"If-Match", "If-None-Match"}) {
        if (const auto value = request.headers.Find(name)) {
          line += std::string(" ") + name + ": " + std::string(*value);
        }
      }
      lines.push_back(line);
    }
    return lines;
  }

  FakeEnvironment environment_;
};

ScriptedReply Refusal(int status, const std::string& code) {
  return ScriptedReply::Http(status, {{"x-ms-error-code", code}},
                             "<Error><Code>" + code + "</Code></Error>");
}

ScriptedReply Accepted() { return ScriptedReply::Http(202, {}, ""); }

TEST_F(AzureAdministrationTest, VersionsAndSnapshotsAreOneRequestEach) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "DELETE") return Accepted();
    if (seen.method == "HEAD") return ScriptedReply::Http(200, {{"ETag", "\"0x1\""}}, "");
    return ScriptedReply::Http(200, {}, "<EnumerationResults/>");
  });
  const auto store = Open(server);
  EXPECT_TRUE(store->capabilities().versions);
  EXPECT_TRUE(store->capabilities().uploads);
  ASSERT_TRUE(IsOk(store->ListVersions("d/", "", 10, {})));
  ASSERT_TRUE(IsOk(store->HeadVersion("d/k", "version=t:1", {})));
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "version=t:1", {})));
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "snapshot=t", {})));
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "etag=\"0x1\"", {})));
  ASSERT_TRUE(IsOk(store->ListUploads("d/", "", 10, {})));
  EXPECT_TRUE(IsError(store->RemoveVersion("d/k", "t", {}), ErrorCode::kInvalid));
  EXPECT_THAT(Lines(server),
              ElementsAre("GET /account/box?restype=container&comp=list&maxresults=10&"
                          "prefix=xcom%2Fd%2F&include=snapshots%2Cversions",
                          "HEAD /account/box/xcom/d/k?versionid=t%3A1",
                          "DELETE /account/box/xcom/d/k?versionid=t%3A1",
                          "DELETE /account/box/xcom/d/k?snapshot=t",
                          "DELETE /account/box/xcom/d/k If-Match: \"0x1\"",
                          "GET /account/box?restype=container&comp=list&maxresults=10&"
                          "prefix=xcom%2Fd%2F&include=uncommittedblobs"));
}

TEST_F(AzureAdministrationTest, TheCurrentVersionBecomesAnEarlierOneFirst) {
  bool demoted = false;
  TestServer server([&](const SeenRequest& seen) {
    if (seen.method == "HEAD") return ScriptedReply::Http(200, {{"ETag", "\"0x1\""}}, "", false);
    if (seen.target.find("versionid") == std::string::npos) {
      demoted = true;
      return Accepted();
    }
    return demoted ? Accepted() : Refusal(403, "OperationNotAllowedOnRootBlob");
  });
  const auto store = Open(server);
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "version=t", {})));
  EXPECT_THAT(Lines(server), ElementsAre("DELETE /account/box/xcom/d/k?versionid=t",
                                         "HEAD /account/box/xcom/d/k?versionid=t",
                                         "DELETE /account/box/xcom/d/k If-Match: \"0x1\"",
                                         "DELETE /account/box/xcom/d/k?versionid=t"));
}

TEST_F(AzureAdministrationTest, WhatWasReplacedMeanwhileIsNotItsSuccessor) {
  TestServer server([](const SeenRequest&) { return Refusal(412, "ConditionNotMet"); });
  EXPECT_TRUE(IsOk(Open(server)->RemoveVersion("d/k", "etag=\"0x1\"", {})));
}

TEST_F(AzureAdministrationTest, AnAccountWithoutVersionsIsAskedForItsSnapshots) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.target.find("versions") != std::string::npos) {
      return Refusal(409, "FeatureNotSupportedForHierarchicalNamespaceAccounts");
    }
    return ScriptedReply::Http(200, {}, "<EnumerationResults/>");
  });
  EXPECT_TRUE(IsOk(Open(server)->ListVersions("", "", 10, {})));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(AzureAdministrationTest, BlocksGoWithAnEmptyListThatIsCommitted) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "PUT") return ScriptedReply::Http(201, {{"ETag", "\"0x2\""}}, "");
    return Accepted();
  });
  ASSERT_TRUE(IsOk(Open(server)->AbortUpload("d/k", "blocks", {})));
  EXPECT_THAT(Lines(server),
              ElementsAre("PUT /account/box/xcom/d/k?comp=blocklist If-None-Match: *",
                          "DELETE /account/box/xcom/d/k If-Match: \"0x2\""));
}

TEST_F(AzureAdministrationTest, ABlobThatIsThereIsNoUpload) {
  TestServer server([](const SeenRequest&) { return Refusal(409, "BlobAlreadyExists"); });
  const auto store = Open(server);
  EXPECT_TRUE(IsOk(store->AbortUpload("d/k", "blocks", {})));
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(IsError(store->AbortUpload("d/k", "other", {}), ErrorCode::kInvalid));
}

}  // namespace
}  // namespace airfreight::azure
