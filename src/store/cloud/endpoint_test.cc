#include "store/cloud/endpoint.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight {
namespace {

constexpr EndpointWords kWords{"https://store.example.com", "a connection"};

TEST(CloudEndpoint, MessagesNameTheSourceAndShowARightUrl) {
  const auto wrong = ParseEndpoint("store.example.com", "[airfreight] x_endpoint_url", kWords);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(
      wrong.error().message,
      "[airfreight] x_endpoint_url is 'store.example.com': it does not begin with https:// or "
      "http://; right is e.g. 'https://store.example.com'");
  const auto password = ParseEndpoint("https://u:hunter2@host", "X", kWords);
  ASSERT_FALSE(password);
  EXPECT_EQ(password.error().message,
            "X holds a user or password (not shown); keys belong into a connection");
}

TEST(CloudEndpoint, AQueryMayBeASecretAndIsNotShown) {
  const auto wrong = ParseEndpoint("https://a.blob.example.com/?sv=1&sig=hunter2", "X", kWords);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "X has a query or a fragment (not shown): only a path may follow the host; right is "
            "e.g. 'https://store.example.com'");
}

TEST(CloudEndpoint, OnlyThisMachineIsLoopback) {
  const auto loopback = [](const std::string& url) {
    return IsLoopback(ParseEndpoint(url, "X", kWords).value());
  };
  EXPECT_TRUE(loopback("http://127.0.0.1:10000/devstoreaccount1"));
  EXPECT_TRUE(loopback("http://127.1.2.3"));
  EXPECT_TRUE(loopback("http://LOCALHOST:80"));
  EXPECT_TRUE(loopback("http://[::1]:10000"));
  EXPECT_TRUE(loopback("http://[::1]"));
  EXPECT_FALSE(loopback("http://127.example.com"));
  EXPECT_FALSE(loopback("http://localhost.example.com"));
  EXPECT_FALSE(loopback("http://10.0.0.1:10000"));
  EXPECT_FALSE(loopback("http://[2001:db8::1]:10000"));
}

}  // namespace
}  // namespace airfreight
