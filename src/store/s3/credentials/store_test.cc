// What a store and its credentials ask together, counted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "store/s3/credentials/test_world.h"
#include "store/s3/s3_store.h"

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using testing::kNow;
using testing::ScriptedReply;
using testing::SeenRequest;
using testing::StsXml;
using testing::TestServer;
using testing::World;

// STS and S3 behind one address, as MinIO has them. S3 takes the keys of the latest session only.
class CloudTest : public ::testing::Test {
 protected:
  std::unique_ptr<S3Store> Open() {
    world_.WebIdentity(server_);
    auto options = ParseS3Options({{"endpoint_url", server_.url()}, {"region", "eu-west-1"}});
    EXPECT_TRUE(options.has_value());
    StoreUri uri;
    uri.scheme = "s3";
    uri.bucket = "bucket";
    return std::make_unique<S3Store>(
        uri, *options, std::make_unique<CurlTransport>(options->transport, world_.fake.Get()),
        world_.fake.Get(), [this] { return world_.now.load(); });
  }
  int StsRequests() const { return sts_; }

  World world_;
  std::atomic<int> sts_{0};
  std::atomic<int> refused_below_{0};  // Sessions before this one have been taken back.
  TestServer server_{[this](const SeenRequest& seen) {
    if (seen.method == "POST") {
      return ScriptedReply::Http(200, {},
                                 StsXml("AssumeRoleWithWebIdentity",
                                        "session" + std::to_string(++sts_), world_.now + 3600));
    }
    const std::string authorization(seen.headers.Get("Authorization"));
    for (int session = 1; session < refused_below_; ++session) {
      if (authorization.find("=session" + std::to_string(session) + "/") != std::string::npos) {
        return ScriptedReply::Http(
            400, {}, "<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>");
      }
    }
    return ScriptedReply::Http(200, {{"ETag", "\"e\""}}, "body");
  }};
};

std::vector<bool> GetFromEightThreads(S3Store& store) {
  std::vector<std::future<bool>> gets;
  for (int i = 0; i < 8; ++i) {
    gets.push_back(
        std::async(std::launch::async, [&] { return store.Get("k", {}, {}).has_value(); }));
  }
  std::vector<bool> succeeded;
  for (auto& get : gets) succeeded.push_back(get.get());
  return succeeded;
}

// boto/botocore#3117's neighbour, aws/aws-sdk-js#3481: one client asked STS for each PUT.
TEST_F(CloudTest, EightThreadsAndManyRequestsAreOneRequestToSts) {
  const auto store = Open();
  EXPECT_EQ(server_.accepted(), 0);
  EXPECT_THAT(GetFromEightThreads(*store), ::testing::Each(true));
  EXPECT_THAT(GetFromEightThreads(*store), ::testing::Each(true));
  EXPECT_EQ(StsRequests(), 1);
  EXPECT_THAT(std::string(server_.requests().back().headers.Get("Authorization")),
              HasSubstr("Credential=session1/20260101/eu-west-1/s3/"));
}

TEST_F(CloudTest, KeysThatTheStoreCallsExpiredAreReplacedOnceForAllThreads) {
  const auto store = Open();
  ASSERT_TRUE(store->Get("k", {}, {}).has_value());
  refused_below_ = 2;
  EXPECT_THAT(GetFromEightThreads(*store), ::testing::Each(true));
  EXPECT_EQ(StsRequests(), 2);
}

// Three hours of requests with sessions of an hour, renewed a quarter of an hour early: the
// store never sees one that has ended.
TEST_F(CloudTest, ALongTransferOutlivesItsSessions) {
  const auto store = Open();
  for (; world_.now < kNow + 3 * 3600; world_.now += 300) {
    ASSERT_TRUE(store->Get("k", {}, {}).has_value());
  }
  EXPECT_EQ(StsRequests(), 4);  // At 0, 45, 90 and 135 minutes.
}

}  // namespace
}  // namespace airfreight::s3
