#include "store/s3/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/curl_transport.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/cloud/test_store.h"
#include "store/s3/test_store.h"

namespace airfreight::s3 {
namespace {

using ::airfreight::testing::kNow;
using ::airfreight::testing::Lines;
using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::HasSubstr;
using ::testing::Not;

const Headers kTag{{"ETag", "\"e\""}};

// A store in front of a scripted server, with a fixed clock and nothing from this machine's
// settings.
class S3StoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<S3Store> Open(const TestServer& server, StoreSettings settings = {}) {
    return OpenAt(server, std::move(settings), environment_);
  }

  FakeEnvironment environment_;
  Context context_;
};

std::string ErrorXml(const std::string& code, const std::string& more = "") {
  return "<Error><Code>" + code + "</Code><Message>m</Message>" + more + "</Error>";
}

// A stray HEAD fails here (the official backend sends HEAD, LIST, HEAD and PUT).
TEST_F(S3StoreTest, EachVerbIsOneRequest) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.target.find("list-type") != std::string::npos) {
      return ScriptedReply::Http(200, {}, "<ListBucketResult/>");
    }
    if (seen.method == "DELETE") return ScriptedReply::Http(204, {}, "", false);
    return ScriptedReply::Http(200, kTag, seen.method == "GET" ? "body" : "");
  });
  const auto store = Open(server);
  ASSERT_TRUE(store->Put("k", Body("body"), {}, context_).has_value());
  ASSERT_TRUE(store->Get("k", {}, context_).has_value());
  ASSERT_TRUE(store->Head("k", context_).has_value());
  ASSERT_TRUE(store->Remove("k", {}, context_).has_value());
  ASSERT_TRUE(store->List("", "", 10, context_).has_value());
  EXPECT_EQ(Lines(server),
            (std::vector<std::string>{
                "PUT /bucket/xcom/k", "GET /bucket/xcom/k", "HEAD /bucket/xcom/k",
                "DELETE /bucket/xcom/k",
                "GET /bucket?encoding-type=url&list-type=2&max-keys=10&prefix=xcom%2F"}));
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(S3StoreTest, AVersionIsEchoedAsItCame) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(200, {{"ETag", "W/\"odd \\ tag\"-3"}}, "");
  });
  const auto store = Open(server);
  const auto first = store->Put("k", Body("a"), {}, context_);
  ASSERT_TRUE(first.has_value());
  PutOptions again;
  again.condition = Condition::Version(first->version);
  ASSERT_TRUE(store->Put("k", Body("b"), again, context_).has_value());
  EXPECT_EQ(server.requests().at(1).headers.Get("If-Match"), "W/\"odd \\ tag\"-3");
}

// apache/arrow-rs-object-store#122, aws/aws-sdk-java-v2#7068: a success that is none.
TEST_F(S3StoreTest, ASuccessThatHoldsAnErrorIsAnError) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(200, kTag, "\n  " + ErrorXml("InternalError"));
  });
  const auto put = Open(server)->Put("k", Body("a"), {}, context_);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(put.error().retryable);
}

TEST_F(S3StoreTest, AnObjectThatLooksLikeAnErrorIsAnObject) {
  TestServer server(
      [](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ErrorXml("InternalError")); });
  EXPECT_TRUE(Open(server)->Get("k", {}, context_).has_value());
}

// aws/aws-sdk-java-v2#4425: client in one region, bucket in another.
TEST_F(S3StoreTest, TheBucketsRegionIsLearntOnceAndKept) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.headers.Get("Authorization").find("/us-west-2/") != std::string_view::npos) {
      return ScriptedReply::Http(200, kTag, "");
    }
    return ScriptedReply::Http(
        400, {}, ErrorXml("AuthorizationHeaderMalformed", "<Region>us-west-2</Region>"));
  });
  const auto store = Open(server, {{"region", "eu-west-1"}});
  const std::string body(200'000, 'b');
  for (int i = 0; i < 2; ++i) {
    const auto put = store->Put("k", Body(body), {}, context_);
    ASSERT_TRUE(put.has_value()) << put.error().ToString();
  }
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  for (const SeenRequest& seen : requests) EXPECT_EQ(seen.body, body);
}

