#include "http/curl_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "http/test_server.h"

namespace airfreight {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::HasSubstr;

// The machine's own proxy settings must not reach into these tests.
Environment Bare(std::map<std::string, std::string> variables = {}) {
  Environment environment = Environment::OfProcess();
  environment.variable = [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return environment;
}

HttpRequest Request(const TestServer& server, std::string method = "GET",
                    std::string path = "/bucket/key") {
  HttpRequest request;
  request.method = std::move(method);
  request.url = server.url() + path;
  return request;
}

class CurlTransportTest : public ::testing::Test {
 protected:
  CurlTransport transport_{CurlTransportOptions{}, Bare()};
  Context context_;
};

TEST_F(CurlTransportTest, ManyRequestsTravelOverOneConnection) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, "hello"); });
  for (int i = 0; i < 20; ++i) {
    BufferSink sink;
    const auto response = transport_.Perform(Request(server), context_, &sink);
    ASSERT_TRUE(response.has_value()) << response.error().ToString();
    EXPECT_EQ(AsText(sink.view()), "hello");
  }
  EXPECT_EQ(server.requests().size(), 20u);
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(CurlTransportTest, TheBodyLiesInOneAllocationOfItsLength) {
  const std::string body(3'000'000, 'x');
  TestServer server([&](const SeenRequest&) { return ScriptedReply::Http(200, {}, body); });
  BufferSink sink;
  const auto response = transport_.Perform(Request(server), context_, &sink);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->content_length, body.size());
  EXPECT_EQ(sink.buffer().capacity(), body.size());
  EXPECT_EQ(AsText(sink.view()), body);
}

TEST_F(CurlTransportTest, ABodyWithoutALengthIsReadToItsEnd) {
  const std::string body(2'000'000, 'y');
  TestServer server([&](const SeenRequest&) {
    ScriptedReply reply = ScriptedReply::Http(200, {{"Connection", "close"}}, body, false);
    reply.close = true;
    return reply;
  });
  BufferSink sink;
  ASSERT_TRUE(transport_.Perform(Request(server), context_, &sink).has_value());
  EXPECT_EQ(AsText(sink.view()), body);
}

// tensorlakeai/tensorlake#469: a download that ended early came back as a short value.
TEST_F(CurlTransportTest, AShortBodyIsARetryableErrorNeverAResult) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply = ScriptedReply::Http(200, {{"Content-Length", "100"}}, "only this", false);
    reply.close = true;
    return reply;
  });
  BufferSink sink;
  const auto response = transport_.Perform(Request(server), context_, &sink);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(response.error().retryable);
  EXPECT_THAT(response.error().message, HasSubstr("ended early"));
}

TEST_F(CurlTransportTest, AHeadThatBreaksOffOrIsNoneIsRetryableNeverAResult) {
  std::string bytes;
  TestServer server([&](const SeenRequest&) {
    ScriptedReply reply;
    reply.bytes = bytes;
    reply.close = true;
    return reply;
  });
  for (const char* head : {"HTTP/1.1 200 OK\r\nContent-Type: te", "HTTP/1.1 100 Continue\r\n\r\n",
                           "HTTP/1.", "JTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}) {
    bytes = head;
    const auto response = transport_.Perform(Request(server), context_, nullptr);
    ASSERT_FALSE(response.has_value()) << head;
    EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << response.error().message;
    EXPECT_TRUE(response.error().retryable) << response.error().message;
  }
}

TEST_F(CurlTransportTest, AResetBeforeTheAnswerIsRetryable) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply;
    reply.reset = true;
    return reply;
  });
  const auto response = transport_.Perform(Request(server), context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(response.error().retryable);
}

TEST_F(CurlTransportTest, AHostThatDoesNotResolveIsRetryableEachTime) {
  HttpRequest request;
  request.method = "GET";
  request.url = "http://nowhere.invalid/key";  // RFC 2606: never resolves.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto response = transport_.Perform(request, context_, nullptr);
    ASSERT_FALSE(response.has_value());
    EXPECT_EQ(response.error().code, ErrorCode::kUnavailable) << response.error().message;
    EXPECT_TRUE(response.error().retryable);
  }
}

