// What an administrator's commands ask of every store: all that is kept, one by one, and what was
// begun and never ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "conformance/matchers.h"
#include "conformance/stores.h"

namespace airfreight::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AdministrationTest : public StoreTest {
 protected:
  void Write(std::string_view key, std::string_view text) {
    EXPECT_TRUE(IsOk(store().Put(key, Body(text), {}, {})));
  }

  std::vector<VersionInfo> Versions(std::string_view prefix, int limit = 1000) {
    std::vector<VersionInfo> versions;
    std::string token;
    do {
      auto page = store().ListVersions(prefix, token, limit, {});
      EXPECT_TRUE(IsOk(page));
      if (!page) break;
      EXPECT_LE(page->versions.size(), static_cast<size_t>(limit));
      for (VersionInfo& version : page->versions) versions.push_back(std::move(version));
      token = page->next_token;
    } while (!token.empty());
    return versions;
  }

  std::vector<UploadInfo> Uploads(std::string_view prefix, int limit = 1000) {
    std::vector<UploadInfo> uploads;
    std::string token;
    do {
      auto page = store().ListUploads(prefix, token, limit, {});
      EXPECT_TRUE(IsOk(page));
      if (!page) break;
      for (UploadInfo& upload : page->uploads) uploads.push_back(std::move(upload));
      token = page->next_token;
    } while (!token.empty());
    return uploads;
  }

  // An upload of one part, which is sent and not made an object.
  std::unique_ptr<PartUpload> Begin(std::string_view key, std::vector<UploadedPart>* parts) {
    auto upload = store().StartUpload(key, {}, {});
    EXPECT_TRUE(IsOk(upload));
    if (!upload) return nullptr;
    constexpr std::string_view kText = "a part";
    auto part = (*upload)->PutPart(1, 0, Body(kText), Crc32c(AsBytes(kText)), {});
    EXPECT_TRUE(IsOk(part));
    if (part) parts->push_back(*part);
    return *std::move(upload);
  }
};

std::vector<std::string> KeysOf(const std::vector<VersionInfo>& versions) {
  std::vector<std::string> keys;
  for (const VersionInfo& version : versions) keys.push_back(version.object.key);
  return keys;
}

INSTANTIATE_TEST_SUITE_P(Stores, AdministrationTest, testing::ValuesIn(AllStores()), NameOf);

TEST_P(AdministrationTest, EveryObjectHasAVersion) {
  Write("dag/run/a b+c", "value");
  Write("dag/run/d", "more");
  Write("other/run/e", "value");
  EXPECT_THAT(KeysOf(Versions("dag/")), ElementsAre("dag/run/a b+c", "dag/run/d"));
  const auto all = Versions("", 1);
  EXPECT_THAT(KeysOf(all), ElementsAre("dag/run/a b+c", "dag/run/d", "other/run/e"));
  for (const VersionInfo& version : all) {
    EXPECT_FALSE(version.id.empty());
    EXPECT_TRUE(version.latest);
    EXPECT_FALSE(version.removal);
    const auto head = store().Head(version.object.key, {});
    ASSERT_TRUE(IsOk(head));
    EXPECT_EQ(version.object.size, head->size);
    EXPECT_EQ(version.object.version, head->version);
    const auto same = store().HeadVersion(version.object.key, version.id, {});
    ASSERT_TRUE(IsOk(same));
    EXPECT_EQ(same->size, head->size);
    EXPECT_EQ(same->version, head->version);
  }
  EXPECT_THAT(Versions("nothing/"), IsEmpty());
}

TEST_P(AdministrationTest, AVersionIsRemovedAndNothingElse) {
  Write("dag/a", "value");
  Write("dag/b", "value");
  const auto versions = Versions("dag/");
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_TRUE(IsOk(store().RemoveVersion("dag/a", versions[0].id, {})));
  EXPECT_THAT(KeysOf(Versions("dag/")), ElementsAre("dag/b"));
  EXPECT_TRUE(IsError(store().Head("dag/a", {}), ErrorCode::kNotFound));
  EXPECT_TRUE(IsError(store().HeadVersion("dag/a", versions[0].id, {}), ErrorCode::kNotFound));
  // Once more, as after an answer that was lost.
  EXPECT_TRUE(IsOk(store().RemoveVersion("dag/a", versions[0].id, {})));
}