TEST_F(S3StoreTest, AServerThatSendsInACircleIsLeft) {
  int turn = 0;
  TestServer server([&turn](const SeenRequest&) {
    return ScriptedReply::Http(
        301, {{"x-amz-bucket-region", turn++ % 2 == 0 ? "us-west-2" : "us-east-2"}}, "");
  });
  const auto head = Open(server)->Head("k", context_);
  ASSERT_FALSE(head.has_value());
  EXPECT_EQ(head.error().code, ErrorCode::kInvalid);
  EXPECT_LE(server.requests().size(), 4u);
}

TEST_F(S3StoreTest, AClockThatIsOffIsCorrectedByTheServers) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.headers.Get("x-amz-date") == "20260101T010000Z") {
      return ScriptedReply::Http(200, kTag, "");
    }
    return ScriptedReply::Http(403, {{"Date", "Thu, 01 Jan 2026 01:00:00 GMT"}},
                               ErrorXml("RequestTimeTooSkewed"));
  });
  const auto store = Open(server);
  ASSERT_TRUE(store->Put("k", Body("a"), {}, context_).has_value());
  ASSERT_TRUE(store->Put("k", Body("a"), {}, context_).has_value());
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_F(S3StoreTest, ExpiredKeysAreReadAgainOnceAndOnlyIfThereAreOthers) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.headers.Get("Authorization").find("=FRESH/") != std::string_view::npos) {
      return ScriptedReply::Http(200, kTag, "");
    }
    return ScriptedReply::Http(400, {}, ErrorXml("ExpiredToken"));
  });
  const auto expired = Open(server)->Put("k", Body("a"), {}, context_);
  ASSERT_FALSE(expired.has_value());
  EXPECT_EQ(expired.error().code, ErrorCode::kDenied);
  EXPECT_THAT(expired.error().message, HasSubstr("get new credentials"));
  EXPECT_EQ(server.requests().size(), 1u);

  int reads = 0;
  Environment environment = environment_.Get();
  environment.variable = [&reads](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "AWS_SECRET_ACCESS_KEY") return "s";
    if (std::string_view(name) == "AWS_ACCESS_KEY_ID") return reads++ == 0 ? "STALE" : "FRESH";
    return std::nullopt;
  };
  const auto options = ParseS3Options({{"endpoint_url", server.url()}});
  StoreUri uri;
  uri.scheme = "s3";
  uri.bucket = "bucket";
  S3Store store(uri, *options, std::make_unique<CurlTransport>(CurlTransportOptions{}, environment),
                environment, [] { return kNow; });
  EXPECT_TRUE(store.Put("k", Body("a"), {}, context_).has_value());
  EXPECT_EQ(server.requests().size(), 3u);
}

// Netflix/metaflow#953: a refusal is said at once.
TEST_F(S3StoreTest, ARefusalIsNotRepeatedAndHoldsNoSecret) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(403, {{"x-amz-request-id", "RID"}},
                               ErrorXml("SignatureDoesNotMatch"));
  });
  const auto put = Open(server)->Put("k", Body("a"), {}, context_);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(put.error().retryable);
  EXPECT_EQ(put.error().store, "s3://bucket/xcom");
  EXPECT_EQ(put.error().key, "k");
  EXPECT_EQ(put.error().request_id, "RID");
  EXPECT_THAT(put.error().ToString(), Not(HasSubstr("hunter2")));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(S3StoreTest, AWriteIsConfirmedOnlyWithAnETag) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  const auto put = Open(server)->Put("k", Body("a"), {}, context_);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, ErrorCode::kInternal);
}

TEST_F(S3StoreTest, AnObjectAboveTheLimitIsNotSent) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ""); });
  // The same megabyte again and again: nothing of it is read.
  const std::string megabyte(1 << 20, 'x');
  Body body;
  for (int i = 0; i <= 5 * 1024; ++i) body.Append(AsBytes(megabyte));
  const auto put = Open(server)->Put("k", body, {}, context_);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(server.accepted(), 0);
}

TEST_F(S3StoreTest, ARangeThatTheServerIgnoresIsAnErrorNotTheWrongBytes) {
  TestServer server(
      [](const SeenRequest&) { return ScriptedReply::Http(200, kTag, "0123456789"); });
  GetOptions get;
  get.offset = 5;
  const auto got = Open(server)->Get("k", get, context_);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, ErrorCode::kInternal);
}

