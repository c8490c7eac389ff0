// The store on a server that a test scripts: which commands are sent, and what comes of what no
// healthy server says.

#include "store/redis/redis_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/matchers.h"
#include "http/fake_environment.h"
#include "store/redis/health.h"
#include "store/redis/test_server.h"

namespace airfreight::redis {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Words = TestServer::Words;

constexpr char kOk[] = "+OK\r\n";
constexpr char kNil[] = "$-1\r\n";
constexpr char kInfo[] = "INFO";
constexpr int64_t kNow = 1'790'000'000;

/// As much of Redis as a put and a get of small values take.
class SmallRedis {
 public:
  std::optional<std::string> operator()(const Words& words) {
    const std::string& name = words[0];
    if (name == "INFO") return Bulk("cluster_enabled:0\r\n");
    if (name == "SET") {
      const bool absent = words.size() > 3 && words[3] == "NX";
      if (absent && values_.contains(words[1])) return kNil;
      values_[words[1]] = words[2];
      last_ = words;
      return kOk;
    }
    if (name == "GET" || name == "GETRANGE") {
      const auto found = values_.find(words[1]);
      if (found == values_.end()) return name == "GET" ? std::string(kNil) : Bulk("");
      return Bulk(found->second);
    }
    return kOk;
  }
  const Words& last() const { return last_; }