// durch/rust-s3#405, apache/datafusion#10478: stores close idle connections after seconds. The
// client may have seen that when it sends its next request, or not yet.
TEST_F(CurlTransportTest, AConnectionClosedWhileIdleIsReplacedUnseen) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply = ScriptedReply::Http(200, {}, "ok");
    reply.close = true;  // Without saying so in a header.
    return reply;
  });
  const std::string text(300'000, 'z');
  for (int i = 0; i < 3; ++i) {
    HttpRequest request = Request(server, "PUT");
    request.body.Append(AsBytes(text));
    const auto response = transport_.Perform(request, context_, nullptr);
    ASSERT_TRUE(response.has_value()) << response.error().ToString();
    server.AwaitClosed(i + 1);
  }
  for (const SeenRequest& seen : server.requests()) EXPECT_EQ(seen.body, text);
  EXPECT_EQ(server.accepted(), 3);
}

TEST_F(CurlTransportTest, AConnectionResetUnderTheNextRequestIsReplacedUnseen) {
  for (const size_t size : {0u, 10u, 300'000u, 8'000'000u}) {
    for (const char* method : {"GET", "PUT", "POST", "DELETE"}) {
      TestServer server([](const SeenRequest&) {
        ScriptedReply reply = ScriptedReply::Http(200, {}, "ok");
        reply.reset_next = true;
        return reply;
      });
      const std::string text(size, 'z');
      for (int i = 0; i < 3; ++i) {
        HttpRequest request = Request(server, method);
        request.body.Append(AsBytes(text));
        BufferSink sink;
        const auto response = transport_.Perform(request, context_, &sink);
        ASSERT_TRUE(response.has_value()) << method << size << response.error().ToString();
        EXPECT_EQ(AsText(sink.view()), "ok");
      }
      EXPECT_EQ(server.accepted(), 3);
      ASSERT_EQ(server.requests().size(), 3u);
      if (std::string_view(method).starts_with("P")) {
        for (const SeenRequest& seen : server.requests()) EXPECT_TRUE(seen.body == text);
      }
    }
  }
}

TEST_F(CurlTransportTest, AFreshConnectionThatFailsIsNotTriedAgainHere) {
  TestServer server([](const SeenRequest& seen) {
    ScriptedReply reply;
    if (seen.connection == 0) reply = ScriptedReply::Http(200, {}, "ok");
    reply.reset_next = seen.connection == 0;
    reply.reset = seen.connection > 0;
    return reply;
  });
  ASSERT_TRUE(transport_.Perform(Request(server), context_, nullptr).has_value());
  const auto response = transport_.Perform(Request(server), context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(response.error().retryable);
  EXPECT_EQ(server.accepted(), 2);
}

TEST_F(CurlTransportTest, AnAnswerThatHasBegunOnAKeptConnectionIsNotAskedForAgainHere) {
  TestServer server([](const SeenRequest& seen) {
    ScriptedReply reply = ScriptedReply::Http(200, {{"Content-Length", "10"}}, "", false);
    reply.reset = seen.target == "/second";
    if (!reply.reset) reply.bytes += "0123456789";
    return reply;
  });
  ASSERT_TRUE(transport_.Perform(Request(server), context_, nullptr).has_value());
  BufferSink sink;
  const auto response = transport_.Perform(Request(server, "GET", "/second"), context_, &sink);
  ASSERT_FALSE(response.has_value());
  EXPECT_TRUE(response.error().retryable);
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(CurlTransportTest, ALargeBodyIsSentFromItsSegmentsInOrder) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  std::vector<std::string> parts;
  std::string whole;
  for (const size_t size : {1u, 80u, 40'000'000u, 7u, 60'000'000u, 3u}) {
    parts.emplace_back(size, static_cast<char>('a' + parts.size()));
    whole += parts.back();
  }
  HttpRequest request = Request(server, "PUT");
  for (const std::string& part : parts) request.body.Append(AsBytes(part));
  const auto response = transport_.Perform(request, context_, nullptr);
  ASSERT_TRUE(response.has_value()) << response.error().ToString();
  const auto seen = server.requests();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].headers.Get("content-length"), std::to_string(whole.size()));
  EXPECT_TRUE(seen[0].body == whole);
}