TEST_F(S3StoreTest, ARangeOfOtherBytesOrTooFewIsAnError) {
  std::string range = "bytes 0-2/10";
  std::string bytes = "012";
  TestServer server([&](const SeenRequest&) {
    return ScriptedReply::Http(206, {{"ETag", "\"e\""}, {"Content-Range", range}}, bytes);
  });
  const auto store = Open(server);
  GetOptions get;
  get.offset = 5;
  get.length = 3;
  EXPECT_FALSE(store->Get("k", get, context_).has_value());
  range = "bytes 5-6/10";
  bytes = "56";
  const auto few = store->Get("k", get, context_);
  ASSERT_FALSE(few.has_value());
  EXPECT_EQ(few.error().code, ErrorCode::kUnavailable);
  range = "bytes 5-7/10";
  bytes = "567";
  const auto right = store->Get("k", get, context_);
  ASSERT_TRUE(right.has_value()) << right.error().ToString();
  EXPECT_EQ(AsText(right->body.view()), "567");
  EXPECT_EQ(right->info.size, 10u);
}

/// Keeps what it is given.
class KeepingSink final : public ReadSink {
 public:
  std::vector<ObjectInfo> begun;
  std::string text;
  size_t pieces = 0;
  bool enough = false;

  Status Begin(const ObjectInfo& info) override {
    begun.push_back(info);
    return {};
  }
  Status Write(ByteView bytes) override {
    ++pieces;
    text += AsText(bytes);
    if (enough) return Fail(ErrorCode::kCancelled, "enough");
    return {};
  }
};

TEST_F(S3StoreTest, AReadGoesToTheReaderAsItComes) {
  const std::string body(5'000'000, 'b');
  TestServer server([&](const SeenRequest&) {
    return ScriptedReply::Http(200, {{"ETag", "\"e\""}, {"x-amz-meta-write", "w"}}, body);
  });
  KeepingSink sink;
  const auto info = Open(server)->Read("k", {}, sink, context_);
  ASSERT_TRUE(info.has_value()) << info.error().ToString();
  EXPECT_TRUE(sink.text == body);
  EXPECT_GT(sink.pieces, 1u);
  ASSERT_EQ(sink.begun.size(), 1u);
  EXPECT_EQ(sink.begun[0].size, body.size());
  EXPECT_EQ(sink.begun[0].version, "\"e\"");
  EXPECT_EQ(sink.begun[0].metadata, (Metadata{{"write", "w"}}));
  EXPECT_EQ(info->size, body.size());
}

TEST_F(S3StoreTest, ARangeThatIsReadKnowsTheWholesSize) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(206, {{"ETag", "\"e\""}, {"Content-Range", "bytes 5-7/10"}}, "567");
  });
  KeepingSink sink;
  GetOptions get;
  get.offset = 5;
  get.length = 3;
  ASSERT_TRUE(Open(server)->Read("k", get, sink, context_).has_value());
  EXPECT_EQ(sink.text, "567");
  EXPECT_EQ(sink.begun.at(0).size, 10u);
}

TEST_F(S3StoreTest, NothingOfAnAnswerThatIsNotTheOneReachesTheReader) {
  ScriptedReply reply;
  TestServer server([&](const SeenRequest&) { return reply; });
  const auto store = Open(server);
  GetOptions get;
  get.offset = 5;
  get.length = 3;
  for (const ScriptedReply& wrong :
       {ScriptedReply::Http(200, kTag, "0123456789"),
        ScriptedReply::Http(206, {{"ETag", "\"e\""}, {"Content-Range", "bytes 0-2/10"}}, "012"),
        ScriptedReply::Http(206, {{"ETag", "\"e\""}, {"Content-Range", "bytes 5-6/10"}}, "56"),
        ScriptedReply::Http(206, {{"ETag", "\"e\""}, {"Content-Range", "bytes 5-9/10"}}, "56789"),
        ScriptedReply::Http(206, {{"ETag", "\"e\""}, {"Content-Range", "bytes 5-7/6"}}, "567"),
        ScriptedReply::Http(206, {{"Content-Range", "bytes 5-7/10"}}, "567"),
        ScriptedReply::Http(412, {}, ""), ScriptedReply::Http(503, {}, "some text")}) {
    reply = wrong;
    KeepingSink sink;
    EXPECT_FALSE(store->Read("k", get, sink, context_).has_value());
    EXPECT_EQ(sink.begun.size(), 0u) << wrong.bytes;
    EXPECT_EQ(sink.text, "") << wrong.bytes;
  }
}

