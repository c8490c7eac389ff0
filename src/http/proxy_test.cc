#include "http/proxy.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace airfreight {
namespace {

Proxy Find(std::string_view url, std::map<std::string, std::string> variables) {
  Environment environment;
  environment.variable = [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return FindProxy(url, environment);
}

TEST(FindProxyTest, EachSchemeHasItsOwnAndLowerCaseComesFirst) {
  const std::map<std::string, std::string> all{{"http_proxy", "a"},  {"HTTP_PROXY", "b"},
                                               {"https_proxy", "c"}, {"HTTPS_PROXY", "d"},
                                               {"all_proxy", "e"},   {"ALL_PROXY", "f"}};
  EXPECT_EQ(Find("http://h/", all).url, "a");
  EXPECT_EQ(Find("HTTPS://h/", all).url, "c");
  EXPECT_EQ(Find("https://h/", {{"HTTPS_PROXY", "d"}, {"all_proxy", "e"}}).url, "d");
  EXPECT_EQ(Find("https://h/", {{"HTTP_PROXY", "b"}, {"ALL_PROXY", "f"}}).url, "f");
  EXPECT_EQ(Find("https://h/", {{"HTTP_PROXY", "b"}}).url, "");
  EXPECT_STREQ(Find("https://h/", {{"HTTPS_PROXY", "d"}}).source, "HTTPS_PROXY");
}

// httpoxy.org
TEST(FindProxyTest, AClientsHeaderIsNoProxyInCgi) {
  EXPECT_EQ(Find("http://h/", {{"HTTP_PROXY", "b"}}).url, "b");
  EXPECT_EQ(Find("http://h/", {{"HTTP_PROXY", "b"}, {"REQUEST_METHOD", "GET"}}).url, "");
}

TEST(FindProxyTest, ExemptHostsComeWithTheProxyOnly) {
  EXPECT_EQ(Find("http://h/", {{"http_proxy", "a"}, {"NO_PROXY", "h, .local"}}).exempt,
            "h, .local");
  EXPECT_EQ(Find("http://h/", {{"http_proxy", "a"}, {"no_proxy", "x"}, {"NO_PROXY", "y"}}).exempt,
            "x");
  EXPECT_EQ(Find("http://h/", {{"NO_PROXY", "h"}}).exempt, "");
}

}  // namespace
}  // namespace airfreight
