#include "store/s3/credentials/web_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/s3/credentials/test_world.h"

namespace airfreight::s3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Id;
using testing::kNow;
using testing::kRoleArn;
using testing::Lines;
using ::testing::Not;
using testing::ScriptedReply;
using testing::SeenRequest;
using testing::StsErrorXml;
using testing::StsXml;
using testing::TestServer;
using testing::World;

constexpr char kAction[] = "AssumeRoleWithWebIdentity";

ScriptedReply Good(const SeenRequest&) {
  return ScriptedReply::Http(200, {}, StsXml(kAction, "sts", kNow + 3600));
}

TEST(WebIdentityTest, IsOneRequestThatNeedsNoKeys) {
  const TestServer sts(Good);
  World world;
  world.WebIdentity(sts);
  const auto chain = world.Chain();
  const auto keys = chain->Get({});
  ASSERT_TRUE(keys.has_value()) << keys.error().message;
  ASSERT_TRUE(chain->Get({}).has_value());
  EXPECT_EQ(keys->access_key_id, "sts");
  EXPECT_EQ(keys->session_token.Reveal(), "tok+en==");
  ASSERT_THAT(Lines(sts), ElementsAre("POST /"));
  const SeenRequest seen = sts.requests().front();
  EXPECT_EQ(seen.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A"
            "123456789012%3Arole%2Fairflow&RoleSessionName=airfreight-1767225600&"
            "WebIdentityToken=eyJhbGciOi.JSUzI1NiIsIm.tpZCI6Ij");
  EXPECT_FALSE(seen.headers.Find("Authorization").has_value());
  EXPECT_THAT(std::string(seen.headers.Get("Content-Type")),
              HasSubstr("application/x-www-form-urlencoded"));
}

// boto/botocore#3117, dragonflydb/dragonfly#7666: Kubernetes replaces the token while a pod runs.
TEST(WebIdentityTest, TheTokenIsReadAnewAtEachRefresh) {
  World world;
  const TestServer sts([&](const SeenRequest&) {
    return ScriptedReply::Http(200, {}, StsXml(kAction, "sts", world.now + 3600));
  });
  world.WebIdentity(sts);
  CredentialsAccess access = world.Access();
  std::string token = "first.token";
  access.environment.read_file = [&](const std::string& path) -> std::optional<std::string> {
    if (path != "/var/run/token") return std::nullopt;
    return token;
  };
  const auto chain = DefaultCredentials({}, std::move(access));
  ASSERT_TRUE(chain->Get({}).has_value());
  token = "second.token";
  world.now = kNow + 3000;
  ASSERT_TRUE(chain->Get({}).has_value());
  ASSERT_EQ(sts.requests().size(), 2);
  EXPECT_THAT(sts.requests()[0].body, HasSubstr("WebIdentityToken=first.token"));
  EXPECT_THAT(sts.requests()[1].body, HasSubstr("WebIdentityToken=second.token"));
}

TEST(WebIdentityTest, TheSessionsNameIsTheVariables) {
  const TestServer sts(Good);
  World world;
  world.WebIdentity(sts);
  world.fake.variables["AWS_ROLE_SESSION_NAME"] = "dag@prod";
  ASSERT_TRUE(world.Get().has_value());
  EXPECT_THAT(sts.requests()[0].body, HasSubstr("RoleSessionName=dag%40prod&"));
  world.fake.variables["AWS_ROLE_SESSION_NAME"] = "no blanks";
  EXPECT_EQ(world.Get().error().code, ErrorCode::kInvalid);
}

