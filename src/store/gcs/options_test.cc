#include "store/gcs/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/matchers.h"
#include "http/fake_environment.h"

namespace airfreight::gcs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKey[] = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";

std::string Message(const StoreSettings& settings) {
  const auto options = ParseGcsOptions(settings);
  return options ? "no error" : options.error().message;
}

TEST(ParseGcsOptionsTest, ReadsEverySetting) {
  const auto options = ParseGcsOptions({{"endpoint_url", "https://storage-x.p.googleapis.com"},
                                        {"key_path", "/run/key.json"},
                                        {"user_project", "p-1"},
                                        {"kms_key_name", kKey},
                                        {"ca_bundle", "/ca.pem"},
                                        {"verify", "false"},
                                        {"connect_timeout", "1.5"},
                                        {"idle_timeout", "30"}});
  ASSERT_TRUE(IsOk(options));
  EXPECT_EQ(options->endpoint_url, "https://storage-x.p.googleapis.com");
  EXPECT_FALSE(options->anonymous);
  EXPECT_EQ(options->key_path, "/run/key.json");
  EXPECT_EQ(options->user_project, "p-1");
  EXPECT_EQ(options->kms_key_name, kKey);
  EXPECT_EQ(options->transport.ca_bundle, "/ca.pem");
  EXPECT_FALSE(options->transport.verify);
  EXPECT_EQ(options->transport.connect_timeout.count(), 1500);
  EXPECT_EQ(options->transport.idle_timeout.count(), 30);
  EXPECT_TRUE(ParseGcsOptions({{"anonymous", "true"}})->anonymous);
  EXPECT_EQ(ParseGcsOptions({{"access_token", " ya29.x\n"}})->access_token.Reveal(), "ya29.x");
  EXPECT_EQ(ParseGcsOptions({{"key_json", "{}"}})->key_json.Reveal(), "{}");
}

TEST(ParseGcsOptionsTest, AWrongSettingIsNamedAndARightOneShown) {
  EXPECT_THAT(Message({{"kms_key_name", "my-key"}}),
              AllOf(HasSubstr("[airfreight] gs_kms_key_name is 'my-key'"),
                    HasSubstr("right is e.g. projects/")));
  EXPECT_THAT(Message({{"endpoint_url", "ftp://x"}}), HasSubstr("gs_endpoint_url"));
  EXPECT_THAT(Message({{"anonymous", "maybe"}}), HasSubstr("gs_anonymous"));
  EXPECT_THAT(Message({{"user_project", "a\nb"}}), HasSubstr("gs_user_project"));
  EXPECT_THAT(Message({{"kms_key", kKey}}), HasSubstr("it knows endpoint_url"));
}

