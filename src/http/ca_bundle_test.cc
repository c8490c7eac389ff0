#include "http/ca_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace airfreight {
namespace {

using ::testing::HasSubstr;

const CaSettings kNone;
const CaSettings kOfS3{"", "[airfreight] s3_ca_bundle", "AWS_CA_BUNDLE"};

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
    const auto found = FindCaBundle(kNone, Fake({}, {path}));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->path, path);
  }
}

TEST(CaBundleTest, TheSettingGoesBeforeTheEnvironmentAndThatBeforeTheSystem) {
  const std::set<std::string> files = {"/s", "/aws", "/ssl", "/curl",
                                       "/etc/ssl/certs/ca-certificates.crt"};
  std::map<std::string, std::string> variables = {
      {"AWS_CA_BUNDLE", "/aws"}, {"SSL_CERT_FILE", "/ssl"}, {"CURL_CA_BUNDLE", "/curl"}};
  EXPECT_EQ(FindCaBundle({"/s", "the setting", ""}, Fake(variables, files))->path, "/s");
  for (const auto& [name, path] : std::vector<std::pair<std::string, std::string>>{
           {"AWS_CA_BUNDLE", "/aws"}, {"SSL_CERT_FILE", "/ssl"}, {"CURL_CA_BUNDLE", "/curl"}}) {
    EXPECT_EQ(FindCaBundle(kOfS3, Fake(variables, files))->path, path);
    variables.erase(name);
  }
  EXPECT_EQ(FindCaBundle(kOfS3, Fake(variables, files))->path,
            "/etc/ssl/certs/ca-certificates.crt");
}

TEST(CaBundleTest, ANamedPlaceThatIsNotThereIsAnErrorNotAFallback) {
  const auto found = FindCaBundle(
      kOfS3, Fake({{"AWS_CA_BUNDLE", "/gone.pem"}}, {"/etc/ssl/certs/ca-certificates.crt"}));
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(found.error().message, HasSubstr("AWS_CA_BUNDLE"));
  EXPECT_THAT(found.error().message, HasSubstr("/gone.pem"));
}

TEST(CaBundleTest, FindingNothingNamesWhatWasTried) {
  const auto found = FindCaBundle(kOfS3, Fake({}, {}));
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message, HasSubstr("/etc/pki/tls/certs/ca-bundle.crt"));
  EXPECT_THAT(found.error().message, HasSubstr("set [airfreight] s3_ca_bundle or AWS_CA_BUNDLE"));
}

TEST(CaBundleTest, AnotherServicesVariableIsNotLookedAt) {
  const CaSettings of_azure{"", "[airfreight] az_ca_bundle", ""};
  EXPECT_EQ(FindCaBundle(of_azure, Fake({{"AWS_CA_BUNDLE", "/aws"}, {"SSL_CERT_FILE", "/ssl"}},
                                        {"/aws", "/ssl"}))
                ->path,
            "/ssl");
  const auto none = FindCaBundle(of_azure, Fake({}, {}));
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("set [airfreight] az_ca_bundle or SSL_CERT_FILE"));
  const auto gone = FindCaBundle({"/gone.pem", "[airfreight] az_ca_bundle", ""}, Fake({}, {}));
  ASSERT_FALSE(gone.has_value());
  EXPECT_THAT(gone.error().message, HasSubstr("[airfreight] az_ca_bundle names '/gone.pem'"));
}

}  // namespace
}  // namespace airfreight
