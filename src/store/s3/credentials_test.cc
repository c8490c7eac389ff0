#include "store/s3/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <type_traits>

#include "store/s3/credentials/test_world.h"

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using testing::Id;
using testing::kNow;
using testing::Lines;
using ::testing::Not;
using testing::ScriptedReply;
using testing::SeenRequest;
using testing::TestServer;
using testing::World;

// A Secret cannot become text unless someone writes Reveal().
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);

constexpr int64_t kHour = 3600;

Credentials Keys(const std::string& id) { return {id, Secret("hunter2"), Secret("token")}; }

// Gives what the test says, and counts.
class FakeSource final : public CredentialsSource {
 public:
  using Answer = std::function<Result<std::optional<LoadedCredentials>>(int load)>;
  FakeSource(Answer answer, std::atomic<int>& loads) : answer_(std::move(answer)), loads_(loads) {}
  Result<std::optional<LoadedCredentials>> Load(const CredentialsTools&, const Context&) override {
    return answer_(++loads_);
  }
  std::string Description() const override { return "fake"; }

 private:
  Answer answer_;
  std::atomic<int>& loads_;
};

class CredentialsChainTest : public ::testing::Test {
 protected:
  std::unique_ptr<CredentialsChain> ChainOf(FakeSource::Answer answer) {
    std::vector<std::unique_ptr<CredentialsSource>> sources;
    sources.push_back(std::make_unique<FakeSource>(std::move(answer), loads_));
    return std::make_unique<CredentialsChain>(world_.Access(), std::move(sources));
  }
  // "key1", "key2", …, each good for an hour from when it is loaded.
  FakeSource::Answer Hourly() {
    return [this](int load) -> Result<std::optional<LoadedCredentials>> {
      return LoadedCredentials{Keys("key" + std::to_string(load)), world_.now + kHour};
    };
  }

  World world_;
  std::atomic<int> loads_{0};
};

TEST_F(CredentialsChainTest, KeysThatDoNotEndAreLoadedOnce) {
  const auto chain = ChainOf([](int) { return LoadedCredentials{Keys("k"), std::nullopt}; });
  ASSERT_TRUE(chain->Get({}).has_value());
  world_.now = kNow + 1000 * kHour;
  ASSERT_TRUE(chain->Get({}).has_value());
  EXPECT_EQ(loads_, 1);
}

// cube-js/cube#11622, dragonflydb/dragonfly#7666: a session ends an hour after it began, whatever
// the token's file does.
TEST_F(CredentialsChainTest, KeysAreReplacedAQuarterOfAnHourBeforeTheyEnd) {
  const auto chain = ChainOf(Hourly());
  EXPECT_EQ(Id(chain->Get({})), "key1");
  world_.now = kNow + kHour - 15 * 60 - 1;
  EXPECT_EQ(Id(chain->Get({})), "key1");
  world_.now = kNow + kHour - 15 * 60;
  EXPECT_EQ(Id(chain->Get({})), "key2");
  EXPECT_EQ(Id(chain->Get({})), "key2");
  EXPECT_EQ(loads_, 2);
}

TEST_F(CredentialsChainTest, AFailureWhileKeysAreGoodIsNoError) {
  const auto chain = ChainOf([this](int load) -> Result<std::optional<LoadedCredentials>> {
    if (load > 1) return Fail(ErrorCode::kUnavailable, "STS is away");
    return LoadedCredentials{Keys("key1"), world_.now + kHour};
  });
  ASSERT_TRUE(chain->Get({}).has_value());
  world_.now = kNow + kHour - 14 * 60;
  EXPECT_EQ(Id(chain->Get({})), "key1");
  // Not with each request: a minute later.
  EXPECT_EQ(Id(chain->Get({})), "key1");
  EXPECT_EQ(loads_, 2);
  world_.now += 60;
  EXPECT_EQ(Id(chain->Get({})), "key1");
  EXPECT_EQ(loads_, 3);
  // In the last five minutes it is one, and says so before the store does.
  world_.now = kNow + kHour - 5 * 60;
  const auto last = chain->Get({});
  ASSERT_FALSE(last.has_value());
  EXPECT_EQ(last.error().code, ErrorCode::kUnavailable);
}

