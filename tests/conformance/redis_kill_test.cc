// The writer to Redis is cut off after every command in turn, on a real server: whoever reads sees
// the old object or the new one, and what is left behind ends by itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/time.h"
#include "conformance/matchers.h"
#include "store/redis/client.h"
#include "store/redis/objects.h"
#include "store/redis/test_server.h"
#include "store/uri.h"

namespace airfreight::conformance {
namespace {

using redis::Connection;
using redis::Reply;
using redis::ReplyReader;
using redis::Request;
using redis::TestServer;
using testing::IsEmpty;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A connection of the tests' own, as the user who may do everything.
class Direct {
 public:
  Direct(const StoreUri& uri, const std::string& password) {
    options_.address = {uri.host, uri.port};
    connection_ = Connection::Open(options_.address, options_, nullptr, context_).value();
    reader_ = std::make_unique<ReplyReader>(*connection_);
    if (!password.empty()) Say({"AUTH", password});
  }
  Reply Say(const TestServer::Words& words) {
    Request request;
    request.Command(words.size());
    for (const std::string& word : words) request.Text(word);
    EXPECT_TRUE(IsOk(connection_->Send(request.Pieces())));
    auto reply = reader_->Read();
    EXPECT_TRUE(IsOk(reply));
    return reply ? *std::move(reply) : Reply{};
  }

 private:
  redis::RedisOptions options_;
  Context context_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<ReplyReader> reader_;
};

class RedisKillTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string base = Variable("AIRFREIGHT_TEST_REDIS");
    if (base.empty() && Variable("AIRFREIGHT_TEST_SKIP_REDIS") == "1") GTEST_SKIP();
    ASSERT_NE(base, "") << "no Redis server to test against: see StoreTest";
    uri_ = ParseStoreUri(base + "/" + RandomHex128().value()).value();
    settings_["username"] = Variable("AIRFREIGHT_TEST_REDIS_USER");
    settings_["password"] = Variable("AIRFREIGHT_TEST_REDIS_PASSWORD");
    settings_["max_attempts"] = "1";
    store_ = OpenStore(uri_.Root(), settings_).value();
    direct_ = std::make_unique<Direct>(uri_, Variable("AIRFREIGHT_TEST_REDIS_ADMIN"));
    proxy_ = std::make_unique<TestServer>(
        [this](int connection, const TestServer::Words& words) { return Pass(connection, words); });
    Reopen();
  }

  /// A store as a new process has it: an earlier one would not ask again for a while.
  void Reopen() {
    cut_off_ = OpenStore("redis://" + proxy_->address() + "/0/" + uri_.prefix, settings_).value();
  }

  void TearDown() override {
    if (direct_ == nullptr) return;
    for (const std::string& key : Keys()) direct_->Say({"UNLINK", key});
  }

  /// Lets `left_` commands through, and none after them.
  std::optional<std::string> Pass(int connection, const TestServer::Words& words) {
    const auto [upstream, fresh] = upstreams_.try_emplace(connection);
    if (fresh) upstream->second = std::make_unique<Direct>(uri_, "");
    if (left_ == 0 || upstream->second == nullptr) return std::nullopt;
    std::string answer = Encode(upstream->second->Say(words));
    // Killed: its connections are gone, and what it had begun there with them.
    if (--left_ == 0) {
      for (auto& [number, direct] : upstreams_) direct.reset();
    }
    return answer;
  }

  TestServer::Words Keys() {
    TestServer::Words keys;
    std::string cursor = "0";
    do {
      Reply page = direct_->Say({"SCAN", cursor, "MATCH", uri_.prefix + "/*", "COUNT", "1000"});
      if (page.elements.size() != 2) break;
      cursor = page.elements[0].text;
      for (Reply& key : page.elements[1].elements) keys.push_back(std::move(key.text));
    } while (cursor != "0");
    return keys;
  }

  /// The object's text; the error's code in brackets when it cannot be read.
  std::string Read() {
    const auto got = store_->Get("a/b", {}, {});
    if (!got) return "<" + std::string(ErrorCodeName(got.error().code)) + ">";
    return std::string(AsText(got->body.view()));
  }

  /// That no chunk lies here for ever of which the object does not consist.
  void ExpectNothingIsLeftForEver() {
    const auto head = store_->Head("a/b", {});
    const std::string own = head ? "//" + head->version + "/" : "//";
    for (const std::string& key : Keys()) {
      if (key.ends_with("a/b") || (head && key.find(own) != std::string::npos)) continue;
      EXPECT_GT(direct_->Say({"PTTL", key}).integer, 0) << key;
    }
  }

  /// Cuts `write` off after each of its commands in turn, until it is through.
  template <typename Write>
  void CutAfterEveryCommand(const std::string& before, const std::string& after,
                            const Write& write) {
    const PutOptions options;
    for (int commands = 1;; ++commands) {
      ASSERT_LT(commands, 100);
      if (before == "<NotFound>") {
        ASSERT_TRUE(IsOk(store_->Remove("a/b", Condition::None(), {})));
      } else {
        ASSERT_TRUE(IsOk(store_->Put("a/b", Body(before), options, {})));
      }
      Reopen();
      left_ = commands;
      const bool done = write();
      const int unused = left_;
      left_ = 0;
      const std::string now = Read();
      if (done) {
        EXPECT_TRUE(now == after);
      } else {
        // The last reply may have been lost with the connection: then all of it is there.
        EXPECT_TRUE(now == before || now == after) << commands << ": " << now.substr(0, 100);
      }
      ExpectNothingIsLeftForEver();
      if (done && unused > 0) break;
    }
    EXPECT_TRUE(IsOk(store_->Remove("a/b", Condition::None(), {})));
    EXPECT_EQ(Read(), "<NotFound>");
  }

