#include "store/azure/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/matchers.h"
#include "http/curl_transport.h"
#include "http/fake_environment.h"
#include "http/test_server.h"

namespace airfreight::azure {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z
constexpr char kKey[] = "aHVudGVyMg==";

/// A machine of literals.
struct World {
  Result<Credential> Get(const AzureOptions& options = {}) { return Chain(options)->Get({}); }
  std::unique_ptr<CredentialsChain> Chain(const AzureOptions& options = {}) {
    CredentialsAccess access;
    access.network = &network;
    CurlTransportOptions local;
    local.local_service = true;
    access.local = std::make_unique<CurlTransport>(local, FakeEnvironment{}.Get());
    // Where nothing answers, unless a test says otherwise.
    fake.variables.emplace("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1");
    access.environment = fake.Get();
    access.now = [this] { return now.load(); };
    return DefaultCredentials(options, std::move(access));
  }

  FakeEnvironment fake;
  std::atomic<int64_t> now{kNow};
  CurlTransport network{CurlTransportOptions{}, FakeEnvironment{}.Get()};
};

std::string Secretly(const Result<Credential>& credential) {
  return credential ? std::string(credential->secret.Reveal()) : credential.error().ToString();
}

ScriptedReply TokenReply(const std::string& token, const std::string& end) {
  return ScriptedReply::Http(200, {}, R"({"access_token":")" + token + R"(",)" + end + "}");
}

ScriptedReply Lost() {
  ScriptedReply reply;
  reply.reset = true;
  return reply;
}

AzureOptions Options(StoreSettings settings) { return ParseAzureOptions(settings).value(); }

TEST(AzureCredentials, ThoseOfAConnectionGoFirst) {
  World world;
  world.fake.variables["AZURE_STORAGE_KEY"] = "b3RoZXI=";
  EXPECT_EQ(Secretly(world.Get(Options({{"account", "myaccount"}, {"account_key", kKey}}))), kKey);
  EXPECT_EQ(Secretly(world.Get(Options({{"sas_token", "?sv=1&sig=x"}}))), "sv=1&sig=x");
  EXPECT_EQ(Secretly(world.Get(
                Options({{"connection_string", "AccountName=myaccount;AccountKey=Zm9v"}}))),
            "Zm9v");
}

TEST(AzureCredentials, TheVariablesOfTheCommandLine) {
  World world;
  world.fake.variables["AZURE_STORAGE_SAS_TOKEN"] = "?sv=1&sig=x";
  EXPECT_EQ(world.Get()->kind, Credential::Kind::kSas);
  world.fake.variables["AZURE_STORAGE_KEY"] = std::string(kKey) + "\n";
  EXPECT_EQ(Secretly(world.Get()), kKey);
  world.fake.variables["AZURE_STORAGE_CONNECTION_STRING"] = "AccountName=other;AccountKey=Zm9v";
  EXPECT_EQ(Secretly(world.Get()), "Zm9v");
  // That is about another place than the one that is set.
  EXPECT_EQ(Secretly(world.Get(Options({{"account", "myaccount"}}))), kKey);
}

TEST(AzureCredentials, AWrongOneIsAnErrorAndNotPassedOver) {
  World world;
  world.fake.variables["AZURE_STORAGE_KEY"] = "hunter2";
  const auto got = world.Get();
  ASSERT_TRUE(IsError(got, ErrorCode::kInvalid));
  EXPECT_THAT(got.error().message,
              AllOf(HasSubstr("AZURE_STORAGE_KEY"), Not(HasSubstr("hunter2"))));
}

TEST(AzureCredentials, AnApplicationsSecret) {
  TestServer entra([](const SeenRequest& seen) {
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.target, "/tenant-1/oauth2/v2.0/token");
    EXPECT_EQ(seen.body,
              "grant_type=client_credentials&client_id=client-1&scope=https%3A%2F%2Fstorage.azure."
              "com%2F.default&client_secret=s~%2Bcret%26");
    return TokenReply("eyJ1", R"("token_type":"Bearer","expires_in":3599)");
  });
  World world;
  world.fake.variables = {{"AZURE_CLIENT_SECRET", "s~+cret&"},
                          {"AZURE_CLIENT_ID", "client-1"},
                          {"AZURE_TENANT_ID", "tenant-1"},
                          {"AZURE_AUTHORITY_HOST", entra.url()}};
  const auto got = world.Get();
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(got->kind, Credential::Kind::kToken);
  EXPECT_EQ(Secretly(got), "eyJ1");
  // A connection's goes before those variables, and before keys in the environment.
  world.fake.variables = {{"AZURE_STORAGE_KEY", kKey}};
  EXPECT_EQ(Secretly(world.Get(Options({{"tenant_id", "tenant-1"},
                                        {"client_id", "client-1"},
                                        {"client_secret", "s~+cret&"},
                                        {"authority_host", entra.url()}}))),
            "eyJ1");
}