// Sessions of a minute (the case of cube-js/cube#11622 made short): one load for each, not one for
// each request.
TEST_F(CredentialsChainTest, AShortSessionIsUsedForMostOfItsLife) {
  const auto chain = ChainOf([this](int load) -> Result<std::optional<LoadedCredentials>> {
    return LoadedCredentials{Keys(std::to_string(load)), world_.now + 60};
  });
  for (; world_.now < kNow + 600; ++world_.now) ASSERT_TRUE(chain->Get({}).has_value());
  EXPECT_EQ(loads_, 14);  // Every 45 seconds of ten minutes.
}

TEST_F(CredentialsChainTest, KeysThatArriveExpiredAreTriedAndNotAskedForWithEachRequest) {
  const auto chain = ChainOf([this](int) -> Result<std::optional<LoadedCredentials>> {
    return LoadedCredentials{Keys("old"), world_.now - 10};
  });
  EXPECT_EQ(Id(chain->Get({})), "old");
  EXPECT_EQ(Id(chain->Get({})), "old");
  EXPECT_EQ(loads_, 1);
  world_.now += 300;
  EXPECT_EQ(Id(chain->Get({})), "old");
  EXPECT_EQ(loads_, 2);
}

// The first load of all waits until every thread has asked.
TEST_F(CredentialsChainTest, EightThreadsAtOnceAreOneLoad) {
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  const auto chain = ChainOf([&, gate](int load) -> Result<std::optional<LoadedCredentials>> {
    gate.wait();
    return LoadedCredentials{Keys("key" + std::to_string(load)), world_.now + kHour};
  });
  std::atomic<int> asking{0};
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(std::async(std::launch::async, [&] {
      ++asking;
      const auto keys = chain->Get({});
      return keys ? keys->access_key_id : "none";
    }));
  }
  while (asking < 8) std::this_thread::yield();
  go.set_value();
  for (auto& answer : answers) EXPECT_EQ(answer.get(), "key1");
  EXPECT_EQ(loads_, 1);
}

TEST_F(CredentialsChainTest, OthersGoOnWithGoodKeysWhileOneRefreshes) {
  std::promise<void> started;
  std::promise<void> go;
  const auto chain = ChainOf([&](int load) -> Result<std::optional<LoadedCredentials>> {
    if (load == 2) {
      started.set_value();
      go.get_future().wait();
    }
    return LoadedCredentials{Keys("key" + std::to_string(load)), world_.now + kHour};
  });
  ASSERT_TRUE(chain->Get({}).has_value());
  world_.now = kNow + kHour - 10 * 60;
  auto refreshing = std::async(std::launch::async, [&] { return Id(chain->Get({})); });
  started.get_future().wait();
  EXPECT_EQ(Id(chain->Get({})), "key1");
  go.set_value();
  EXPECT_EQ(refreshing.get(), "key2");
  EXPECT_EQ(Id(chain->Get({})), "key2");
}

TEST_F(CredentialsChainTest, WhoWaitsIsToldWhyAndCanBeCancelled) {
  std::promise<void> started;
  std::promise<void> go;
  const auto chain = ChainOf([&](int) -> Result<std::optional<LoadedCredentials>> {
    started.set_value();
    go.get_future().wait();
    return Fail(ErrorCode::kDenied, "not you");
  });
  auto loading = std::async(std::launch::async, [&] { return chain->Get({}); });
  started.get_future().wait();
  Context cancelled;
  cancelled.cancelled = [] { return true; };
  EXPECT_EQ(chain->Get(cancelled).error().code, ErrorCode::kCancelled);
  // The one that waits asks whether it is still wanted; from then on it is sure to wait.
  std::promise<void> waiting;
  std::atomic<bool> asked{false};
  Context observed;
  observed.cancelled = [&] {
    if (!asked.exchange(true)) waiting.set_value();
    return false;
  };
  auto waiter = std::async(std::launch::async, [&] { return chain->Get(observed); });
  waiting.get_future().wait();
  go.set_value();
  EXPECT_EQ(loading.get().error().message, "not you");
  EXPECT_EQ(waiter.get().error().message, "not you");
  EXPECT_EQ(loads_, 1);
}

