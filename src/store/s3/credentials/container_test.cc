#include "store/s3/credentials/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/s3/credentials/test_world.h"

namespace airfreight::s3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Id;
using testing::kNow;
using testing::Lines;
using testing::MetadataJson;
using ::testing::Not;
using testing::ScriptedReply;
using testing::SeenRequest;
using testing::TestServer;
using testing::World;

ScriptedReply Good(const SeenRequest&) {
  return ScriptedReply::Http(200, {}, MetadataJson("container", kNow + 3600));
}

// Notes where it is sent and answers nothing.
class DeadTransport final : public HttpTransport {
 public:
  explicit DeadTransport(std::vector<std::string>& urls) : urls_(urls) {}
  Result<HttpResponse> Perform(const HttpRequest& request, const Context&, ResponseSink*) override {
    urls_.push_back(request.url);
    Error error;
    error.code = ErrorCode::kUnavailable;
    error.retryable = true;
    return Fail(std::move(error));
  }

 private:
  std::vector<std::string>& urls_;
};

TEST(ContainerTest, IsOneRequestWithTheTokenOfItsFile) {
  const TestServer agent(Good);
  World world;
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = agent.url() + "/v1/credentials?a=b";
  world.fake.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "not this one";
  world.fake.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/var/run/pod-token";
  world.fake.files["/var/run/pod-token"] = "pod.token\n";
  const auto chain = world.Chain();
  EXPECT_EQ(Id(chain->Get({})), "container");
  ASSERT_TRUE(chain->Get({}).has_value());
  EXPECT_THAT(Lines(agent), ElementsAre("GET /v1/credentials?a=b"));
  EXPECT_EQ(agent.requests()[0].headers.Get("Authorization"), "pod.token");
}

// liormizr/s3path#100, home-assistant/core#145951: pods saw their container token expire.
TEST(ContainerTest, TheTokensFileIsReadAnewAtEachRefresh) {
  World world;
  const TestServer agent([&](const SeenRequest&) {
    return ScriptedReply::Http(200, {}, MetadataJson("container", world.now + 3600));
  });
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = agent.url() + "/";
  world.fake.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/t";
  CredentialsAccess access = world.Access();
  std::string token = "first";
  access.environment.read_file = [&](const std::string& path) -> std::optional<std::string> {
    if (path != "/t") return std::nullopt;
    return token;
  };
  const auto chain = DefaultCredentials({}, std::move(access));
  ASSERT_TRUE(chain->Get({}).has_value());
  token = "second";
  world.now = kNow + 3000;
  ASSERT_TRUE(chain->Get({}).has_value());
  ASSERT_EQ(agent.requests().size(), 2);
  EXPECT_EQ(agent.requests()[1].headers.Get("Authorization"), "second");
}

TEST(ContainerTest, ARelativeUriIsThePathOfTheEcsAgent) {
  World world;
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/id";
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/other";
  std::vector<std::string> urls;
  CredentialsAccess access = world.Access();
  access.local = std::make_unique<DeadTransport>(urls);
  const auto keys = DefaultCredentials({}, std::move(access))->Get({});
  EXPECT_THAT(urls, ElementsAre("http://169.254.170.2/v2/credentials/id"));
  EXPECT_EQ(keys.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(keys.error().retryable);
  // It would be part of the host's name.
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = ".evil.example/x";
  const auto wrong = world.Get();
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(wrong.error().message, HasSubstr("right is a path"));
}

TEST(ContainerTest, PlainHttpGoesOnlyToThisMachineAndTheAgents) {
  const auto check = [](const char* url) { return CheckContainerUrl(url, "V").has_value(); };
  for (const char* url :
       {"http://127.0.0.1/x", "http://127.8.9.10:51679/x", "http://[::1]:80/x", "http://localhost",
        "http://169.254.170.2/x", "http://169.254.170.23/v1", "http://[fd00:ec2::23]/v1",
        "https://creds.example.com/x?y=z", "HTTP://localhost:8080/"}) {
    EXPECT_TRUE(check(url)) << url;
  }
  for (const char* url :
       {"http://example.com/x", "http://169.254.169.254/x", "http://10.0.0.1/x",
        "http://127.0.0.1.evil.example/x", "http://127.0.0.1@evil.example/x",
        "http://evil.example\\@127.0.0.1/x", "http://localhost.evil.example/", "http://127.1/x",
        "http://127.0.0.256/", "http:///x", "ftp://127.0.0.1/x", "127.0.0.1/x",
        "http://localhost:0/", "http://localhost:99999/", "http://localhost/a b",
        "http://localhost/\r\nx: y", "https://user:pass@host/"}) {
    EXPECT_FALSE(check(url)) << url;
  }
}

TEST(ContainerTest, AMissingTokenFileIsNamedWithItsVariable) {
  const TestServer agent(Good);
  World world;
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = agent.url() + "/";
  world.fake.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/var/run/pod-token";
  const auto keys = world.Get();
  EXPECT_EQ(keys.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(keys.error().message, HasSubstr("/var/run/pod-token"));
  EXPECT_THAT(keys.error().message, HasSubstr("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
  EXPECT_THAT(agent.requests(), ::testing::IsEmpty());
}

TEST(ContainerTest, ATokenCannotSmuggleAHeaderAndIsNotShown) {
  World world;
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/";
  world.fake.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "hunter2\r\nx-evil: 1";
  const auto keys = world.Get();
  EXPECT_EQ(keys.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(keys.error().message, Not(HasSubstr("hunter2")));
}

TEST(ContainerTest, ARefusalIsFinalAndAFailureMayPass) {
  ScriptedReply reply;
  const TestServer agent([&](const SeenRequest&) { return reply; });
  World world;
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = agent.url() + "/";
  reply = ScriptedReply::Http(403, {}, R"({"code":"AccessDenied","message":"hunter2"})");
  const auto refused = world.Get();
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(refused.error().retryable);
  EXPECT_EQ(refused.error().service_code, "AccessDenied");
  EXPECT_THAT(refused.error().message, Not(HasSubstr("hunter2")));
  reply = ScriptedReply::Http(500, {}, "");
  EXPECT_TRUE(world.Get().error().retryable);
  reply = ScriptedReply::Http(429, {}, "");
  EXPECT_EQ(world.Get().error().code, ErrorCode::kThrottled);
  reply = ScriptedReply::Http(200, {}, "<html>starting</html>");
  EXPECT_EQ(world.Get().error().code, ErrorCode::kInternal);
  EXPECT_TRUE(world.Get().error().retryable);
}

}  // namespace
}  // namespace airfreight::s3