// Up to 64 KiB go together with the head, as a form would.
TEST_F(CurlTransportTest, ABodyThatGoesWithItsHeadIsWholeAndIsNotCalledAForm) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  const std::string first(40'000, '\0');
  const std::string more(40'000, 'b');
  for (const size_t size : {1u, 40'000u, 40'001u, 65'534u, 65'535u, 65'536u, 80'000u}) {
    HttpRequest request = Request(server, "PUT");
    request.body.Append(AsBytes(first).first(std::min(size, first.size())));
    if (size > first.size()) request.body.Append(AsBytes(more).first(size - first.size()));
    ASSERT_TRUE(transport_.Perform(request, context_, nullptr).has_value());
    const SeenRequest seen = server.requests().back();
    EXPECT_EQ(seen.method, "PUT");
    EXPECT_TRUE(seen.body == (first + more).substr(0, size)) << size;
    EXPECT_EQ(seen.headers.Get("content-length"), std::to_string(size));
    EXPECT_FALSE(seen.headers.Find("content-type").has_value()) << size;
    EXPECT_FALSE(seen.headers.Find("expect").has_value());
  }
  HttpRequest typed = Request(server, "PUT");
  typed.headers.Set("Content-Type", "text/plain");
  typed.body.Append(AsBytes("x"));
  ASSERT_TRUE(transport_.Perform(typed, context_, nullptr).has_value());
  EXPECT_EQ(server.requests().back().headers.Get("content-type"), "text/plain");
}

// aws/aws-cli#1116, cloudflare/workerd#6845.
TEST_F(CurlTransportTest, NoExpectHeaderIsSentWithALargeBody) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  const std::string text(4'000'000, 'e');
  HttpRequest request = Request(server, "PUT");
  request.body.Append(AsBytes(text));
  ASSERT_TRUE(transport_.Perform(request, context_, nullptr).has_value());
  const Headers headers = server.requests().at(0).headers;
  EXPECT_FALSE(headers.Find("expect").has_value());
  EXPECT_FALSE(headers.Find("transfer-encoding").has_value());
  EXPECT_FALSE(headers.Find("accept-encoding").has_value());
}

TEST_F(CurlTransportTest, AnEmptyPutSaysThatItIsEmpty) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  ASSERT_TRUE(transport_.Perform(Request(server, "PUT"), context_, nullptr).has_value());
  EXPECT_EQ(server.requests().at(0).headers.Get("content-length"), "0");
}

TEST_F(CurlTransportTest, ThePathGoesOnTheWireAsItIs) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  const std::string path = "/b/../a/./c//d%2E%2E/%2B%3a?x=%20&y";
  ASSERT_TRUE(transport_.Perform(Request(server, "DELETE", path), context_, nullptr).has_value());
  EXPECT_EQ(server.requests().at(0).target, path);
  EXPECT_EQ(server.requests().at(0).method, "DELETE");
}