TEST_F(S3StoreTest, AReaderThatHasEnoughEndsTheReadWithItsOwnWord) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, "body"); });
  KeepingSink sink;
  sink.enough = true;
  const auto read = Open(server)->Read("k", {}, sink, context_);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(read.error().message, "enough");
  EXPECT_EQ(sink.pieces, 1u);
}

// A proxy that changes the coding takes the length off.
TEST_F(S3StoreTest, AnAnswerWithoutALengthIsHeldBackUntilItsSizeIsKnown) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply = ScriptedReply::Http(200, kTag, "body", false);
    reply.close = true;
    return reply;
  });
  const auto store = Open(server);
  KeepingSink sink;
  const auto read = store->Read("k", {}, sink, context_);
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(sink.begun.at(0).size, 4u);
  EXPECT_EQ(sink.text, "body");
  EXPECT_EQ(AsText(store->Get("k", {}, context_)->body.view()), "body");
}

TEST_F(S3StoreTest, AnEmptyObjectIsReadWithABeginAndNoByte) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ""); });
  KeepingSink sink;
  ASSERT_TRUE(Open(server)->Read("k", {}, sink, context_).has_value());
  EXPECT_EQ(sink.begun.size(), 1u);
  EXPECT_EQ(sink.pieces, 0u);
}

TEST_F(S3StoreTest, TheLimitsOfPartsAreAmazons) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ""); });
  const Capabilities capabilities = Open(server)->capabilities();
  EXPECT_TRUE(capabilities.parts);
  EXPECT_TRUE(capabilities.parallel);
  EXPECT_EQ(capabilities.min_part_bytes, uint64_t{5} << 20);
  EXPECT_EQ(capabilities.max_part_bytes, uint64_t{5} << 30);
  EXPECT_EQ(capabilities.max_parts, 10'000);
  EXPECT_GE(capabilities.max_object_bytes, uint64_t{5} << 40);
}

TEST_F(S3StoreTest, ADeclaredLackOfConditionsIsDeclaredUpwards) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ""); });
  EXPECT_TRUE(Open(server)->capabilities().conditional_put);
  EXPECT_FALSE(Open(server)->capabilities().conditional_remove);
  EXPECT_FALSE(Open(server, {{"conditional_writes", "never"}})->capabilities().conditional_put);
}

TEST_F(S3StoreTest, BodiesAreSignedOverPlainHttpUnlessSaidOtherwise) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ""); });
  ASSERT_TRUE(Open(server)->Put("k", Body("Welcome to Amazon S3."), {}, context_).has_value());
  ASSERT_TRUE(
      Open(server, {{"payload_signing", "never"}})->Put("k", Body("a"), {}, context_).has_value());
  EXPECT_EQ(server.requests().at(0).headers.Get("x-amz-content-sha256"),
            "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(server.requests().at(1).headers.Get("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
}

