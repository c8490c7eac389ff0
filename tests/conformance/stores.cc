#include "conformance/stores.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/random.h"
#include "conformance/matchers.h"

namespace airfreight::conformance {
namespace {

std::optional<std::string> Environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

std::vector<Registration>& Guests() {
  static std::vector<Registration> guests;
  return guests;
}

std::vector<Registration> AllStores() {
  if (!Guests().empty()) return Guests();
  return {{"memory"}, {"file", {}, true}, {"s3"}, {"redis"}, {"rediss"}};
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
    const auto base = Environment("AIRFREIGHT_TEST_S3");
    if (!base && Environment("AIRFREIGHT_TEST_SKIP_S3") == "1") {
      std::cout << "AIRFREIGHT_TEST_SKIP_S3=1: not tested against S3\n";
      GTEST_SKIP() << "AIRFREIGHT_TEST_SKIP_S3=1";
    }
    ASSERT_TRUE(base)
        << "no S3 server to test against. `./dev test` starts one. By hand: start "
           "versitygw on a directory, make a bucket and set AIRFREIGHT_TEST_S3="
           "s3://bucket/tests, AIRFREIGHT_TEST_S3_ENDPOINT=http://127.0.0.1:7070, "
           "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION=us-east-1. Or say "
           "AIRFREIGHT_TEST_SKIP_S3=1";
    uri_ = *base + "/" + unique;
    if (auto endpoint = Environment("AIRFREIGHT_TEST_S3_ENDPOINT")) {
      settings_["endpoint_url"] = *endpoint;
    }
    if (auto ca = Environment("AIRFREIGHT_TEST_S3_CA")) settings_["ca_bundle"] = *ca;
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
  if (GetParam().name != "s3") return false;
  const std::string all = "," + Environment("AIRFREIGHT_TEST_S3_LACKS").value_or("") + ",";
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