TEST_F(CurlTransportTest, HeadHasALengthAndNoBody) {
  TestServer server([](const SeenRequest& seen) {
    if (seen.method != "HEAD") return ScriptedReply::Http(200, {}, "body");
    return ScriptedReply::Http(200, {{"Content-Length", "1000"}, {"ETag", "\"e\""}}, "", false);
  });
  const auto response = transport_.Perform(Request(server, "HEAD"), context_, nullptr);
  ASSERT_TRUE(response.has_value()) << response.error().ToString();
  EXPECT_EQ(response->content_length, 1000u);
  EXPECT_EQ(response->headers.Get("etag"), "\"e\"");
  // The connection is clean: the next answer is the next request's.
  BufferSink sink;
  ASSERT_TRUE(transport_.Perform(Request(server), context_, &sink).has_value());
  EXPECT_EQ(AsText(sink.view()), "body");
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(CurlTransportTest, AnErrorIsAnAnswerWithItsDocument) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(404, {}, "<Error/>"); });
  BufferSink sink;
  const auto response = transport_.Perform(Request(server), context_, &sink);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->error_document, "<Error/>");
  EXPECT_EQ(sink.view().size(), 0u);
}

TEST_F(CurlTransportTest, AnEndlessErrorDocumentIsCut) {
  TestServer server(
      [](const SeenRequest&) { return ScriptedReply::Http(500, {}, std::string(1'000'000, 'E')); });
  const auto response = transport_.Perform(Request(server), context_, nullptr);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->error_document.size(), kMaxErrorDocument);
}

TEST_F(CurlTransportTest, ARedirectIsNotFollowed) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(301, {{"Location", "http://127.0.0.1:1/"}}, "");
  });
  const auto response = transport_.Perform(Request(server), context_, nullptr);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 301);
}

TEST_F(CurlTransportTest, AnInterimAnswerIsNotTheAnswer) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply = ScriptedReply::Http(200, {}, "real");
    reply.bytes = "HTTP/1.1 100 Continue\r\nx-proxy: 1\r\n\r\n" + reply.bytes;
    return reply;
  });
  BufferSink sink;
  const auto response = transport_.Perform(Request(server), context_, &sink);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->status, 200);
  EXPECT_FALSE(response->headers.Find("x-proxy").has_value());
  EXPECT_EQ(AsText(sink.view()), "real");
}

TEST_F(CurlTransportTest, AHeadOfTooManyBytesEndsTheTransfer) {
  TestServer server([](const SeenRequest&) {
    Headers headers;
    for (int i = 0; i < 20; ++i) headers.Set("x-" + std::to_string(i), std::string(8'000, 'h'));
    return ScriptedReply::Http(200, headers, "");
  });
  const auto response = transport_.Perform(Request(server), context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kInternal);
  EXPECT_FALSE(response.error().retryable);
}

TEST_F(CurlTransportTest, ALengthAboveTheSinksLimitIsTooLarge) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, "12345"); });
  BufferSink sink(4);
  const auto response = transport_.Perform(Request(server), context_, &sink);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kTooLarge);
}

TEST_F(CurlTransportTest, TheDeadlineEndsASilentTransfer) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply;
    reply.hang = true;
    return reply;
  });
  context_.deadline = Context::Clock::now() + std::chrono::milliseconds(50);
  const auto response = transport_.Perform(Request(server), context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kTimeout);
}

TEST_F(CurlTransportTest, NothingIsSentAfterTheDeadline) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  context_.deadline = Context::Clock::now();
  EXPECT_EQ(transport_.Perform(Request(server), context_, nullptr).error().code,
            ErrorCode::kTimeout);
  EXPECT_EQ(server.accepted(), 0);
}

TEST_F(CurlTransportTest, CancellationEndsASilentTransfer) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply;
    reply.hang = true;
    return reply;
  });
  int looks = 0;
  context_.cancelled = [&looks] { return ++looks >= 3; };
  const auto response = transport_.Perform(Request(server), context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(response.error().retryable);
}

TEST_F(CurlTransportTest, NothingIsSentForACallThatIsCancelledAlready) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  context_.cancelled = [] { return true; };
  EXPECT_EQ(transport_.Perform(Request(server), context_, nullptr).error().code,
            ErrorCode::kCancelled);
  EXPECT_EQ(server.accepted(), 0);
}