TEST(AzureCredentials, WorkloadIdentityReadsItsFileEachTime) {
  std::vector<std::string> assertions;
  TestServer entra([&](const SeenRequest& seen) {
    assertions.push_back(seen.body.substr(seen.body.rfind('=') + 1));
    return TokenReply("token-" + std::to_string(assertions.size()), R"("expires_in":3600)");
  });
  World world;
  world.fake.variables = {{"AZURE_FEDERATED_TOKEN_FILE", "/var/run/token"},
                          {"AZURE_CLIENT_ID", "client-1"},
                          {"AZURE_TENANT_ID", "tenant-1"},
                          {"AZURE_AUTHORITY_HOST", entra.url()}};
  world.fake.files["/var/run/token"] = "assertion\n";
  const auto chain = world.Chain();
  EXPECT_EQ(Secretly(chain->Get({})), "token-1");
  world.now = kNow + 1800;
  EXPECT_EQ(Secretly(chain->Get({})), "token-1");
  // In its last minutes it is asked for anew.
  world.now = kNow + 3500;
  EXPECT_EQ(Secretly(chain->Get({})), "token-2");
  EXPECT_EQ(assertions, (std::vector<std::string>{"assertion", "assertion"}));
}

TEST(AzureCredentials, WhatAWorkloadLacksIsNamed) {
  World world;
  world.fake.variables = {{"AZURE_FEDERATED_TOKEN_FILE", "/var/run/token"},
                          {"AZURE_TENANT_ID", "tenant-1"}};
  EXPECT_THAT(Secretly(world.Get()), HasSubstr("AZURE_CLIENT_ID"));
  world.fake.variables["AZURE_CLIENT_ID"] = "client-1";
  EXPECT_THAT(Secretly(world.Get()), HasSubstr("'/var/run/token', named by "
                                               "AZURE_FEDERATED_TOKEN_FILE, is not there"));
}

TEST(AzureCredentials, SecretsGoToEntraOverTlsOnly) {
  World world;
  world.fake.variables = {{"AZURE_CLIENT_SECRET", "hunter2"},
                          {"AZURE_CLIENT_ID", "client-1"},
                          {"AZURE_TENANT_ID", "tenant-1"},
                          {"AZURE_AUTHORITY_HOST", "http://login.example.com"}};
  EXPECT_THAT(Secretly(world.Get()),
              AllOf(HasSubstr("Invalid"), HasSubstr("https://"), Not(HasSubstr("hunter2"))));
}

TEST(AzureCredentials, EntrasRefusalIsToldWithoutTheSecret) {
  TestServer entra([](const SeenRequest&) {
    return ScriptedReply::Http(401, {},
                               R"({"error":"invalid_client","error_description":"AADSTS7000215: )"
                               R"(Invalid client secret provided. Trace ID: 1\r\nCorrelation"})");
  });
  World world;
  world.fake.variables = {{"AZURE_CLIENT_SECRET", "hunter2"},
                          {"AZURE_CLIENT_ID", "client-1"},
                          {"AZURE_TENANT_ID", "tenant-1"},
                          {"AZURE_AUTHORITY_HOST", entra.url()}};
  EXPECT_THAT(
      Secretly(world.Get()),
      AllOf(HasSubstr("Denied"), HasSubstr("'client-1'"), HasSubstr("AADSTS7000215"),
            HasSubstr("AZURE_CLIENT_SECRET"), Not(HasSubstr("Trace")), Not(HasSubstr("hunter2"))));
}