// boto/boto3#4392, #4398, #4401: OVH, Qumulo, Backblaze and others refuse what they do not know.
TEST_F(S3StoreTest, AChecksumThatIsRefusedIsLeftOutFromThenOn) {
  for (const auto& refusal : std::vector<std::pair<int, std::string>>{
           {400, "InvalidArgument"}, {400, "InvalidRequest"}, {501, "NotImplemented"}, {400, ""}}) {
    const int status = refusal.first;
    const std::string& code = refusal.second;
    TestServer server([&](const SeenRequest& seen) {
      if (!seen.headers.Find("x-amz-checksum-crc32c")) return ScriptedReply::Http(200, kTag, "");
      return ScriptedReply::Http(status, {}, code.empty() ? "" : ErrorXml(code));
    });
    const auto store = Open(server);
    ASSERT_TRUE(store->Put("k", Body("body"), {}, context_).has_value()) << code;
    ASSERT_TRUE(store->Put("k", Body("body"), {}, context_).has_value()) << code;
    ASSERT_TRUE(store->Put("k", Body("body"), {}, context_).has_value()) << code;
    // Without a word of the store's own it takes two refusals: a balancer's 400 is about anything.
    const size_t asked = code.empty() ? 5 : 4;
    EXPECT_EQ(server.requests().size(), asked) << code;
    EXPECT_EQ(server.requests()[0].headers.Get("x-amz-checksum-crc32c"), "Jj/JUA==");

    const auto always = Open(server, {{"checksums", "always"}});
    EXPECT_FALSE(always->Put("k", Body("body"), {}, context_).has_value()) << code;
    const auto never = Open(server, {{"checksums", "never"}});
    EXPECT_TRUE(never->Put("k", Body("body"), {}, context_).has_value()) << code;
    EXPECT_EQ(server.requests().size(), asked + 2) << code;
  }
}

TEST_F(S3StoreTest, ARefusalForAnotherReasonDoesNotEndTheChecksums) {
  bool refuse = true;
  TestServer server([&](const SeenRequest&) {
    return refuse ? ScriptedReply::Http(400, {}, ErrorXml("InvalidArgument"))
                  : ScriptedReply::Http(200, kTag, "");
  });
  const auto store = Open(server);
  EXPECT_FALSE(store->Put("k", Body("body"), {}, context_).has_value());
  refuse = false;
  EXPECT_TRUE(store->Put("k", Body("body"), {}, context_).has_value());
  EXPECT_TRUE(server.requests().back().headers.Find("x-amz-checksum-crc32c").has_value());
}

TEST_F(S3StoreTest, BytesThatWereDamagedOnTheirWayAreSentAgainWithTheirChecksum) {
  TestServer server(
      [](const SeenRequest&) { return ScriptedReply::Http(400, {}, ErrorXml("BadDigest")); });
  const auto put = Open(server)->Put("k", Body("body"), {}, context_);
  ASSERT_FALSE(put.has_value());
  EXPECT_TRUE(put.error().retryable);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(S3StoreTest, TheCallersOwnChecksumIsSent) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ""); });
  PutOptions put;
  put.crc32c = 1;
  ASSERT_TRUE(Open(server)->Put("k", Body("body"), put, context_).has_value());
  EXPECT_EQ(server.requests()[0].headers.Get("x-amz-checksum-crc32c"), "AAAAAQ==");
}

TEST_F(S3StoreTest, ABodyIsHashedOnceForAllItsSendings) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(503, {}, ""); });
  const auto store = Open(server);
  std::string text = "Welcome to Amazon S3.";
  const Body body(text);
  EXPECT_FALSE(store->Put("k", body, {}, context_).has_value());
  // Shown by what must not be done: the bytes change, the hash does not.
  text[0] = 'X';
  EXPECT_FALSE(store->Put("k", body, {}, context_).has_value());
  for (const SeenRequest& seen : server.requests()) {
    EXPECT_EQ(seen.headers.Get("x-amz-content-sha256"),
              "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  }
}

TEST_F(S3StoreTest, NoCredentialsMeansNoRequest) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, kTag, ""); });
  const auto store = Open(server, {{"access_key_id", ""}, {"secret_access_key", ""}});
  const auto put = store->Put("k", Body("a"), {}, context_);
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, ErrorCode::kDenied);
  EXPECT_THAT(put.error().message, HasSubstr("AWS_ACCESS_KEY_ID"));
  EXPECT_EQ(server.accepted(), 0);
}

TEST(OpenS3StoreTest, OpeningMakesNoRequestAndRefusesWhatIsWrong) {
  StoreUri uri;
  uri.scheme = "s3";
  uri.bucket = "bucket";
  const auto store = OpenS3Store(uri, {{"endpoint_url", "http://127.0.0.1:1"}});
  ASSERT_TRUE(store.has_value());
  EXPECT_EQ((*store)->root(), "s3://bucket");
  EXPECT_EQ((*store)->scheme(), "s3");
  EXPECT_EQ(OpenS3Store(uri, {{"bogus", "1"}}).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace airfreight::s3