 private:
  std::map<std::string, std::string> values_;
  Words last_;
};

std::unique_ptr<RedisStore> Open(const std::string& address, StoreSettings settings = {},
                                 const std::string& database = "0") {
  const StoreUri uri = ParseStoreUri("redis://" + address + "/" + database + "/p").value();
  auto options = ParseRedisOptions(uri, settings, FakeEnvironment{}.Get());
  EXPECT_TRUE(IsOk(options));
  return std::make_unique<RedisStore>(uri, *options, FakeEnvironment{}.Get(), [] { return kNow; });
}

PutOptions Absent() {
  PutOptions options;
  options.condition = Condition::Absent();
  return options;
}

TEST(RedisStoreTest, SmallPutAndSmallGetAreOneCommandEach) {
  SmallRedis redis;
  TestServer server([&](int, const Words& words) { return redis(words); });
  const auto store = Open(server.address());
  ASSERT_TRUE(IsOk(store->Put("a/b", Body("value"), Absent(), {})));
  EXPECT_THAT(server.commands(), ElementsAre(kInfo, "SET"));  // The first, once for each store.
  server.Forget();
  ASSERT_TRUE(IsOk(store->Put("a/c", Body(std::string(100'000, 'x')), Absent(), {})));
  EXPECT_THAT(server.commands(), ElementsAre("SET"));
  server.Forget();
  const auto got = store->Get("a/b", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "value");
  EXPECT_THAT(server.commands(), ElementsAre("GET"));
  server.Forget();
  ASSERT_TRUE(IsOk(store->Head("a/b", {})));
  EXPECT_THAT(server.commands(), ElementsAre("GETRANGE"));
  EXPECT_EQ(server.connections(), 1);
}

TEST(RedisStoreTest, TimeOfAnObjectIsItsOwnElseTheSettings) {
  SmallRedis redis;
  TestServer server([&](int, const Words& words) { return redis(words); });
  PutOptions options = Absent();
  ASSERT_TRUE(IsOk(Open(server.address())->Put("a", Body("v"), options, {})));
  EXPECT_EQ(redis.last().size(), 4u);  // SET key value NX
  ASSERT_TRUE(IsOk(Open(server.address(), {{"ttl", "60"}})->Put("b", Body("v"), options, {})));
  EXPECT_EQ(redis.last().back(), "60");
  options.expires_unix = kNow + 7;
  ASSERT_TRUE(IsOk(Open(server.address(), {{"ttl", "60"}})->Put("c", Body("v"), options, {})));
  EXPECT_EQ(redis.last().back(), "7");
  options.expires_unix = kNow - 7;
  ASSERT_TRUE(IsOk(Open(server.address())->Put("d", Body("v"), options, {})));
  EXPECT_EQ(redis.last().back(), "1");
}

TEST(RedisStoreTest, LoginAndDatabaseComeFirstAndThePasswordIsInNoMessage) {
  Words auth;
  TestServer server([&](int, const Words& words) -> std::optional<std::string> {
    if (words[0] != "AUTH") return kOk;
    auth = words;
    return "-WRONGPASS invalid username-password pair\r\n";
  });
  const auto store =
      Open(server.address(), {{"username", "freight"}, {"password", "topsecret"}}, "3");
  const auto put = store->Put("a", Body("v"), Absent(), {});
  ASSERT_TRUE(IsError(put, ErrorCode::kDenied));
  EXPECT_THAT(put.error().ToString(), Not(HasSubstr("topsecret")));
  EXPECT_THAT(auth, ElementsAre("AUTH", "freight", "topsecret"));
}

TEST(RedisStoreTest, ClusterIsRefusedBeforeAnythingIsWritten) {
  TestServer server([&](int, const Words& words) -> std::optional<std::string> {
    return words[0] == "INFO" ? Bulk("# Cluster\r\ncluster_enabled:1\r\n") : std::string(kOk);
  });
  const auto put = Open(server.address())->Put("a", Body("v"), Absent(), {});
  ASSERT_TRUE(IsError(put, ErrorCode::kUnsupported));
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("Redis Cluster"), HasSubstr("Sentinel")));
  EXPECT_THAT(server.commands(), ElementsAre(kInfo));
}

TEST(RedisStoreTest, ConnectionThatWasClosedWhileItLayIdleIsReplacedUnseen) {
  SmallRedis redis;
  TestServer server([&](int connection, const Words& words) -> std::optional<std::string> {
    // The first serves one SET; the next command finds it closed.
    if (connection == 0 && words[0] == "GET") return std::nullopt;
    return redis(words);
  });
  const auto store = Open(server.address());
  ASSERT_TRUE(IsOk(store->Put("a", Body("value"), Absent(), {})));
  const auto got = store->Get("a", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(server.connections(), 2);
}

TEST(RedisStoreTest, FreshConnectionThatIsClosedIsAnError) {
  TestServer server([](int, const Words&) { return std::nullopt; });
  const auto got = Open(server.address())->Get("a", {}, {});
  ASSERT_TRUE(IsError(got, ErrorCode::kUnavailable));
  EXPECT_TRUE(got.error().retryable);
  EXPECT_EQ(server.connections(), 1);
}

TEST(RedisStoreTest, MasterIsAskedForAgainAfterAFailover) {
  SmallRedis redis;
  bool failed_over = false;
  TestServer old_master([&](int, const Words& words) -> std::optional<std::string> {
    if (words[0] == "SET" && failed_over) return "-READONLY You can't write\r\n";
    return redis(words);
  });
  TestServer new_master([&](int, const Words& words) { return redis(words); });
  Words asked;
  TestServer sentinel([&](int, const Words& words) -> std::optional<std::string> {
    asked = words;
    const uint16_t port = failed_over ? new_master.port() : old_master.port();
    return "*2\r\n" + Bulk("127.0.0.1") + Bulk(std::to_string(port));
  });
  // The first Sentinel is not there.
  const auto store = Open("mymaster", {{"sentinels", "127.0.0.1:1, " + sentinel.address()}});
  EXPECT_EQ(store->root(), "redis://mymaster:6379/0/p");
  ASSERT_TRUE(IsOk(store->Put("a", Body("v"), Absent(), {})));
  EXPECT_THAT(asked, ElementsAre("SENTINEL", "get-master-addr-by-name", "mymaster"));
  failed_over = true;
  const auto refused = store->Put("b", Body("v"), Absent(), {});
  ASSERT_TRUE(IsError(refused, ErrorCode::kUnavailable));
  EXPECT_TRUE(refused.error().retryable);  // What the layer above does:
  ASSERT_TRUE(IsOk(store->Put("b", Body("v"), Absent(), {})));
  EXPECT_THAT(new_master.commands(), testing::Contains("SET"));
}

TEST(RedisStoreTest, SentinelThatDoesNotKnowTheNameSaysWhichSettingIsWrong) {
  TestServer sentinel([](int, const Words&) { return "*-1\r\n"; });
  const auto store = Open("nobody", {{"sentinels", sentinel.address()}});
  const auto put = store->Put("a", Body("v"), Absent(), {});
  ASSERT_TRUE(IsError(put, ErrorCode::kInvalid));
  EXPECT_THAT(put.error().message,
              AllOf(HasSubstr("'nobody'"), HasSubstr("redis_sentinel_master")));
}

TEST(RedisStoreTest, ValueThatCannotFitIsRefusedBeforeAByteOfItIsSent) {
  TestServer server([](int, const Words& words) -> std::optional<std::string> {
    if (words[0] == "INFO" && words[1] == "memory") {
      return Bulk("maxmemory:10000000\r\nused_memory:3000000\r\nmaxmemory_policy:noeviction\r\n");
    }
    return Bulk("");
  });
  const std::string value(8'000'000, 'v');
  const auto put = Open(server.address())->Put("a", Body(value), Absent(), {});
  ASSERT_TRUE(IsError(put, ErrorCode::kTooLarge));
  EXPECT_THAT(put.error().message, AllOf(HasSubstr("maxmemory"), HasSubstr("10000000")));
  EXPECT_THAT(server.commands(), ElementsAre(kInfo, "GETRANGE", kInfo));
}

TEST(RedisStoreTest, WhatIsNotOursIsNeitherReadNorOverwritten) {
  TestServer server([](int, const Words& words) -> std::optional<std::string> {
    if (words[0] == "INFO") return "-NOPERM no\r\n";
    if (words[0].starts_with("GET")) return Bulk("somebody's cache");
    return kOk;
  });
  const auto store = Open(server.address());
  EXPECT_TRUE(IsError(store->Get("a", {}, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(store->Head("a", {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(store->Put("a", Body("v"), {}, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(store->Remove("a", Condition::None(), {}), ErrorCode::kInvalid));
  EXPECT_THAT(server.commands(), Not(testing::Contains("MULTI")));
}

TEST(RedisStoreTest, MissingObjectNamesWhatRedisMayHaveDone) {  // redis/redis#4496
  TestServer server([](int, const Words& words) -> std::optional<std::string> {
    return words[0] == "GET" ? std::string(kNil) : Bulk("");
  });
  const auto got = Open(server.address())->Get("a", {}, {});
  ASSERT_TRUE(IsError(got, ErrorCode::kNotFound));
  EXPECT_THAT(got.error().message, AllOf(HasSubstr("redis_ttl"), HasSubstr("maxmemory-policy")));
}

TEST(RedisStoreTest, WhatDoesNotSpeakRedisIsSaidSo) {
  TestServer server([](int, const Words&) { return "HTTP/1.1 400 Bad Request\r\n"; });
  const auto got = Open(server.address())->Get("a", {}, {});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("Is a Redis server at this address"));
}

TEST(RedisStoreTest, CancelledWhileTheServerThinks) {
  TestServer server([](int, const Words&) { return ""; });  // Never answers.
  Context context;
  int looks = 0;
  context.cancelled = [&] { return ++looks > 3; };
  EXPECT_TRUE(IsError(Open(server.address())->Get("a", {}, context), ErrorCode::kCancelled));
}

TEST(RedisHealthTest, EvictionOfAnyKeyAndNoPersistenceAreWarnedOf) {
  RedisHealth health;
  health.role = "master";
  health.maxmemory_policy = "noeviction";
  health.append_only = true;
  health.snapshots = true;
  EXPECT_THAT(Warnings(health), testing::IsEmpty());
  health.maxmemory_policy = "allkeys-lru";
  EXPECT_THAT(Warnings(health), ElementsAre(HasSubstr("maxmemory-policy is allkeys-lru")));
  health.append_only = false;
  health.snapshots = false;
  EXPECT_THAT(Warnings(health), ElementsAre(HasSubstr("allkeys"), HasSubstr("appendonly is no")));
  health.maxmemory_policy.reset();
  health.snapshots.reset();  // Not told: nothing is said of it.
  EXPECT_THAT(Warnings(health), testing::IsEmpty());
}

TEST(RedisHealthTest, IsReadFromInfo) {
  TestServer server([](int, const Words& words) -> std::optional<std::string> {
    if (words[0] == "CONFIG") return "*2\r\n" + Bulk("save") + Bulk("3600 1");
    if (words[1] == "server") return Bulk("# Server\r\nredis_version:7.0.15\r\n");
    if (words[1] == "memory") {
      return Bulk("used_memory:5\r\nmaxmemory:9\r\nmaxmemory_policy:allkeys-lru\r\n");
    }
    if (words[1] == "persistence") return Bulk("aof_enabled:0\r\nrdb_last_bgsave_status:err\r\n");
    return Bulk("role:master\r\n");
  });
  const auto health =
      FindHealth(ParseStoreUri("redis://" + server.address() + "/0").value(), {}, {});
  ASSERT_TRUE(IsOk(health));
  EXPECT_EQ(health->version, "7.0.15");
  EXPECT_EQ(health->role, "master");
  EXPECT_EQ(health->used_memory, 5u);
  EXPECT_EQ(health->maxmemory, 9u);
  EXPECT_EQ(health->maxmemory_policy, "allkeys-lru");
  EXPECT_EQ(health->append_only, false);
  EXPECT_EQ(health->snapshots, true);
  EXPECT_EQ(health->last_snapshot_failed, true);
}

TEST(RedisOptionsTest, WrongOnesAreNamedWithARightOne) {
  const StoreUri uri = ParseStoreUri("redis://host/0").value();
  const auto message = [&](const StoreSettings& settings) {
    const auto options = ParseRedisOptions(uri, settings, FakeEnvironment{}.Get());
    EXPECT_TRUE(IsError(options, ErrorCode::kInvalid));
    return options ? std::string() : options.error().message;
  };
  EXPECT_THAT(message({{"ttl", "1d"}}), AllOf(HasSubstr("redis_ttl"), HasSubstr("'604800'")));
  EXPECT_THAT(message({{"sentinels", "host:x"}}), HasSubstr("redis_sentinels"));
  EXPECT_THAT(message({{"sentinel_master", "m"}}), HasSubstr("redis_sentinels"));
  EXPECT_THAT(message({{"keyfile", "/k"}}), HasSubstr("redis_certfile"));
  EXPECT_THAT(message({{"verify", "maybe"}}), HasSubstr("redis_verify"));
  EXPECT_THAT(message({{"username", "u"}}), HasSubstr("no password"));
  EXPECT_THAT(message({{"region", "eu"}}), HasSubstr("'region'"));
}

TEST(RedisOptionsTest, PasswordIsTheConnectionsElseRedisClis) {
  const StoreUri uri = ParseStoreUri("rediss://host/0").value();
  FakeEnvironment environment;
  environment.variables["REDISCLI_AUTH"] = "of-the-environment";
  const auto bare = ParseRedisOptions(uri, {}, environment.Get());
  ASSERT_TRUE(IsOk(bare));
  EXPECT_EQ(bare->login.password.Reveal(), "of-the-environment");
  EXPECT_TRUE(bare->tls);
  const auto own = ParseRedisOptions(uri, {{"password", "own"}}, environment.Get());
  ASSERT_TRUE(IsOk(own));
  EXPECT_EQ(own->login.password.Reveal(), "own");
}

}  // namespace
}  // namespace airfreight::redis