  bool Put(const std::string& value, const Condition& condition) {
    PutOptions options;
    options.condition = condition;
    return cut_off_->Put("a/b", Body(value), options, {}).has_value();
  }

  StoreUri uri_;
  StoreSettings settings_;
  std::shared_ptr<ObjectStore> store_;
  std::shared_ptr<ObjectStore> cut_off_;
  std::unique_ptr<Direct> direct_;
  std::map<int, std::unique_ptr<Direct>> upstreams_;
  std::atomic<int> left_{0};
  std::unique_ptr<TestServer> proxy_;
};

const std::string kOld(redis::kInlineBytes + 1000, 'o');
const std::string kNew(2 * redis::kChunkBytes + 1000, 'n');

TEST_F(RedisKillTest, PutWhereNothingLay) {
  CutAfterEveryCommand("<NotFound>", kNew, [&] { return Put(kNew, Condition::Absent()); });
}

TEST_F(RedisKillTest, PutInPlaceOfChunks) {
  CutAfterEveryCommand(kOld, kNew, [&] { return Put(kNew, Condition::None()); });
}

TEST_F(RedisKillTest, SmallPutInPlaceOfChunks) {
  CutAfterEveryCommand(kOld, "new", [&] {
    return Put("new", Condition::Version(store_->Head("a/b", {})->version));
  });
}

TEST_F(RedisKillTest, PutOfChunksInPlaceOfASmallValue) {
  CutAfterEveryCommand("old", kNew, [&] { return Put(kNew, Condition::None()); });
}

TEST_F(RedisKillTest, UploadInParts) {
  CutAfterEveryCommand(kOld, kNew, [&] {
    const auto upload = cut_off_->StartUpload("a/b", {}, {}).value();
    std::vector<UploadedPart> parts;
    const std::string_view all = kNew;
    for (size_t offset = 0; offset < all.size(); offset += redis::kChunkBytes) {
      const auto part = upload->PutPart(static_cast<int>(parts.size()) + 1, offset,
                                        Body(all.substr(offset, redis::kChunkBytes)), 0, {});
      if (!part) return false;
      parts.push_back(*part);
    }
    return upload->Complete(parts, Condition::None(), {}).has_value();
  });
}

TEST_F(RedisKillTest, RemovalOfChunks) {
  CutAfterEveryCommand(kOld, "<NotFound>",
                       [&] { return cut_off_->Remove("a/b", Condition::None(), {}).has_value(); });
}

TEST_F(RedisKillTest, ObjectTakesItsChunksWithItAndLeavesNoKey) {
  ASSERT_TRUE(IsOk(store_->Put("a/b", Body(kNew), {}, {})));
  EXPECT_EQ(Keys().size(), 4u);
  ASSERT_TRUE(IsOk(store_->Put("a/b", Body("small"), {}, {})));
  EXPECT_EQ(Keys().size(), 1u);
  const auto upload = store_->StartUpload("a/b", {}, {}).value();
  ASSERT_TRUE(IsOk(upload->PutPart(1, 0, Body(kOld), 0, {})));
  EXPECT_EQ(Keys().size(), 2u);
  EXPECT_TRUE(IsOk(upload->Abort({})));
  EXPECT_EQ(Keys().size(), 1u);
  EXPECT_TRUE(IsOk(store_->Remove("a/b", Condition::None(), {})));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(RedisKillTest, CompleteOnceMoreAfterALostReplyIsASuccessAndAbortKeepsTheObject) {
  const auto upload = store_->StartUpload("a/b", {}, {}).value();
  const auto part = upload->PutPart(1, 0, Body(kOld), 0, {});
  ASSERT_TRUE(IsOk(part));
  ASSERT_TRUE(IsOk(upload->Complete({*part}, Condition::Absent(), {})));
  EXPECT_TRUE(IsOk(upload->Complete({*part}, Condition::Absent(), {})));
  EXPECT_TRUE(IsOk(upload->Abort({})));
  EXPECT_TRUE(Read() == kOld);
}

TEST_F(RedisKillTest, ChunksOutliveTheirHead) {
  PutOptions options;
  options.expires_unix = UnixSecondsNow() + 600;
  ASSERT_TRUE(IsOk(store_->Put("a/b", Body(kNew), options, {})));
  const int64_t head = direct_->Say({"PTTL", uri_.FullKey("a/b")}).integer;
  EXPECT_GT(head, 0);
  for (const std::string& key : Keys()) {
    if (redis::IsChunkKey(key)) {
      EXPECT_GT(direct_->Say({"PTTL", key}).integer, head + 3'000'000);
    }
  }
}

TEST_F(RedisKillTest, ChunkThatWasEvictedIsALostObjectAndSaidSo) {
  ASSERT_TRUE(IsOk(store_->Put("a/b", Body(kNew), {}, {})));
  const auto head = store_->Head("a/b", {});
  ASSERT_TRUE(IsOk(head));
  for (const char* chunk : {"3", "1"}) {
    direct_->Say({"UNLINK", uri_.FullKey("a/b") + "//" + head->version + "/" + chunk});
    const auto got = store_->Get("a/b", {}, {});
    ASSERT_TRUE(IsError(got, ErrorCode::kNotFound));
    EXPECT_THAT(got.error().message, testing::HasSubstr("evicted"));
  }
}

}  // namespace
}  // namespace airfreight::conformance
