#include "store/s3/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/fake_environment.h"

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseS3OptionsTest, ReadsEverySetting) {
  const auto options = ParseS3Options({{"endpoint_url", "http://m:9000"},
                                       {"region", "eu-west-1"},
                                       {"access_key_id", "AK"},
                                       {"secret_access_key", "SK"},
                                       {"session_token", "T"},
                                       {"addressing_style", "virtual"},
                                       {"payload_signing", "never"},
                                       {"conditional_writes", "never"},
                                       {"request_payer", "requester"},
                                       {"retention_tags", "true"},
                                       {"sse", "aws:kms"},
                                       {"sse_kms_key_id", "key"},
                                       {"ca_bundle", "/ca.pem"},
                                       {"verify", "false"},
                                       {"connect_timeout", "1.5"},
                                       {"idle_timeout", "30"}});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->endpoint_url, "http://m:9000");
  EXPECT_EQ(options->region, "eu-west-1");
  EXPECT_EQ(options->credentials->access_key_id, "AK");
  EXPECT_EQ(options->addressing_style, AddressingStyle::kVirtual);
  EXPECT_EQ(options->payload_signing, PayloadSigning::kNever);
  EXPECT_FALSE(options->conditional_writes);
  EXPECT_TRUE(options->request_payer);
  EXPECT_TRUE(options->retention_tags);
  EXPECT_EQ(options->sse, "aws:kms");
  EXPECT_EQ(options->sse_kms_key_id, "key");
  EXPECT_EQ(options->transport.ca_bundle, "/ca.pem");
  EXPECT_FALSE(options->transport.verify);
  EXPECT_EQ(options->transport.connect_timeout.count(), 1500);
  EXPECT_EQ(options->transport.idle_timeout.count(), 30);
}

TEST(ParseS3OptionsTest, AWrongSettingIsNamedWithWhatIsRight) {
  const std::vector<std::pair<StoreSettings, std::string>> cases = {
      {{{"endpoint", "http://m"}}, "endpoint_url"},
      {{{"endpoint_url", "m:9000"}}, "endpoint_url"},
      {{{"region", "Europe"}}, "eu-central-1"},
      {{{"addressing_style", "host"}}, "auto, path, virtual"},
      {{{"payload_signing", "yes"}}, "auto, always, never"},
      {{{"conditional_writes", "on"}}, "auto, never"},
      {{{"sse", "kms"}}, "AES256, aws:kms"},
      {{{"sse_kms_key_id", "k"}}, "sse = aws:kms"},
      {{{"verify", "maybe"}}, "verify"},
      {{{"connect_timeout", "1m"}}, "connect_timeout"},
      {{{"access_key_id", "AK"}}, "secret access key is missing"},
  };
  for (const auto& [settings, text] : cases) {
    const auto options = ParseS3Options(settings);
    ASSERT_FALSE(options.has_value()) << text;
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(options.error().message, HasSubstr(text));
  }
}

TEST(ParseS3OptionsTest, WhatAKeyServiceNeedsIsRefusedWithoutIt) {
  EXPECT_TRUE(ParseS3Options({{"sse", "aws:kms:dsse"}, {"sse_kms_key_id", "k"}}).has_value());
  const auto whole = ParseS3Options({{"sse", "aws:kms"},
                                     {"sse_kms_context", R"({"team": "sales"})"},
                                     {"sse_bucket_key", "true"},
                                     {"checksums", "never"}});
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  EXPECT_EQ(whole->sse_kms_context, R"({"team": "sales"})");
  EXPECT_TRUE(whole->sse_bucket_key);
  EXPECT_EQ(whole->checksums, Checksums::kNever);
  for (const StoreSettings& wrong :
       std::vector<StoreSettings>{{{"sse_kms_context", R"({"team": "sales"})"}},
                                  {{"sse", "AES256"}, {"sse_kms_context", "{}"}},
                                  {{"sse", "aws:kms"}, {"sse_kms_context", "team=sales"}},
                                  {{"sse", "aws:kms"}, {"sse_kms_context", R"({"team": 1})"}},
                                  {{"sse", "aws:kms"}, {"sse_kms_context", R"(["team"])"}},
                                  {{"sse", "aws:kms:dsse"}, {"sse_bucket_key", "true"}},
                                  {{"sse_bucket_key", "true"}},
                                  {{"checksums", "sometimes"}}}) {
    const auto parsed = ParseS3Options(wrong);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  }
}

TEST(ParseS3OptionsTest, AMisspeltSecretIsNotShown) {
  const auto options = ParseS3Options({{"secret_key", "hunter2"}});
  ASSERT_FALSE(options.has_value());
  EXPECT_THAT(options.error().message, Not(HasSubstr("hunter2")));
}

// apache/arrow#36770: AWS_ENDPOINT_URL was ignored, and requests left for AWS.
TEST(ResolveEndpointTest, SettingThenVariablesThenProfileThenRegion) {
  S3Options options;
  options.endpoint_url = "http://setting";
  Profile profile;
  profile.endpoint_url = "http://profile";
  FakeEnvironment fake{{{"AWS_ENDPOINT_URL_S3", "http://s3"}, {"AWS_ENDPOINT_URL", "http://all"}},
                       {}};
  const auto host = [&] {
    return ResolveEndpoint(options, profile, "eu-west-1", fake.Get())->host;
  };
  EXPECT_EQ(host(), "setting");
  options.endpoint_url.clear();
  EXPECT_EQ(host(), "s3");
  fake.variables.erase("AWS_ENDPOINT_URL_S3");
  EXPECT_EQ(host(), "all");
  fake.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  EXPECT_EQ(host(), "s3.eu-west-1.amazonaws.com");
  fake.variables.clear();
  EXPECT_EQ(host(), "profile");
  profile.endpoint_url.reset();
  EXPECT_EQ(host(), "s3.eu-west-1.amazonaws.com");
}

TEST(ResolveRegionTest, SettingThenVariablesThenProfile) {
  S3Options options;
  options.region = "setting-1";
  Profile profile;
  profile.properties["region"] = "profile-1";
  FakeEnvironment fake{{{"AWS_REGION", "region-1"}, {"AWS_DEFAULT_REGION", "default-1"}}, {}};
  EXPECT_EQ(ResolveRegion(options, profile, fake.Get()), "setting-1");
  options.region.clear();
  EXPECT_EQ(ResolveRegion(options, profile, fake.Get()), "region-1");
  fake.variables.erase("AWS_REGION");
  EXPECT_EQ(ResolveRegion(options, profile, fake.Get()), "default-1");
  fake.variables.clear();
  EXPECT_EQ(ResolveRegion(options, profile, fake.Get()), "profile-1");
  EXPECT_EQ(ResolveRegion(options, {}, fake.Get()), "us-east-1");
}

}  // namespace
}  // namespace airfreight::s3
