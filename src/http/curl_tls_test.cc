// What CurlTransport takes for a TLS server, and what it says of one that it does not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "http/curl_transport.h"
#include "http/test_server.h"
#include "http/tls_test_server.h"

namespace airfreight {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::airfreight::testing::TlsTestServer;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLoopback[] = "IP:127.0.0.1";

Environment With(std::map<std::string, std::string> variables) {
  Environment environment = Environment::OfProcess();
  environment.variable = [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return environment;
}

Result<HttpResponse> Get(const TlsTestServer& server, CurlTransportOptions options,
                         std::map<std::string, std::string> variables = {}) {
  options.names.ca_bundle = "[airfreight] s3_ca_bundle";
  options.names.ca_variable = "AWS_CA_BUNDLE";
  CurlTransport transport(std::move(options), With(std::move(variables)));
  HttpRequest request;
  request.url = server.url();
  return transport.Perform(request, {}, nullptr);
}

CurlTransportOptions Trusting(const TlsTestServer& server) {
  CurlTransportOptions options;
  options.ca_bundle = server.ca_file();
  return options;
}

TEST(CurlTlsTest, ACertificateOfANamedAuthorityIsTaken) {
  const TlsTestServer server(kLoopback);
  const auto by_setting = Get(server, Trusting(server));
  ASSERT_TRUE(by_setting.has_value()) << by_setting.error().ToString();
  EXPECT_EQ(by_setting->status, 200);
  // apache/arrow#40754: the variables that people set are looked at.
  for (const char* name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    const auto by_variable = Get(server, {}, {{name, server.ca_file()}});
    EXPECT_TRUE(by_variable.has_value()) << name << by_variable.error().ToString();
  }
}

TEST(CurlTlsTest, AnUnknownAuthorityIsRefusedForGoodAndTheMessageSaysWhatToSet) {
  const TlsTestServer server(kLoopback);
  const TlsTestServer other(kLoopback);
  const auto refused = Get(server, Trusting(other));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(refused.error().retryable);
  EXPECT_THAT(refused.error().message, HasSubstr(other.ca_file()));
  EXPECT_THAT(refused.error().message, HasSubstr("AWS_CA_BUNDLE"));
  EXPECT_EQ(server.requests(), 0);
}

TEST(CurlTlsTest, ACertificateOfAnotherNameIsRefusedForGood) {
  const TlsTestServer server("DNS:elsewhere.example");
  const auto refused = Get(server, Trusting(server));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(refused.error().retryable);
  EXPECT_EQ(server.requests(), 0);
}

TEST(CurlTlsTest, NothingIsCheckedWhereThatIsWhatWasSet) {
  const TlsTestServer server("DNS:elsewhere.example");
  CurlTransportOptions options;
  options.verify = false;
  const auto response = Get(server, options);
  EXPECT_TRUE(response.has_value()) << response.error().ToString();
}

TEST(CurlTlsTest, AServerThatSpeaksOnlyOldVersionsIsRefused) {
  const TlsTestServer server(kLoopback, TLS1_1_VERSION);
  const auto refused = Get(server, Trusting(server));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(server.requests(), 0);
  const TlsTestServer old_enough(kLoopback, TLS1_2_VERSION);
  EXPECT_TRUE(Get(old_enough, Trusting(old_enough)).has_value());
}

TEST(CurlTlsTest, AProxyTunnelsAndSeesTheHostOnly) {
  const TlsTestServer server(kLoopback);
  TestServer proxy([&](const SeenRequest&) {
    ScriptedReply reply = ScriptedReply::Http(200, {}, "", false);
    reply.tunnel_to = server.port();
    return reply;
  });
  const std::string url = "http://user:pass@" + proxy.url().substr(7);
  const auto response = Get(server, Trusting(server), {{"HTTPS_PROXY", url}});
  ASSERT_TRUE(response.has_value()) << response.error().ToString();
  EXPECT_EQ(server.requests(), 1);
  ASSERT_EQ(proxy.requests().size(), 1u);
  const SeenRequest seen = proxy.requests().at(0);
  EXPECT_EQ(seen.method, "CONNECT");
  EXPECT_EQ(seen.target, "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(seen.headers.Get("proxy-authorization"), "Basic dXNlcjpwYXNz");
  EXPECT_FALSE(seen.headers.Find("authorization").has_value());
}

TEST(CurlTlsTest, WhatAProxyRefusesIsSaidWithoutItsPassword) {
  const TlsTestServer server(kLoopback);
  for (const auto& [status, code, says] :
       {std::tuple{407, ErrorCode::kDenied, "wants a user"},
        {403, ErrorCode::kDenied, "NO_PROXY"},
        {503, ErrorCode::kUnavailable, "answered 503 to CONNECT"}}) {
    TestServer proxy([answer = status](const SeenRequest&) {
      ScriptedReply reply = ScriptedReply::Http(answer, {}, "");
      reply.close = true;
      return reply;
    });
    const std::string url = "http://user:hidden@" + proxy.url().substr(7);
    const auto refused = Get(server, Trusting(server), {{"https_proxy", url}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, code) << status;
    EXPECT_EQ(refused.error().retryable, status >= 500) << status;
    EXPECT_THAT(refused.error().message, HasSubstr(says));
    EXPECT_THAT(refused.error().message, HasSubstr("https_proxy"));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("hidden")));
  }
  EXPECT_EQ(server.requests(), 0);
}

}  // namespace
}  // namespace airfreight