TEST(ParseGcsOptionsTest, TwoIdentitiesAreRefusedAndNotShown) {
  EXPECT_THAT(Message({{"key_path", "/k.json"}, {"access_token", "hunter2"}}),
              AllOf(HasSubstr("gs_key_path"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Message({{"anonymous", "true"}, {"key_json", "{\"hunter2\":1}"}}),
              AllOf(HasSubstr("gs_anonymous"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Message({{"access_token", "hunter2 and more"}}),
              AllOf(HasSubstr("access token"), Not(HasSubstr("hunter2"))));
}

TEST(CheckWriteTest, AKeyOfOneObjectIsAKeysName) {
  PutOptions put;
  EXPECT_TRUE(CheckWrite(put).has_value());
  put.encryption_key = kKey;
  EXPECT_TRUE(CheckWrite(put).has_value());
  for (const char* wrong : {"k", "projects/p/cryptoKeys/k", "projects/p/locations/l/keyRings/r",
                            "projects/p/locations/eu/keyRings/r/cryptoKeys/k\n"}) {
    put.encryption_key = wrong;
    EXPECT_TRUE(IsError(CheckWrite(put), ErrorCode::kInvalid)) << wrong;
  }
}

TEST(ResolveTargetTest, TheSettingThenTheVariableThenGoogle) {
  FakeEnvironment fake;
  GcsOptions options;
  options.anonymous = true;
  auto target = ResolveTarget(options, fake.Get());
  ASSERT_TRUE(IsOk(target));
  EXPECT_EQ(target->endpoint, (Endpoint{true, "storage.googleapis.com", ""}));
  EXPECT_FALSE(target->emulator);
  EXPECT_FALSE(target->foreign);

  // With a scheme as Google's library for Python wants it, and without as that for Go does.
  for (const char* host : {"http://127.0.0.1:4443", "127.0.0.1:4443", "http://127.0.0.1:4443/"}) {
    fake.variables["STORAGE_EMULATOR_HOST"] = host;
    target = ResolveTarget(options, fake.Get());
    ASSERT_TRUE(IsOk(target)) << host;
    EXPECT_EQ(target->endpoint, (Endpoint{false, "127.0.0.1:4443", ""})) << host;
    EXPECT_TRUE(target->emulator);
    EXPECT_TRUE(target->foreign);
  }

  options.endpoint_url = "https://storage-x.p.googleapis.com";
  target = ResolveTarget(options, fake.Get());
  ASSERT_TRUE(IsOk(target));
  EXPECT_EQ(target->endpoint.host, "storage-x.p.googleapis.com");
  EXPECT_FALSE(target->emulator);
  EXPECT_FALSE(target->foreign);

  options.endpoint_url = "https://googleapis.com.example.com";
  EXPECT_TRUE(ResolveTarget(options, fake.Get())->foreign);
  options.endpoint_url.clear();
  fake.variables["STORAGE_EMULATOR_HOST"] = "ftp://x";
  target = ResolveTarget(options, fake.Get());
  ASSERT_TRUE(IsError(target, ErrorCode::kInvalid));
  EXPECT_THAT(target.error().message, HasSubstr("STORAGE_EMULATOR_HOST"));
}

TEST(ResolveTargetTest, NoTokenGoesOverPlainHttpToAnotherMachine) {
  GcsOptions options;
  options.endpoint_url = "http://gcs.example.com";
  const auto target = ResolveTarget(options, FakeEnvironment{}.Get());
  ASSERT_TRUE(IsError(target, ErrorCode::kInvalid));
  EXPECT_THAT(target.error().message, HasSubstr("[airfreight] gs_endpoint_url is plain http"));
  options.anonymous = true;
  EXPECT_TRUE(ResolveTarget(options, FakeEnvironment{}.Get()).has_value());
  options.anonymous = false;
  options.endpoint_url = "http://localhost:4443";
  EXPECT_TRUE(ResolveTarget(options, FakeEnvironment{}.Get()).has_value());
}

TEST(ResolveTargetTest, NorToAnEmulatorOnAnotherMachineWhoseTokenIsNamed) {
  FakeEnvironment fake;
  fake.variables["STORAGE_EMULATOR_HOST"] = "http://fake-gcs:4443";
  // Nobody is asked for one there.
  EXPECT_TRUE(ResolveTarget(GcsOptions{}, fake.Get()).has_value());
  GcsOptions token;
  token.access_token = Secret("ya29");
  GcsOptions key;
  key.key_json = Secret("{}");
  GcsOptions file;
  file.key_path = "/key.json";
  for (const GcsOptions& options : {token, key, file}) {
    const auto target = ResolveTarget(options, fake.Get());
    ASSERT_TRUE(IsError(target, ErrorCode::kInvalid));
    EXPECT_THAT(target.error().message, HasSubstr("STORAGE_EMULATOR_HOST is plain http"));
  }
  fake.variables["STORAGE_EMULATOR_HOST"] = "http://127.0.0.1:4443";
  EXPECT_TRUE(ResolveTarget(token, fake.Get()).has_value());
}

}  // namespace
}  // namespace airfreight::gcs
