#include "conformance/stores.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "conformance/matchers.h"

namespace airfreight::conformance {
namespace {

std::optional<std::string> Environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

/// A kind of store whose server the environment names.
struct Server {
  std::string_view store;
  std::string variable;  ///< What its variables begin with.
  const char* advice;    ///< How to start one by hand.
};

const Server* FindServer(std::string_view store) {
  static const Server kServers[] = {
      {"s3", "AIRFREIGHT_TEST_S3",
       "versitygw on a directory, make a bucket and set AIRFREIGHT_TEST_S3=s3://bucket/tests, "
       "AIRFREIGHT_TEST_S3_ENDPOINT=http://127.0.0.1:7070, AWS_ACCESS_KEY_ID, "
       "AWS_SECRET_ACCESS_KEY and AWS_REGION=us-east-1. Or say AIRFREIGHT_TEST_SKIP_S3=1"},
      {"gs", "AIRFREIGHT_TEST_GS",
       "`fake-gcs-server -scheme http -public-host 127.0.0.1 -backend memory`, make a bucket "
       "and set AIRFREIGHT_TEST_GS=gs://bucket/tests and "
       "AIRFREIGHT_TEST_GS_ENDPOINT=http://127.0.0.1:4443. Or say AIRFREIGHT_TEST_SKIP_GS=1"},
      {"az", "AIRFREIGHT_TEST_AZ",
       "Azurite, make a container and set AIRFREIGHT_TEST_AZ=az://container/tests, "
       "AIRFREIGHT_TEST_AZ_ENDPOINT=http://127.0.0.1:10000/devstoreaccount1 and "
       "AZURE_STORAGE_KEY. Or say AIRFREIGHT_TEST_SKIP_AZ=1"},
  };
  for (const Server& server : kServers) {
    if (server.store == store) return &server;
  }
  return nullptr;
}

}  // namespace

std::vector<Registration>& Guests() {
  static std::vector<Registration> guests;
  return guests;
}

std::vector<Registration> AllStores() {
  if (!Guests().empty()) return Guests();
  return {{"memory"}, {"file", {}, true}, {"s3"}, {"gs"}, {"az"}, {"redis"}, {"rediss"}};
}

std::string NameOf(const testing::TestParamInfo<Registration>& info) { return info.param.name; }

void StoreTest::SetUp() {
  const std::string unique = RandomHex128().value();
  const std::string& kind = GetParam().name;
  if (GetParam().open) {
    uri_ = unique;
    store_ = Reopen();
    ASSERT_NE(store_, nullptr);
    return;
  }
  if (kind == "memory") {
    uri_ = "memory://" + unique + "/a/prefix";
  } else if (kind == "file") {
    directory_ = std::filesystem::temp_directory_path() / ("airfreight-" + unique);
    uri_ = "file://" + directory_ + "/a/prefix";
    // The kill and the order of writes are tested; a power failure cannot be.
    settings_["fsync"] = "false";
  } else if (kind == "redis" || kind == "rediss") {
    const std::string variable =
        kind == "redis" ? "AIRFREIGHT_TEST_REDIS" : "AIRFREIGHT_TEST_REDISS";
    const auto base = Environment(variable);
    if (!base && Environment("AIRFREIGHT_TEST_SKIP_REDIS") == "1") {
      std::cout << "AIRFREIGHT_TEST_SKIP_REDIS=1: not tested against Redis\n";
      GTEST_SKIP() << "AIRFREIGHT_TEST_SKIP_REDIS=1";
    }
    ASSERT_TRUE(base) << "no Redis server to test against. `./dev test` starts two. By hand: "
                         "`python3 -m tests.servers.redis -- COMMAND`. Or say "
                         "AIRFREIGHT_TEST_SKIP_REDIS=1";
    uri_ = *base + "/" + unique;
    settings_["username"] = Environment(variable + "_USER").value_or("");
    settings_["password"] = Environment(variable + "_PASSWORD").value_or("");
    if (auto ca = Environment(variable + "_CA")) settings_["ca_bundle"] = *ca;
  } else {
    const Server* const server = FindServer(kind);
    ASSERT_NE(server, nullptr) << kind;
    const std::string& variable = server->variable;
    const std::string skip = "AIRFREIGHT_TEST_SKIP_" + variable.substr(variable.rfind('_') + 1);
    const auto base = Environment(variable);
    if (!base && Environment(skip) == "1") {
      std::cout << skip << "=1: not tested against " << kind << "\n";
      GTEST_SKIP() << skip << "=1";
    }
    ASSERT_TRUE(base) << "no " << kind << " server to test against. `./dev test` starts one. "
                      << "By hand: start " << server->advice;
    uri_ = *base + "/" + unique;
    if (auto endpoint = Environment(variable + "_ENDPOINT")) {
      settings_["endpoint_url"] = *endpoint;
    }
    if (auto ca = Environment(variable + "_CA")) settings_["ca_bundle"] = *ca;
    if (kind == "gs") settings_["anonymous"] = "true";
  }
  store_ = Reopen();
  ASSERT_NE(store_, nullptr);
}

void StoreTest::TearDown() {
  if (!directory_.empty()) std::filesystem::remove_all(directory_);
  if (store_ == nullptr || GetParam().name == "memory" || GetParam().name == "file") return;
  for (int page_number = 0; page_number < 100; ++page_number) {
    const auto page = store_->List("", "", 1000, {});
    if (!page || page->objects.empty()) return;
    for (const ObjectInfo& object : page->objects) {
      (void)store_->Remove(object.key, Condition::None(), {});
    }
  }
}

bool StoreTest::Lacks(std::string_view what) const {
  const Server* const server = FindServer(GetParam().name);
  if (server == nullptr) return false;
  const std::string lacks = server->variable + "_LACKS";
  const std::string all = "," + Environment(lacks).value_or("") + ",";
  return all.find("," + std::string(what) + ",") != std::string::npos;
}

Result<std::shared_ptr<ObjectStore>> StoreTest::Open(const std::string& uri) const {
  return GetParam().open ? GetParam().open(uri) : OpenStore(uri, settings_);
}

std::shared_ptr<ObjectStore> StoreTest::Reopen() const {
  auto store = Open(uri_);
  EXPECT_TRUE(IsOk(store));
  return store ? *store : nullptr;
}

std::shared_ptr<ObjectStore> StoreTest::OpenNeighbour() const {
  auto store = Open(uri_ + "-neighbour");
  EXPECT_TRUE(IsOk(store));
  return store ? *store : nullptr;
}

}  // namespace airfreight::conformance
