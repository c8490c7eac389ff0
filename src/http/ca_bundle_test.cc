#include "http/ca_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace airfreight {
namespace {

using ::testing::HasSubstr;

Environment Fake(std::map<std::string, std::string> variables, std::set<std::string> files) {
  Environment environment;
  environment.variable = [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  environment.readable = [files](const std::string& path) { return files.count(path) > 0; };
  return environment;
}

// apache/arrow#37001: a wheel built on one system finds the certificates of another.
TEST(CaBundleTest, ProbesThePlacesOfDebianRhelAndAlpine) {
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/cert.pem"}) {
    const auto found = FindCaBundle("", Fake({}, {path}));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->path, path);
  }
}

TEST(CaBundleTest, TheSettingGoesBeforeTheEnvironmentAndThatBeforeTheSystem) {
  const std::set<std::string> files = {"/s", "/aws", "/ssl", "/curl",
                                       "/etc/ssl/certs/ca-certificates.crt"};
  std::map<std::string, std::string> variables = {
      {"AWS_CA_BUNDLE", "/aws"}, {"SSL_CERT_FILE", "/ssl"}, {"CURL_CA_BUNDLE", "/curl"}};
  EXPECT_EQ(FindCaBundle("/s", Fake(variables, files))->path, "/s");
  for (const auto& [name, path] : std::vector<std::pair<std::string, std::string>>{
           {"AWS_CA_BUNDLE", "/aws"}, {"SSL_CERT_FILE", "/ssl"}, {"CURL_CA_BUNDLE", "/curl"}}) {
    EXPECT_EQ(FindCaBundle("", Fake(variables, files))->path, path);
    variables.erase(name);
  }
  EXPECT_EQ(FindCaBundle("", Fake(variables, files))->path, "/etc/ssl/certs/ca-certificates.crt");
}

TEST(CaBundleTest, ANamedPlaceThatIsNotThereIsAnErrorNotAFallback) {
  const auto found = FindCaBundle(
      "", Fake({{"AWS_CA_BUNDLE", "/gone.pem"}}, {"/etc/ssl/certs/ca-certificates.crt"}));
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(found.error().message, HasSubstr("AWS_CA_BUNDLE"));
  EXPECT_THAT(found.error().message, HasSubstr("/gone.pem"));
}

TEST(CaBundleTest, FindingNothingNamesWhatWasTried) {
  const auto found = FindCaBundle("", Fake({}, {}));
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message, HasSubstr("/etc/pki/tls/certs/ca-bundle.crt"));
  EXPECT_THAT(found.error().message, HasSubstr("ca_bundle"));
}

}  // namespace
}  // namespace airfreight