TEST_P(AdministrationTest, AVersionThatWasReplacedIsNotItsSuccessor) {
  Write("dag/a", "first");
  const auto before = Versions("dag/");
  ASSERT_EQ(before.size(), 1u);
  Write("dag/a", "second, and longer");
  const auto after = Versions("dag/");
  ASSERT_FALSE(after.empty());
  // S3 without versioning calls whatever is there "null".
  if (before[0].id == "null") return;
  EXPECT_TRUE(IsOk(store().RemoveVersion("dag/a", before[0].id, {})));
  EXPECT_TRUE(IsOk(store().Head("dag/a", {})));
}

TEST_P(AdministrationTest, IdsThatAreNoneAreRefused) {
  Write("dag/a", "value");
  EXPECT_TRUE(IsError(store().RemoveVersion("dag/a", "", {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(store().RemoveVersion("../a", "1", {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(store().ListVersions("", "", 0, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsOk(store().Head("dag/a", {})));
}

TEST_P(AdministrationTest, AnUnfinishedUploadIsSeenAndEnded) {
  if (!store().capabilities().uploads) {
    EXPECT_TRUE(IsError(store().ListUploads("", "", 10, {}), ErrorCode::kUnsupported));
    EXPECT_TRUE(IsError(store().AbortUpload("a", "b", {}), ErrorCode::kUnsupported));
    return;
  }
  std::vector<UploadedPart> parts;
  std::vector<UploadedPart> others;
  const auto upload = Begin("dag/run/a", &parts);
  const auto other = Begin("other/run/a", &others);
  ASSERT_NE(upload, nullptr);
  ASSERT_NE(other, nullptr);
  // Some list the uploads of one key only.
  const bool by_key = Lacks("uploads-by-prefix");
  const std::string_view where = by_key ? "dag/run/a" : "dag/run/";
  EXPECT_EQ(Uploads("dag/run/").size(), by_key ? 0u : 1u);
  const auto seen = Uploads(where);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].key == "dag/run/a" || seen[0].key == "dag/run/") << seen[0].key;
  EXPECT_FALSE(seen[0].id.empty());
  EXPECT_EQ(Uploads("", 1).size(), by_key ? 0u : 2u);
  EXPECT_THAT(Uploads("dag/other/"), IsEmpty());

  EXPECT_TRUE(IsOk(store().AbortUpload(seen[0].key, seen[0].id, {})));
  EXPECT_THAT(Uploads(where), IsEmpty());
  EXPECT_TRUE(IsError(store().Head("dag/run/a", {}), ErrorCode::kNotFound));
  EXPECT_TRUE(IsOk(store().AbortUpload(seen[0].key, seen[0].id, {})));
  // The other one knows nothing of it.
  EXPECT_TRUE(IsOk(other->Complete(others, Condition::None(), {})));
  EXPECT_TRUE(IsOk(store().Head("other/run/a", {})));
  EXPECT_THAT(Uploads(""), IsEmpty());
  // Last: a server that answers with its own fault is asked again until the deadline, and counts as
  // away from then on.
  Context little;
  little.deadline = Context::Clock::now() + std::chrono::seconds(2);
  EXPECT_FALSE(upload->Complete(parts, Condition::None(), little).has_value());
}

TEST_P(AdministrationTest, AnUploadThatHasEndedIsNoneAndItsObjectStays) {
  if (!store().capabilities().uploads) return;
  std::vector<UploadedPart> parts;
  const auto upload = Begin("dag/a", &parts);
  ASSERT_NE(upload, nullptr);
  const std::string_view where = Lacks("uploads-by-prefix") ? "dag/a" : "";
  const auto seen = Uploads(where);
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_TRUE(IsOk(upload->Complete(parts, Condition::None(), {})));
  EXPECT_THAT(Uploads(where), IsEmpty());
  // Too late.
  EXPECT_TRUE(IsOk(store().AbortUpload(seen[0].key, seen[0].id, {})));
  const auto got = store().Get("dag/a", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "a part");
}

}  // namespace
}  // namespace airfreight::conformance
