#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "airfreight/store.h"
#include "base/random.h"
#include "conformance/matchers.h"

namespace airfreight {
namespace {

using testing::HasSubstr;

TEST(OpenStoreTest, TwoStoresOfOneMemoryNameSeeTheSameObjects) {
  const std::string name = RandomHex128().value();
  const auto one = OpenStore("memory://" + name, {});
  const auto two = OpenStore("memory://" + name, {});
  const auto other = OpenStore("memory://" + name + "x", {});
  const auto deeper = OpenStore("memory://" + name + "/a", {});
  ASSERT_TRUE(IsOk((*one)->Put("a/k", Body("v"), {}, {})));
  EXPECT_TRUE(IsOk((*two)->Get("a/k", {}, {})));
  EXPECT_TRUE(IsOk((*deeper)->Get("k", {}, {})));
  EXPECT_TRUE(IsError((*other)->Get("a/k", {}, {}), ErrorCode::kNotFound));
}

TEST(OpenStoreTest, OpeningADirectoryTouchesNothing) {
  const auto directory = std::filesystem::temp_directory_path() / RandomHex128().value();
  const auto store = OpenStore("file://" + directory.string(), {});
  ASSERT_TRUE(IsOk(store));
  EXPECT_FALSE(std::filesystem::exists(directory));
  // Nor does reading from one that was never written to.
  EXPECT_TRUE(IsError((*store)->Get("k", {}, {}), ErrorCode::kNotFound));
  EXPECT_TRUE((*store)->List("", "", 10, {})->objects.empty());
  EXPECT_TRUE(IsOk((*store)->Remove("k", Condition::None(), {})));
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(OpenStoreTest, RetrySettingsAreTakenByEveryStore) {
  for (const char* uri : {"memory://name", "file:///srv/xcom"}) {
    EXPECT_TRUE(IsOk(OpenStore(uri, {{"retry_timeout", "1.5"}, {"max_attempts", "3"}}))) << uri;
    const auto wrong = OpenStore(uri, {{"max_attempts", "none"}});
    ASSERT_TRUE(IsError(wrong, ErrorCode::kInvalid));
    EXPECT_THAT(wrong.error().message, HasSubstr("'none'"));
  }
}

TEST(OpenStoreTest, SettingThatTheStoreDoesNotKnowIsRefused) {
  for (const char* uri : {"memory://name", "file:///srv/xcom"}) {
    const auto wrong = OpenStore(uri, {{"endpoint", "x"}});
    ASSERT_TRUE(IsError(wrong, ErrorCode::kInvalid)) << uri;
    EXPECT_THAT(wrong.error().message, HasSubstr("'endpoint'"));
    EXPECT_EQ(wrong.error().store, uri);
  }
}

}  // namespace
}  // namespace airfreight
