// Which requests an administrator's verbs make, on a server that a test scripts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "conformance/matchers.h"
#include "http/test_server.h"
#include "store/azure/azure_store.h"
#include "store/cloud/test_store.h"

namespace airfreight::azure {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::ElementsAre;

std::unique_ptr<AzureStore> OpenAt(const TestServer& server) {
  const auto options = ParseAzureOptions({{"endpoint_url", server.url() + "/account"},
                                          {"account", "account"},
                                          {"account_key", "a2V5"}});
  return airfreight::testing::MakeStore<AzureStore>("az", "box", options, {});
}

// Method and target, and a condition.
std::vector<std::string> ConditionalLines(const TestServer& server) {
  std::vector<std::string> lines = airfreight::testing::Lines(server);
  const std::vector<SeenRequest> requests = server.requests();
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const char* const name : {"If-Match", "If-None-Match"}) {
      if (const auto value = requests[i].headers.Find(name)) {
        lines[i] += std::string(" ") + name + ": " + std::string(*value);
      }
    }
  }
  return lines;
}

ScriptedReply Refusal(int status, const std::string& code) {
  return ScriptedReply::Http(status, {{"x-ms-error-code", code}},
                             "<Error><Code>" + code + "</Code></Error>");
}

ScriptedReply Accepted() { return ScriptedReply::Http(202, {}, ""); }

TEST(AzureAdministrationTest, VersionsAndSnapshotsAreOneRequestEach) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "DELETE") return Accepted();
    if (seen.method == "HEAD") return ScriptedReply::Http(200, {{"ETag", "\"0x1\""}}, "");
    return ScriptedReply::Http(200, {}, "<EnumerationResults/>");
  });
  const auto store = OpenAt(server);
  EXPECT_TRUE(store->capabilities().versions);
  EXPECT_TRUE(store->capabilities().uploads);
  ASSERT_TRUE(IsOk(store->ListVersions("d/", "", 10, {})));
  ASSERT_TRUE(IsOk(store->HeadVersion("d/k", "version=t:1", {})));
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "version=t:1", {})));
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "snapshot=t", {})));
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "etag=\"0x1\"", {})));
  ASSERT_TRUE(IsOk(store->ListUploads("d/", "", 10, {})));
  EXPECT_TRUE(IsError(store->RemoveVersion("d/k", "t", {}), ErrorCode::kInvalid));
  EXPECT_THAT(ConditionalLines(server),
              ElementsAre("GET /account/box?restype=container&comp=list&maxresults=10&"
                          "prefix=xcom%2Fd%2F&include=snapshots%2Cversions",
                          "HEAD /account/box/xcom/d/k?versionid=t%3A1",
                          "DELETE /account/box/xcom/d/k?versionid=t%3A1",
                          "DELETE /account/box/xcom/d/k?snapshot=t",
                          "DELETE /account/box/xcom/d/k If-Match: \"0x1\"",
                          "GET /account/box?restype=container&comp=list&maxresults=10&"
                          "prefix=xcom%2Fd%2F&include=uncommittedblobs"));
}

TEST(AzureAdministrationTest, TheCurrentVersionBecomesAnEarlierOneFirst) {
  bool demoted = false;
  TestServer server([&](const SeenRequest& seen) {
    if (seen.method == "HEAD") return ScriptedReply::Http(200, {{"ETag", "\"0x1\""}}, "", false);
    if (seen.target.find("versionid") == std::string::npos) {
      demoted = true;
      return Accepted();
    }
    return demoted ? Accepted() : Refusal(403, "OperationNotAllowedOnRootBlob");
  });
  const auto store = OpenAt(server);
  ASSERT_TRUE(IsOk(store->RemoveVersion("d/k", "version=t", {})));
  EXPECT_THAT(ConditionalLines(server),
              ElementsAre("DELETE /account/box/xcom/d/k?versionid=t",
                          "HEAD /account/box/xcom/d/k?versionid=t",
                          "DELETE /account/box/xcom/d/k If-Match: \"0x1\"",
                          "DELETE /account/box/xcom/d/k?versionid=t"));
}

TEST(AzureAdministrationTest, WhatWasReplacedMeanwhileIsNotItsSuccessor) {
  TestServer server([](const SeenRequest&) { return Refusal(412, "ConditionNotMet"); });
  EXPECT_TRUE(IsOk(OpenAt(server)->RemoveVersion("d/k", "etag=\"0x1\"", {})));
}

TEST(AzureAdministrationTest, AnAccountWithoutVersionsIsAskedForItsSnapshots) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.target.find("versions") != std::string::npos) {
      return Refusal(409, "FeatureNotSupportedForHierarchicalNamespaceAccounts");
    }
    return ScriptedReply::Http(200, {}, "<EnumerationResults/>");
  });
  EXPECT_TRUE(IsOk(OpenAt(server)->ListVersions("", "", 10, {})));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(AzureAdministrationTest, BlocksGoWithAnEmptyListThatIsCommitted) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method == "PUT") return ScriptedReply::Http(201, {{"ETag", "\"0x2\""}}, "");
    return Accepted();
  });
  ASSERT_TRUE(IsOk(OpenAt(server)->AbortUpload("d/k", "blocks", {})));
  EXPECT_THAT(ConditionalLines(server),
              ElementsAre("PUT /account/box/xcom/d/k?comp=blocklist If-None-Match: *",
                          "DELETE /account/box/xcom/d/k If-Match: \"0x2\""));
}

TEST(AzureAdministrationTest, ABlobThatIsThereIsNoUpload) {
  TestServer server([](const SeenRequest&) { return Refusal(409, "BlobAlreadyExists"); });
  const auto store = OpenAt(server);
  EXPECT_TRUE(IsOk(store->AbortUpload("d/k", "blocks", {})));
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(IsError(store->AbortUpload("d/k", "other", {}), ErrorCode::kInvalid));
}

}  // namespace
}  // namespace airfreight::azure