TEST(WebIdentityTest, AMissingFileIsNamedWithItsVariable) {
  const TestServer sts(Good);
  World world;
  world.WebIdentity(sts);
  world.fake.files.clear();
  const auto keys = world.Get();
  ASSERT_FALSE(keys.has_value());
  EXPECT_EQ(keys.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(keys.error().message, HasSubstr("/var/run/token"));
  EXPECT_THAT(keys.error().message, HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE"));
  world.fake.files["/var/run/token"] = " \n";
  EXPECT_THAT(world.Get().error().message, HasSubstr("is empty"));
  EXPECT_THAT(sts.requests(), ::testing::IsEmpty());
}

TEST(WebIdentityTest, ATokenWithoutARoleIsAnError) {
  const TestServer sts(Good);
  World world;
  world.WebIdentity(sts);
  world.fake.variables.erase("AWS_ROLE_ARN");
  EXPECT_THAT(world.Get().error().message, HasSubstr("AWS_ROLE_ARN"));
}

TEST(WebIdentityTest, AnExpiredTokenSaysWhichFileAndIsNotRepeated) {
  const TestServer sts([](const SeenRequest&) {
    return ScriptedReply::Http(
        400, {{"x-amzn-RequestId", "r-1"}},
        StsErrorXml("ExpiredTokenException", "Token expired: current date/time 1 must be before"));
  });
  World world;
  world.WebIdentity(sts);
  const auto keys = world.Get();
  ASSERT_FALSE(keys.has_value());
  EXPECT_EQ(keys.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(keys.error().retryable);
  EXPECT_EQ(keys.error().service_code, "ExpiredTokenException");
  EXPECT_EQ(keys.error().http_status, 400);
  EXPECT_EQ(keys.error().request_id, "r-1");
  EXPECT_THAT(keys.error().message, HasSubstr("'/var/run/token' (AWS_WEB_IDENTITY_TOKEN_FILE)"));
  EXPECT_THAT(keys.error().message, Not(HasSubstr("eyJ")));
  EXPECT_EQ(sts.requests().size(), 1);
}

TEST(WebIdentityTest, ARefusalSaysWhichRole) {
  const TestServer sts([](const SeenRequest&) {
    return ScriptedReply::Http(
        403, {},
        StsErrorXml("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity"));
  });
  World world;
  world.WebIdentity(sts);
  const auto keys = world.Get();
  EXPECT_EQ(keys.error().code, ErrorCode::kDenied);
  EXPECT_THAT(keys.error().message, HasSubstr(kRoleArn));
  EXPECT_THAT(keys.error().message, HasSubstr("sts:AssumeRoleWithWebIdentity"));
}

// STS repeats a field that it does not take, and the token is one.
TEST(WebIdentityTest, AnAnswerThatRepeatsTheTokenIsNotRepeated) {
  const TestServer sts([](const SeenRequest&) {
    return ScriptedReply::Http(403, {},
                               StsErrorXml("AccessDenied", "eyJhbGciOi.JSUzI1NiIsIm is not it"));
  });
  World world;
  world.WebIdentity(sts);
  EXPECT_THAT(world.Get().error().message, Not(HasSubstr("eyJ")));
}

TEST(WebIdentityTest, WhatMayPassIsRetryable) {
  ScriptedReply reply;
  const TestServer sts([&](const SeenRequest&) { return reply; });
  World world;
  world.WebIdentity(sts);
  reply = ScriptedReply::Http(503, {}, "busy");
  EXPECT_EQ(world.Get().error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(world.Get().error().retryable);
  reply = ScriptedReply::Http(400, {}, StsErrorXml("Throttling", "Rate exceeded"));
  EXPECT_EQ(world.Get().error().code, ErrorCode::kThrottled);
  reply = ScriptedReply::Http(400, {}, StsErrorXml("IDPCommunicationError", "again"));
  EXPECT_TRUE(world.Get().error().retryable);
}

TEST(WebIdentityTest, APageInsteadOfAnAnswerIsAnError) {
  ScriptedReply reply = ScriptedReply::Http(200, {}, "<html>hunter2</html>");
  const TestServer sts([&](const SeenRequest&) { return reply; });
  World world;
  world.WebIdentity(sts);
  EXPECT_EQ(world.Get().error().code, ErrorCode::kInternal);
  EXPECT_THAT(world.Get().error().message, Not(HasSubstr("hunter2")));
  reply = ScriptedReply::Http(200, {}, std::string(size_t{100} << 10, 'x'));
  EXPECT_EQ(world.Get().error().code, ErrorCode::kTooLarge);
}

TEST(WebIdentityTest, AProfileHasItToo) {
  const TestServer sts(Good);
  World world;
  world.fake.files["/h/.aws/config"] =
      "[profile irsa]\nrole_arn = arn:aws:iam::123456789012:role/of-profile\n"
      "web_identity_token_file = /t\nrole_session_name = me\nservices = local\n"
      "[services local]\nsts =\n  endpoint_url = " +
      sts.url() + "\n";
  world.fake.files["/t"] = "a.b.c";
  EXPECT_EQ(Id(world.Get({std::nullopt, "irsa", ""})), "sts");
  EXPECT_THAT(sts.requests()[0].body, HasSubstr("role%2Fof-profile&RoleSessionName=me&"));
  world.fake.files.erase("/t");
  EXPECT_THAT(world.Get({std::nullopt, "irsa", ""}).error().message,
              HasSubstr("web_identity_token_file of profile 'irsa'"));
}

TEST(ResolveStsTest, TheRegionIsThisProcesssBeforeTheBuckets) {
  FakeEnvironment fake;
  EXPECT_EQ(ResolveSts({}, "", fake.Get())->endpoint.host, "sts.amazonaws.com");
  EXPECT_EQ(ResolveSts({}, "", fake.Get())->region, "us-east-1");
  EXPECT_EQ(ResolveSts({}, "eu-west-1", fake.Get())->endpoint.host, "sts.eu-west-1.amazonaws.com");
  fake.variables["AWS_REGION"] = "cn-north-1";
  EXPECT_EQ(ResolveSts({}, "eu-west-1", fake.Get())->endpoint.host,
            "sts.cn-north-1.amazonaws.com.cn");
  fake.variables["AWS_ENDPOINT_URL"] = "http://minio:9000";
  EXPECT_EQ(ResolveSts({}, "", fake.Get())->endpoint.host, "minio:9000");
  fake.variables["AWS_ENDPOINT_URL_STS"] = "https://sts.local";
  EXPECT_EQ(ResolveSts({}, "", fake.Get())->endpoint.host, "sts.local");
  fake.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  EXPECT_EQ(ResolveSts({}, "", fake.Get())->endpoint.host, "sts.cn-north-1.amazonaws.com.cn");
}

}  // namespace
}  // namespace airfreight::s3
