// What CurlTransport takes for a TLS server, and what it says of one that it does not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "http/curl_transport.h"
#include "http/tls_test_server.h"

namespace airfreight {
namespace {

using ::airfreight::testing::TlsTestServer;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace airfreight