TEST_F(CredentialsChainTest, OneThatIsCancelledWhileLoadingDoesNotFailTheOthers) {
  std::promise<void> started;
  std::promise<void> go;
  const auto chain = ChainOf([&](int load) -> Result<std::optional<LoadedCredentials>> {
    if (load > 1) return LoadedCredentials{Keys("key2"), std::nullopt};
    started.set_value();
    go.get_future().wait();
    return Fail(ErrorCode::kCancelled, "cancelled");
  });
  auto loading = std::async(std::launch::async, [&] { return chain->Get({}); });
  started.get_future().wait();
  std::promise<void> waiting;
  std::atomic<bool> asked{false};
  Context observed;
  observed.cancelled = [&] {
    if (!asked.exchange(true)) waiting.set_value();
    return false;
  };
  auto waiter = std::async(std::launch::async, [&] { return chain->Get(observed); });
  waiting.get_future().wait();
  go.set_value();
  EXPECT_EQ(loading.get().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(Id(waiter.get()), "key2");
}

TEST_F(CredentialsChainTest, RefreshLoadsAgainOnlyWhatIsStillCurrent) {
  const auto chain = ChainOf(Hourly());
  const Credentials first = *chain->Get({});
  EXPECT_EQ(Id(chain->Refresh(first, {})), "key2");
  EXPECT_EQ(Id(chain->Refresh(first, {})), "key2");
  EXPECT_EQ(loads_, 2);
}

TEST_F(CredentialsChainTest, EightThreadsWhoseKeysTheStoreRefusesAreOneLoad) {
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  const auto chain = ChainOf([&, gate](int load) -> Result<std::optional<LoadedCredentials>> {
    if (load > 1) gate.wait();
    return LoadedCredentials{Keys("key" + std::to_string(load)), world_.now + kHour};
  });
  const Credentials first = *chain->Get({});
  std::atomic<int> asking{0};
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(std::async(std::launch::async, [&] {
      ++asking;
      const auto keys = chain->Refresh(first, {});
      return keys ? keys->access_key_id : "none";
    }));
  }
  while (asking < 8) std::this_thread::yield();
  go.set_value();
  for (auto& answer : answers) EXPECT_EQ(answer.get(), "key2");
  EXPECT_EQ(loads_, 2);
}

const FakeEnvironment kBoth{
    {{"HOME", "/h"},
     {"AWS_EC2_METADATA_DISABLED", "true"},
     {"AWS_ACCESS_KEY_ID", "env"},
     {"AWS_SECRET_ACCESS_KEY", "envsecret"},
     {"AWS_SESSION_TOKEN", "envtoken"}},
    {{"/h/.aws/credentials",
      "[default]\naws_access_key_id=file\naws_secret_access_key=filesecret\n"
      "[other]\naws_access_key_id=other\naws_secret_access_key=othersecret\n"}}};

TEST(DefaultCredentialsTest, SettingsThenEnvironmentThenProfile) {
  World world;
  world.fake = kBoth;
  EXPECT_EQ(Id(world.Get({Credentials{"set", Secret("s"), Secret()}, "", ""})), "set");
  const auto environment = world.Get();
  EXPECT_EQ(environment->access_key_id, "env");
  EXPECT_EQ(environment->session_token.Reveal(), "envtoken");
  world.fake.variables.erase("AWS_ACCESS_KEY_ID");
  world.fake.variables.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(Id(world.Get()), "file");
}

