#include "store/s3/credentials/imds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/s3/credentials/test_world.h"

namespace airfreight::s3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Id;
using testing::InstanceReply;
using testing::kNow;
using testing::Lines;
using testing::ScriptedReply;
using testing::SeenRequest;
using testing::TestServer;
using testing::World;

constexpr char kToken[] = "/latest/api/token";
constexpr char kRoles[] = "/latest/meta-data/iam/security-credentials/";

TEST(InstanceTest, IsATokenAndTwoRequestsAndNeverVersionOne) {
  const TestServer service([](const SeenRequest& seen) { return InstanceReply(seen); });
  World world;
  world.Instance(service);
  const auto chain = world.Chain();
  const auto keys = chain->Get({});
  ASSERT_TRUE(keys.has_value()) << keys.error().message;
  EXPECT_EQ(keys->access_key_id, "instance");
  EXPECT_EQ(keys->session_token.Reveal(), "tok+en==");
  ASSERT_TRUE(chain->Get({}).has_value());
  EXPECT_THAT(Lines(service),
              ElementsAre(std::string("PUT ") + kToken, std::string("GET ") + kRoles,
                          std::string("GET ") + kRoles + "airflow"));
}

TEST(InstanceTest, IsNotAskedWhereItIsSwitchedOff) {
  const TestServer service([](const SeenRequest& seen) { return InstanceReply(seen); });
  World world;
  world.Instance(service);
  world.fake.variables["AWS_EC2_METADATA_DISABLED"] = "True";
  EXPECT_EQ(world.Get().error().code, ErrorCode::kDenied);
  EXPECT_EQ(service.accepted(), 0);
}

TEST(InstanceTest, WithoutARoleThereIsNothingAndItSaysSo) {
  std::string list;
  int status = 404;
  const TestServer service([&](const SeenRequest& seen) {
    return seen.target == kToken ? InstanceReply(seen) : ScriptedReply::Http(status, {}, list);
  });
  World world;
  world.Instance(service);
  const auto keys = world.Get();
  EXPECT_EQ(keys.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(keys.error().retryable);
  EXPECT_THAT(keys.error().message, HasSubstr("no role is attached"));
  status = 200;
  list = "\n";
  EXPECT_THAT(world.Get().error().message, HasSubstr("no role is attached"));
}

TEST(InstanceTest, AServiceThatOnlyKnowsVersionOneIsLeftToBotocore) {
  const TestServer service([](const SeenRequest& seen) {
    return seen.target == kToken ? ScriptedReply::Http(405, {}, "") : InstanceReply(seen);
  });
  World world;
  world.Instance(service);
  const auto keys = world.Get();
  EXPECT_EQ(keys.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(keys.error().service_code, kForeignCredentials);
  EXPECT_THAT(Lines(service), ElementsAre(std::string("PUT ") + kToken));
}

TEST(InstanceTest, WhereNothingAnswersIsNotOnEc2) {
  std::string gone;
  {
    const TestServer service([](const SeenRequest&) { return ScriptedReply{}; });
    gone = service.url();
  }
  World world;
  world.fake.variables.erase("AWS_EC2_METADATA_DISABLED");
  world.fake.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = gone;
  const auto keys = world.Get();
  EXPECT_EQ(keys.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(keys.error().retryable);
  EXPECT_THAT(keys.error().message, HasSubstr("HttpPutResponseHopLimit"));
}

TEST(InstanceTest, OneLostConnectionIsTriedAgain) {
  std::atomic<int> count{0};
  const TestServer service([&](const SeenRequest& seen) {
    if (++count > 1) return InstanceReply(seen);
    ScriptedReply lost;
    lost.reset = true;
    return lost;
  });
  World world;
  world.Instance(service);
  EXPECT_EQ(Id(world.Get()), "instance");
}

// Keys were had: that there is "nothing" now would be told as missing settings.
TEST(InstanceTest, AServiceThatHasGoneAwayIsAFailureThatMayPass) {
  std::atomic<bool> away{false};
  World world;
  const TestServer service([&](const SeenRequest& seen) {
    if (away) return ScriptedReply::Http(503, {}, "");
    return InstanceReply(seen, world.now + 3600);
  });
  world.Instance(service);
  const auto chain = world.Chain();
  ASSERT_TRUE(chain->Get({}).has_value());
  away = true;
  world.now = kNow + 3590;
  const auto keys = chain->Get({});
  ASSERT_FALSE(keys.has_value());
  EXPECT_EQ(keys.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(keys.error().retryable);
}

TEST(InstanceTest, WhatTheServiceSaysInPlaceOfKeysIsTheError) {
  std::string document =
      R"({"Code":"AssumeRoleUnauthorizedAccess","Message":"EC2 cannot assume the role"})";
  const TestServer service([&](const SeenRequest& seen) {
    if (seen.target == std::string(kRoles) + "airflow") {
      return ScriptedReply::Http(200, {}, document);
    }
    return InstanceReply(seen);
  });
  World world;
  world.Instance(service);
  const auto denied = world.Get();
  EXPECT_EQ(denied.error().code, ErrorCode::kDenied);
  EXPECT_THAT(denied.error().message, HasSubstr("'airflow'"));
  EXPECT_THAT(denied.error().message, HasSubstr("AssumeRoleUnauthorizedAccess"));
  document = "{\"Code\":";
  EXPECT_EQ(world.Get().error().code, ErrorCode::kInternal);
  EXPECT_TRUE(world.Get().error().retryable);
}

TEST(InstanceTest, ARoleThatIsNoNameIsNoPath) {
  const TestServer service([](const SeenRequest& seen) {
    if (seen.target == kRoles) return ScriptedReply::Http(200, {}, "../../user-data");
    return InstanceReply(seen);
  });
  World world;
  world.Instance(service);
  EXPECT_EQ(world.Get().error().code, ErrorCode::kInternal);
  EXPECT_EQ(service.requests().size(), 2);
}

TEST(InstanceTest, TheEndpointAndItsModeAreChecked) {
  World world;
  world.fake.variables.erase("AWS_EC2_METADATA_DISABLED");
  world.fake.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"] = "IPv5";
  EXPECT_THAT(world.Get().error().message, HasSubstr("IPv4 or IPv6"));
  world.fake.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "169.254.169.254";
  EXPECT_THAT(world.Get().error().message, HasSubstr("AWS_EC2_METADATA_SERVICE_ENDPOINT"));
}

}  // namespace
}  // namespace airfreight::s3
