#include "store/s3/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "store/s3/fake_environment.h"

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A Secret cannot become text unless someone writes Reveal().
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);

const FakeEnvironment kBoth{
    {{"HOME", "/h"},
     {"AWS_ACCESS_KEY_ID", "env"},
     {"AWS_SECRET_ACCESS_KEY", "envsecret"},
     {"AWS_SESSION_TOKEN", "envtoken"}},
    {{"/h/.aws/credentials",
      "[default]\naws_access_key_id=file\naws_secret_access_key=filesecret\n"
      "[other]\naws_access_key_id=other\naws_secret_access_key=othersecret\n"}}};

TEST(CredentialsChainTest, SettingsThenEnvironmentThenProfile) {
  const Credentials set{"set", Secret("s"), Secret()};
  EXPECT_EQ(DefaultCredentials(set, "", kBoth.Get())->Get()->access_key_id, "set");
  const auto environment = DefaultCredentials({}, "", kBoth.Get())->Get();
  EXPECT_EQ(environment->access_key_id, "env");
  EXPECT_EQ(environment->session_token.Reveal(), "envtoken");
  FakeEnvironment files = kBoth;
  files.variables.erase("AWS_ACCESS_KEY_ID");
  files.variables.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(DefaultCredentials({}, "", files.Get())->Get()->access_key_id, "file");
}

TEST(CredentialsChainTest, AProfileInTheSettingsGoesBeforeTheEnvironment) {
  EXPECT_EQ(DefaultCredentials({}, "other", kBoth.Get())->Get()->access_key_id, "other");
}

TEST(CredentialsChainTest, NothingFoundListsWhatWasLookedAt) {
  const FakeEnvironment empty{{{"HOME", "/h"}}, {}};
  const auto credentials = DefaultCredentials({}, "", empty.Get())->Get();
  ASSERT_FALSE(credentials.has_value());
  EXPECT_EQ(credentials.error().code, ErrorCode::kDenied);
  EXPECT_FALSE(credentials.error().retryable);
  for (const char* place : {"conn_id@bucket", "AWS_ACCESS_KEY_ID", "/h/.aws/credentials"}) {
    EXPECT_THAT(credentials.error().message, HasSubstr(place));
  }
}

TEST(CredentialsChainTest, HalfAPairIsAnErrorNotTheNextSource) {
  FakeEnvironment half = kBoth;
  half.variables.erase("AWS_SECRET_ACCESS_KEY");
  const auto credentials = DefaultCredentials({}, "", half.Get())->Get();
  ASSERT_FALSE(credentials.has_value());
  EXPECT_EQ(credentials.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(credentials.error().message, HasSubstr("secret access key is missing"));
}

TEST(CredentialsChainTest, AProfileOfAnotherKindIsNotTakenForItsKeys) {
  const FakeEnvironment role{
      {{"HOME", "/h"}},
      {{"/h/.aws/config",
        "[default]\nrole_arn=arn:x\naws_access_key_id=a\naws_secret_access_key=b\n"}}};
  const auto credentials = DefaultCredentials({}, "", role.Get())->Get();
  ASSERT_FALSE(credentials.has_value());
  EXPECT_THAT(credentials.error().message, HasSubstr("role_arn"));
}

TEST(CredentialsChainTest, RefreshReadsAgainOnlyWhatIsStillCurrent) {
  int loads = 0;
  Environment environment = kBoth.Get();
  environment.variable = [&loads](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "AWS_ACCESS_KEY_ID") return "key" + std::to_string(++loads);
    return "x";
  };
  const auto chain = DefaultCredentials({}, "", environment);
  const Credentials first = *chain->Get();
  EXPECT_EQ(*chain->Get(), first);
  EXPECT_EQ(chain->Refresh(first)->access_key_id, "key2");
  EXPECT_EQ(chain->Refresh(first)->access_key_id, "key2");
  EXPECT_EQ(loads, 2);
}

TEST(MakeCredentialsTest, ALineBreakAtTheEndIsNotPartOfAKey) {
  const auto credentials = MakeCredentials("AK\n", " secret\r\n", "token\n", "x");
  ASSERT_TRUE(credentials.has_value());
  EXPECT_EQ((*credentials)->access_key_id, "AK");
  EXPECT_EQ((*credentials)->secret_access_key.Reveal(), "secret");
  EXPECT_EQ((*credentials)->session_token.Reveal(), "token");
}

TEST(MakeCredentialsTest, AKeyCannotSmuggleAHeaderAndIsNotShown) {
  const auto credentials = MakeCredentials("AK\r\nx-evil: 1", "hunter2", std::nullopt, "x");
  ASSERT_FALSE(credentials.has_value());
  EXPECT_THAT(credentials.error().message, Not(HasSubstr("evil")));
  EXPECT_THAT(credentials.error().message, Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace airfreight::s3