TEST(DefaultCredentialsTest, AProfileInTheSettingsGoesBeforeTheEnvironment) {
  World world;
  world.fake = kBoth;
  EXPECT_EQ(Id(world.Get({std::nullopt, "other", ""})), "other");
}

// Which requests are sent is the test: none of another source's.
TEST(DefaultCredentialsTest, NoServerIsAskedWhereKeysAreFoundEarlier) {
  const TestServer server([](const SeenRequest&) { return ScriptedReply::Http(500, {}, ""); });
  World world;
  world.fake = kBoth;
  world.WebIdentity(server);
  world.Instance(server);
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/container";
  EXPECT_EQ(Id(world.Get()), "env");
  EXPECT_THAT(server.requests(), ::testing::IsEmpty());
}

TEST(DefaultCredentialsTest, ContainerVariablesSpareTheMetadataService) {
  const TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(200, {}, testing::MetadataJson("container", kNow + 3600));
  });
  World world;
  world.Instance(server);
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/container";
  EXPECT_EQ(Id(world.Get()), "container");
  EXPECT_THAT(Lines(server), ::testing::ElementsAre("GET /container"));
}

TEST(DefaultCredentialsTest, AWebIdentityThatFailsDoesNotMakeUseOfTheInstance) {
  const TestServer server([](const SeenRequest& seen) {
    if (seen.method == "POST") {
      return ScriptedReply::Http(403, {}, testing::StsErrorXml("AccessDenied", "Not authorized"));
    }
    return testing::InstanceReply(seen);
  });
  World world;
  world.WebIdentity(server);
  world.Instance(server);
  EXPECT_EQ(world.Get().error().code, ErrorCode::kDenied);
  EXPECT_THAT(Lines(server), ::testing::ElementsAre("POST /"));
}

TEST(DefaultCredentialsTest, NothingIsAskedBeforeTheFirstGet) {
  const TestServer server([](const SeenRequest& seen) { return testing::InstanceReply(seen); });
  World world;
  world.Instance(server);
  const auto chain = world.Chain();
  EXPECT_EQ(server.accepted(), 0);
  EXPECT_EQ(Id(chain->Get({})), "instance");
}

TEST(DefaultCredentialsTest, NothingFoundListsWhatWasLookedAt) {
  World world;
  const auto credentials = world.Get();
  ASSERT_FALSE(credentials.has_value());
  EXPECT_EQ(credentials.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(credentials.error().retryable);
  for (const char* place :
       {"conn_id@bucket", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "/h/.aws/credentials",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_DISABLED"}) {
    EXPECT_THAT(credentials.error().message, HasSubstr(place));
  }
}

TEST(DefaultCredentialsTest, HalfAPairIsAnErrorNotTheNextSource) {
  World world;
  world.fake = kBoth;
  world.fake.variables.erase("AWS_SECRET_ACCESS_KEY");
  const auto credentials = world.Get();
  ASSERT_FALSE(credentials.has_value());
  EXPECT_EQ(credentials.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(credentials.error().message, HasSubstr("secret access key is missing"));
}

TEST(MakeCredentialsTest, ALineBreakAtTheEndIsNotPartOfAKey) {
  const auto credentials = MakeCredentials("AK\n", " secret\r\n", "token\n", "x");
  ASSERT_TRUE(credentials.has_value());
  EXPECT_EQ((*credentials)->access_key_id, "AK");
  EXPECT_EQ((*credentials)->secret_access_key.Reveal(), "secret");
  EXPECT_EQ((*credentials)->session_token.Reveal(), "token");
}

TEST(MakeCredentialsTest, AKeyCannotSmuggleAHeaderAndIsNotShown) {
  const auto credentials = MakeCredentials("AK\r\nx-evil: 1", "hunter2", std::nullopt, "x");
  ASSERT_FALSE(credentials.has_value());
  EXPECT_THAT(credentials.error().message, Not(HasSubstr("evil")));
  EXPECT_THAT(credentials.error().message, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace airfreight::s3
