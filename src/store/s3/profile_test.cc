#include "store/s3/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/fake_environment.h"

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;

TEST(ParseProfileFileTest, ReadsSectionsAndProperties) {
  const ProfileFile file = ParseProfileFile(
      "\xEF\xBB\xBF# comment\r\n[default]\r\nAWS_Access_Key_Id=AK\r\n"
      "aws_secret_access_key = a=b/c+d# e\n\n; comment\n[ profile   dev ]\n  region = eu-west-1\n");
  EXPECT_EQ(file.at("default").at("aws_access_key_id"), "AK");
  EXPECT_EQ(file.at("default").at("aws_secret_access_key"), "a=b/c+d# e");
  EXPECT_EQ(file.at("profile dev").at("region"), "eu-west-1");
}

TEST(ParseProfileFileTest, ACommentBehindAValueNeedsABlankBeforeIt) {
  const ProfileFile file = ParseProfileFile("[a]\nx = 1 # note\ny = 1#2\nz = 3 ;note\n");
  EXPECT_EQ(file.at("a").at("x"), "1");
  EXPECT_EQ(file.at("a").at("y"), "1#2");
  EXPECT_EQ(file.at("a").at("z"), "3");
}

TEST(ParseProfileFileTest, NestsBelowAPropertyWithoutAValue) {
  const ProfileFile file = ParseProfileFile(
      "[services s]\ns3 =\n  endpoint_url = http://m\n  addressing_style = path\nec2 =\n"
      "\tendpoint_url = http://e\nregion = r\n");
  EXPECT_EQ(file.at("services s").at("s3.endpoint_url"), "http://m");
  EXPECT_EQ(file.at("services s").at("ec2.endpoint_url"), "http://e");
  EXPECT_EQ(file.at("services s").at("region"), "r");
}

TEST(ParseProfileFileTest, SkipsWhatIsNothing) {
  const ProfileFile file = ParseProfileFile("x = outside\n[open\ny = 1\n[]\n= v\nword\n[a]\nz");
  EXPECT_TRUE(file.at("a").empty());
  EXPECT_FALSE(file.contains("open"));
}

TEST(LoadProfileTest, TheCredentialsFileDecides) {
  const FakeEnvironment fake{
      {{"HOME", "/h"}},
      {{"/h/.aws/config", "[default]\nregion=r\naws_access_key_id=config\n"},
       {"/h/.aws/credentials", "[default]\naws_access_key_id=credentials\n"}}};
  const auto profile = LoadProfile("", fake.Get());
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->Find("aws_access_key_id"), "credentials");
  EXPECT_EQ(profile->Find("region"), "r");
}

TEST(LoadProfileTest, FilesAndNameComeFromTheEnvironment) {
  const FakeEnvironment fake{{{"HOME", "/h"},
                              {"AWS_PROFILE", "dev"},
                              {"AWS_CONFIG_FILE", "~/c"},
                              {"AWS_SHARED_CREDENTIALS_FILE", "/etc/k"}},
                             {{"/h/c", "[profile dev]\nregion=dev-region\n[dev]\nregion=wrong\n"},
                              {"/etc/k", "[dev]\naws_access_key_id=k\n"}}};
  const auto profile = LoadProfile("", fake.Get());
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->Find("region"), "dev-region");
  EXPECT_EQ(profile->Find("aws_access_key_id"), "k");
}

TEST(LoadProfileTest, ANamedProfileThatIsNowhereIsAnError) {
  const FakeEnvironment fake{{{"HOME", "/h"}}, {{"/h/.aws/config", "[profile a]\n"}}};
  const auto profile = LoadProfile("b", fake.Get());
  ASSERT_FALSE(profile.has_value());
  EXPECT_EQ(profile.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(profile.error().message, HasSubstr("/h/.aws/credentials"));
  EXPECT_FALSE(LoadProfile("", fake.Get())->found);
}

// apache/arrow#36770, man-group/ArcticDB#3: the endpoint of the configuration was not seen.
TEST(LoadProfileTest, TheEndpointOfTheServiceGoesBeforeTheProfiles) {
  const FakeEnvironment fake{
      {{"HOME", "/h"}},
      {{"/h/.aws/config",
        "[default]\nendpoint_url=http://all\nservices = local\n[services local]\ns3 =\n  "
        "endpoint_url = http://s3\n[profile plain]\nendpoint_url=http://all\n"}}};
  EXPECT_EQ(LoadProfile("", fake.Get())->endpoint_url, "http://s3");
  EXPECT_EQ(LoadProfile("plain", fake.Get())->endpoint_url, "http://all");
}

}  // namespace
}  // namespace airfreight::s3
