#include "store/basic_store.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

// Nothing but what every store has: one object, and a verb that fails.
class PlainStore final : public BasicStore {
 public:
  PlainStore() : BasicStore("plain://store") {}
  std::string_view scheme() const override { return "plain"; }
  Capabilities capabilities() const override {
    Capabilities capabilities;
    capabilities.conditional_remove = atomic;
    return capabilities;
  }

  bool atomic = true;
  bool there = true;

 private:
  static ObjectInfo Info() {
    ObjectInfo info;
    info.key = "k";
    info.size = 4;
    info.version = "2";
    return info;
  }

  Result<ObjectInfo> DoPut(std::string_view, const Body&, const PutOptions&,
                           const Context&) override {
    return Fail(ErrorCode::kDenied, "read-only");
  }
  Result<ObjectInfo> DoRead(std::string_view, const GetOptions&, ReadSink& sink,
                            const Context&) override {
    AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(Info()));
    AIRFREIGHT_RETURN_IF_ERROR(sink.Write(AsBytes("bo")));
    AIRFREIGHT_RETURN_IF_ERROR(sink.Write(AsBytes("dy")));
    return Info();
  }
  Result<ObjectInfo> DoHead(std::string_view, const Context&) override {
    if (there) return Info();
    return Fail(ErrorCode::kNotFound, "gone");
  }
  Status DoRemove(std::string_view, const Condition& condition, const Context&) override {
    if (condition.kind == Condition::Kind::kVersion && condition.version != "2") {
      return Fail(ErrorCode::kConditionFailed, "another by now");
    }
    there = false;
    return {};
  }
  Result<ListPage> DoList(std::string_view, std::string_view, int, const Context&) override {
    return ListPage{{Info()}, "next"};
  }
};

TEST(BasicStoreTest, AnErrorSaysWhereItWas) {
  PlainStore store;
  const auto put = store.Put("k", Body("body"), {}, {});
  ASSERT_TRUE(IsError(put, ErrorCode::kDenied));
  EXPECT_EQ(put.error().store, "plain://store");
  EXPECT_EQ(put.error().key, "k");
  const auto uploads = store.ListUploads("", "", 10, {});
  ASSERT_TRUE(IsError(uploads, ErrorCode::kUnsupported));
  EXPECT_EQ(uploads.error().store, "plain://store");
  EXPECT_EQ(uploads.error().key, "");
}

TEST(BasicStoreTest, WhatAStoreHasNotIsAnsweredOutOfWhatAllHave) {
  PlainStore store;
  const auto got = store.Get("k", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "body");

  const auto versions = store.ListVersions("", "", 10, {});
  ASSERT_TRUE(IsOk(versions));
  ASSERT_EQ(versions->versions.size(), 1u);
  EXPECT_EQ(versions->versions[0].id, "2");
  EXPECT_TRUE(versions->versions[0].latest);
  EXPECT_EQ(versions->next_token, "next");
  EXPECT_TRUE(IsOk(store.HeadVersion("k", "2", {})));
  EXPECT_TRUE(IsError(store.HeadVersion("k", "1", {}), ErrorCode::kNotFound));

  EXPECT_TRUE(IsError(store.StartUpload("k", {}, {}), ErrorCode::kUnsupported));
  EXPECT_TRUE(IsError(store.AbortUpload("k", "u", {}), ErrorCode::kUnsupported));
}

TEST(BasicStoreTest, OnlyTheVersionThatIsMeantIsRemoved) {
  for (const bool atomic : {true, false}) {
    PlainStore store;
    store.atomic = atomic;
    EXPECT_TRUE(IsError(store.RemoveVersion("k", "", {}), ErrorCode::kInvalid));
    EXPECT_TRUE(IsOk(store.RemoveVersion("k", "1", {})));
    EXPECT_TRUE(store.there);
    EXPECT_TRUE(IsOk(store.RemoveVersion("k", "2", {})));
    EXPECT_FALSE(store.there);
    EXPECT_TRUE(IsOk(store.RemoveVersion("k", "2", {})));
  }
}

}  // namespace
}  // namespace airfreight