TEST(AzureCredentials, TheMachinesIdentity) {
  std::vector<std::string> targets;
  TestServer machine([&](const SeenRequest& seen) {
    targets.push_back(seen.target);
    if (seen.headers.Get("metadata") != "true") return ScriptedReply::Http(400, {}, "");
    return TokenReply("eyJ2", R"("expires_in":"86400","expires_on":"1767312000")");
  });
  World world;
  world.fake.variables["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = machine.url();
  EXPECT_EQ(Secretly(world.Get()), "eyJ2");
  EXPECT_EQ(Secretly(world.Get(Options({{"client_id", "client-1"}}))), "eyJ2");
  const std::string asked =
      "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage."
      "azure.com%2F";
  EXPECT_EQ(targets, (std::vector<std::string>{asked, asked + "&client_id=client-1"}));
}

TEST(AzureCredentials, AppServicesIdentity) {
  TestServer service([](const SeenRequest& seen) {
    EXPECT_EQ(seen.target,
              "/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fstorage.azure.com%2F");
    EXPECT_EQ(seen.headers.Get("x-identity-header"), "header-1");
    return TokenReply("eyJ3", R"("expires_on":"1767312000")");
  });
  World world;
  world.fake.variables = {{"IDENTITY_ENDPOINT", service.url() + "/msi/token"},
                          {"IDENTITY_HEADER", "header-1"}};
  EXPECT_EQ(Secretly(world.Get()), "eyJ3");
}

TEST(AzureCredentials, AnIdentityThatIsNotAssignedIsToldAndAnotherCloudsServicePassedOver) {
  std::string document = R"({"error":"invalid_request","error_description":"Identity not found"})";
  TestServer machine([&](const SeenRequest&) { return ScriptedReply::Http(400, {}, document); });
  World world;
  world.fake.variables["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = machine.url();
  EXPECT_THAT(Secretly(world.Get(Options({{"client_id", "client-1"}}))),
              AllOf(HasSubstr("Denied"), HasSubstr("Identity not found"),
                    HasSubstr("assigned to this machine")));
  document = "<html>";
  EXPECT_THAT(Secretly(world.Get()),
              AllOf(HasSubstr("no credentials for Azure"), HasSubstr("status 400"),
                    HasSubstr("AZURE_STORAGE_KEY"), HasSubstr("AZURE_FEDERATED_TOKEN_FILE")));
}

TEST(AzureCredentials, ALostAnswerOfTheMachineIsAskedForAgain) {
  int asked = 0;
  TestServer machine([&](const SeenRequest&) {
    if (++asked == 1) return Lost();
    return TokenReply("eyJ2", R"("expires_in":"86400")");
  });
  World world;
  world.fake.variables["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = machine.url();
  EXPECT_EQ(Secretly(world.Get()), "eyJ2");
  EXPECT_EQ(asked, 2);
}

TEST(AzureCredentials, AMachinesServiceThatIsThereOrIsNamedIsNotTakenForAbsent) {
  TestServer machine([](const SeenRequest&) { return Lost(); });
  World world;
  world.fake.variables["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = machine.url();
  const auto silent = world.Get();
  ASSERT_TRUE(IsError(silent, ErrorCode::kUnavailable));
  EXPECT_TRUE(silent.error().retryable);
  EXPECT_THAT(silent.error().message, HasSubstr("does not answer"));
  // No connection at all, where an identity is named, and where none is.
  world.fake.variables["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = "http://127.0.0.1:1";
  const auto named = world.Get(Options({{"client_id", "client-1"}}));
  ASSERT_TRUE(IsError(named, ErrorCode::kUnavailable));
  EXPECT_TRUE(named.error().retryable);
  EXPECT_THAT(named.error().message, HasSubstr("'client-1'"));
  EXPECT_THAT(Secretly(world.Get()), HasSubstr("nothing answers at http://127.0.0.1:1"));
}

TEST(AzureCredentials, ACertificateAndAUsersPasswordAreNotPassedOver) {
  for (const char* const name : {"AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME"}) {
    World world;
    world.fake.variables = {{name, "hunter2"}, {"AZURE_CLIENT_ID", "client-1"}};
    const auto got = world.Get();
    ASSERT_TRUE(IsError(got, ErrorCode::kUnsupported)) << name;
    EXPECT_THAT(got.error().message, AllOf(HasSubstr(name), HasSubstr("AZURE_CLIENT_SECRET"),
                                           Not(HasSubstr("hunter2"))));
    // Of another application than the settings'.
    EXPECT_TRUE(IsError(world.Get(Options({{"client_id", "client-2"}})), ErrorCode::kUnavailable));
  }
}

TEST(AzureCredentials, TheEnvironmentsSecretIsOfItsOwnApplication) {
  TestServer machine([](const SeenRequest& seen) {
    EXPECT_THAT(seen.target, HasSubstr("client_id=client-2"));
    return TokenReply("eyJ2", R"("expires_in":"86400")");
  });
  World world;
  world.fake.variables = {{"AZURE_CLIENT_SECRET", "hunter2"},
                          {"AZURE_CLIENT_ID", "client-1"},
                          {"AZURE_TENANT_ID", "tenant-1"},
                          {"AZURE_POD_IDENTITY_AUTHORITY_HOST", machine.url()}};
  EXPECT_EQ(Secretly(world.Get(Options({{"client_id", "client-2"}}))), "eyJ2");
}

TEST(AzureCredentials, TheHeaderOfAppServiceGoesInClearToThisMachineOnly) {
  World world;
  world.fake.variables["IDENTITY_HEADER"] = "hunter2";
  for (const char* const url : {"http://identity.example.com/msi/token", "http://8.8.8.8/msi/token",
                                "http://169.255.0.1/msi/token", "http://10.0.0.1.example.com/"}) {
    world.fake.variables["IDENTITY_ENDPOINT"] = url;
    const auto got = world.Get();
    ASSERT_TRUE(IsError(got, ErrorCode::kInvalid)) << url;
    EXPECT_THAT(got.error().message, AllOf(HasSubstr("IDENTITY_ENDPOINT"), HasSubstr("https://"),
                                           Not(HasSubstr("hunter2"))));
  }
}

TEST(AzureToken, AwayWhileItIsUpdatedIsTheMetadataServiceOnly) {
  HttpResponse response;
  for (const int status : {404, 410}) {
    response.status = status;
    EXPECT_TRUE(DecodeTokenError(response, "X", {}, kNow, /*metadata_service=*/true).retryable);
    const Error of_entra = DecodeTokenError(response, "X", {}, kNow);
    EXPECT_FALSE(of_entra.retryable);
    EXPECT_EQ(of_entra.code, ErrorCode::kDenied);
  }
}

TEST(AzureToken, TheEarlierOfTwoEndsHolds) {
  const auto end = [](int64_t seconds, int64_t moment) {
    return ParseToken(R"({"access_token":"a","expires_in":")" + std::to_string(seconds) +
                          R"(","expires_on":")" + std::to_string(moment) + R"("})",
                      "X", kNow)
        ->expires_unix;
  };
  // A token that the service has kept for a while.
  EXPECT_EQ(end(86400, kNow + 60), kNow + 60);
  EXPECT_EQ(end(60, kNow + 86400), kNow + 60);
}

TEST(AzureToken, WhatIsNoneIsRefusedAndNotShown) {
  for (const char* const text :
       {"", "[]", "{}", R"({"access_token":1,"expires_in":1})", R"({"access_token":"hunter2"})",
        R"({"access_token":"hunter2 \n","expires_in":1})",
        R"({"access_token":"hunter2","expires_in":-1})",
        R"({"access_token":"hunter2","expires_on":"soon"})"}) {
    const auto token = ParseToken(text, "X", kNow);
    ASSERT_TRUE(IsError(token, ErrorCode::kInternal)) << text;
    EXPECT_THAT(token.error().message, AllOf(HasSubstr("X"), Not(HasSubstr("hunter2"))));
  }
  const auto token = ParseToken(R"({"access_token":"a","expires_in":"60"})", "X", kNow);
  ASSERT_TRUE(IsOk(token));
  EXPECT_EQ(token->expires_unix, kNow + 60);
}

}  // namespace
}  // namespace airfreight::azure