// aws/aws-sdk-js-v3#6805: an upload that sat idle until the server timed it out.
TEST_F(CurlTransportTest, ASilentServerIsLeftAfterTheIdleTimeout) {
  TestServer server([](const SeenRequest&) {
    ScriptedReply reply;
    reply.hang = true;
    return reply;
  });
  CurlTransportOptions options;
  options.idle_timeout = std::chrono::seconds(1);
  options.names.idle_timeout = "[airfreight] az_idle_timeout";
  CurlTransport transport(options, Bare());
  const auto response = transport.Perform(Request(server), context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(response.error().retryable);
  EXPECT_THAT(response.error().message, HasSubstr(" ([airfreight] az_idle_timeout)"));
}

TEST_F(CurlTransportTest, ARefusedConnectionIsUnavailable) {
  HttpRequest request;
  {
    TestServer server([](const SeenRequest&) { return ScriptedReply{}; });
    request.url = server.url() + "/secret/path?token=x";
  }
  const auto response = transport_.Perform(request, context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(response.error().retryable);
  EXPECT_THAT(response.error().message, ::testing::Not(HasSubstr("token")));
}

TEST_F(CurlTransportTest, OnlyHttpIsSpoken) {
  HttpRequest request;
  request.url = "file:///etc/passwd";
  const auto response = transport_.Perform(request, context_, nullptr);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kInvalid);
}

TEST_F(CurlTransportTest, AHeaderCannotSmuggleAnother) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  HttpRequest request = Request(server);
  request.headers.Set("x-amz-meta-a", "b\r\nx-evil: 1");
  EXPECT_EQ(transport_.Perform(request, context_, nullptr).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(server.accepted(), 0);
}

TEST_F(CurlTransportTest, AnEmptyHeaderIsSentEmpty) {
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  HttpRequest request = Request(server);
  request.headers.Set("x-amz-meta-a", "");
  ASSERT_TRUE(transport_.Perform(request, context_, nullptr).has_value());
  EXPECT_EQ(server.requests().at(0).headers.Find("x-amz-meta-a"), "");
}

// apache/arrow#36770: proxy variables were ignored, and requests left for the open network.
TEST_F(CurlTransportTest, AProxyIsGivenTheWholeUrlAndItsOwnCredentials) {
  TestServer proxy([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  HttpRequest request;
  request.url = "http://store.invalid/b/k";
  const std::string url = "http://user:pass@" + proxy.url().substr(7);
  CurlTransport transport({}, Bare({{"HTTP_PROXY", url}}));
  ASSERT_TRUE(transport.Perform(request, context_, nullptr).has_value());
  EXPECT_EQ(proxy.requests().at(0).target, "http://store.invalid/b/k");
  EXPECT_EQ(proxy.requests().at(0).headers.Get("proxy-authorization"), "Basic dXNlcjpwYXNz");
}

TEST_F(CurlTransportTest, AnExemptHostIsReachedWithoutTheProxy) {
  TestServer proxy([](const SeenRequest&) { return ScriptedReply::Http(502, {}, ""); });
  TestServer server([](const SeenRequest&) { return ScriptedReply::Http(200, {}, ""); });
  for (const char* exempt : {"127.0.0.1", "x.example,127.0.0.0/8", "*"}) {
    CurlTransport transport({}, Bare({{"http_proxy", proxy.url()}, {"NO_PROXY", exempt}}));
    const auto response = transport.Perform(Request(server), context_, nullptr);
    ASSERT_TRUE(response.has_value()) << response.error().ToString();
    EXPECT_EQ(response->status, 200) << exempt;
  }
  EXPECT_EQ(proxy.requests().size(), 0u);
}

TEST_F(CurlTransportTest, ThreadsHaveConnectionsOfTheirOwnAndKeepThem) {
  TestServer server(
      [](const SeenRequest& seen) { return ScriptedReply::Http(200, {}, seen.target); });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
        BufferSink sink;
        const auto response = transport_.Perform(Request(server, "GET", path), Context{}, &sink);
        if (!response || AsText(sink.view()) != path) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(server.accepted(), 4);
}

}  // namespace
}  // namespace airfreight
