#include "store/s3/credentials/profile_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/s3/credentials/test_world.h"

namespace airfreight::s3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Id;
using testing::kNow;
using testing::Lines;
using ::testing::Not;
using testing::ScriptedReply;
using testing::SeenRequest;
using testing::StsErrorXml;
using testing::StsXml;
using testing::TestServer;
using testing::World;

constexpr char kConfig[] = "/h/.aws/config";
constexpr char kCredentials[] = "/h/.aws/credentials";

// Each role's keys bear the number of the request that gave them.
class Sts {
 public:
  TestServer server{[this](const SeenRequest&) {
    return ScriptedReply::Http(
        200, {}, StsXml("AssumeRole", "role" + std::to_string(++count_), kNow + 3600));
  }};

 private:
  std::atomic<int> count_{0};
};

std::string Role(const std::string& name, const std::string& more) {
  return "[profile " + name + "]\nrole_arn = arn:aws:iam::123456789012:role/" + name + "\n" + more +
         "\n";
}

TEST(ProfileSourceTest, ARoleIsOneRequestSignedByTheKeysOfItsSource) {
  Sts sts;
  World world;
  world.fake.variables["AWS_ENDPOINT_URL_STS"] = sts.server.url();
  world.fake.variables["AWS_PROFILE"] = "r";
  world.fake.variables["AWS_REGION"] = "eu-central-1";
  world.fake.files[kConfig] =
      Role("r", "source_profile = base\nexternal_id = ex:1\nduration_seconds = 900");
  world.fake.files[kCredentials] =
      "[base]\naws_access_key_id = AKBASE\naws_secret_access_key = hunter2\n";
  const auto keys = world.Get();
  ASSERT_TRUE(keys.has_value()) << keys.error().message;
  EXPECT_EQ(keys->access_key_id, "role1");
  ASSERT_THAT(Lines(sts.server), ElementsAre("POST /"));
  const SeenRequest seen = sts.server.requests()[0];
  EXPECT_EQ(seen.body,
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole"
            "%2Fr&RoleSessionName=airfreight-1767225600&ExternalId=ex%3A1&DurationSeconds=900");
  EXPECT_THAT(std::string(seen.headers.Get("Authorization")),
              HasSubstr("Credential=AKBASE/20260101/eu-central-1/sts/aws4_request,"
                        "SignedHeaders=content-type;host;x-amz-date,"));
}

TEST(ProfileSourceTest, RolesMayFollowOneAnother) {
  Sts sts;
  World world;
  world.fake.variables["AWS_ENDPOINT_URL_STS"] = sts.server.url();
  world.fake.files[kConfig] = Role("a", "source_profile = b") + Role("b", "source_profile = c");
  world.fake.files[kCredentials] = "[c]\naws_access_key_id=AK\naws_secret_access_key=s\n";
  EXPECT_EQ(Id(world.Get({std::nullopt, "a", ""})), "role2");
  ASSERT_EQ(sts.server.requests().size(), 2);
  EXPECT_THAT(sts.server.requests()[0].body, HasSubstr("role%2Fb"));
  EXPECT_THAT(sts.server.requests()[1].body, HasSubstr("role%2Fa"));
  EXPECT_EQ(sts.server.requests()[1].headers.Get("x-amz-security-token"), "tok+en==");
  EXPECT_THAT(std::string(sts.server.requests()[1].headers.Get("Authorization")),
              HasSubstr("x-amz-security-token,"));
}

TEST(ProfileSourceTest, ARoleMayBeAskedForWithKeysBesideIt) {
  Sts sts;
  World world;
  world.fake.variables["AWS_ENDPOINT_URL_STS"] = sts.server.url();
  world.fake.files[kConfig] =
      Role("self", "source_profile = self\naws_access_key_id=AK\naws_secret_access_key=s");
  EXPECT_EQ(Id(world.Get({std::nullopt, "self", ""})), "role1");
}

TEST(ProfileSourceTest, ACircleOfProfilesIsAnError) {
  World world;
  world.fake.files[kConfig] = Role("a", "source_profile = b") + Role("b", "source_profile = a");
  const auto keys = world.Get({std::nullopt, "a", ""});
  EXPECT_EQ(keys.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(keys.error().message, HasSubstr("leads back"));
  world.fake.files[kConfig] = Role("a", "source_profile = a");
  EXPECT_EQ(world.Get({std::nullopt, "a", ""}).error().code, ErrorCode::kInvalid);
}

TEST(ProfileSourceTest, ASourceThatIsNotThereIsNamed) {
  World world;
  world.fake.files[kConfig] = Role("a", "source_profile = gone");
  EXPECT_THAT(world.Get({std::nullopt, "a", ""}).error().message, HasSubstr("'gone'"));
  world.fake.files[kConfig] = Role("a", "");
  EXPECT_THAT(world.Get({std::nullopt, "a", ""}).error().message, HasSubstr("source_profile"));
  world.fake.files[kConfig] = Role("a", "source_profile = b\ncredential_source = Environment");
  EXPECT_THAT(world.Get({std::nullopt, "a", ""}).error().message, HasSubstr("both"));
  world.fake.files[kConfig] = Role("a", "credential_source = Disk");
  EXPECT_THAT(world.Get({std::nullopt, "a", ""}).error().message, HasSubstr("Ec2InstanceMetadata"));
}

TEST(ProfileSourceTest, ARefusalSaysWhichRoleAndWhoAsked) {
  const TestServer sts([](const SeenRequest&) {
    return ScriptedReply::Http(403, {}, StsErrorXml("AccessDenied", "User x is not authorized"));
  });
  World world;
  world.fake.variables["AWS_ENDPOINT_URL_STS"] = sts.url();
  world.fake.files[kConfig] = Role("a", "source_profile = c");
  world.fake.files[kCredentials] = "[c]\naws_access_key_id=AK\naws_secret_access_key=hunter2\n";
  const auto keys = world.Get({std::nullopt, "a", ""});
  EXPECT_EQ(keys.error().code, ErrorCode::kDenied);
  EXPECT_THAT(keys.error().message, HasSubstr("arn:aws:iam::123456789012:role/a"));
  EXPECT_THAT(keys.error().message, HasSubstr("the keys of profile 'c'"));
}

// STS's text for a wrong signature holds the request, and so the session token.
TEST(ProfileSourceTest, AWrongSignaturesTextIsNotRepeated) {
  const TestServer sts([](const SeenRequest& seen) {
    return ScriptedReply::Http(
        403, {},
        StsErrorXml("SignatureDoesNotMatch",
                    "The Canonical String should have been x-amz-security-token:" +
                        std::string(seen.headers.Get("x-amz-security-token"))));
  });
  World world;
  world.fake.variables["AWS_ENDPOINT_URL_STS"] = sts.url();
  world.fake.files[kConfig] = Role("a", "source_profile = c");
  world.fake.files[kCredentials] =
      "[c]\naws_access_key_id=AK\naws_secret_access_key=s\naws_session_token=hunter2\n";
  const auto keys = world.Get({std::nullopt, "a", ""});
  EXPECT_EQ(keys.error().code, ErrorCode::kDenied);
  EXPECT_THAT(keys.error().message, Not(HasSubstr("hunter2")));
}

TEST(ProfileSourceTest, CredentialSourceNamesWhereTheKeysAre) {
  Sts sts;
  const TestServer service([](const SeenRequest& seen) {
    if (seen.target == "/container") {
      return ScriptedReply::Http(200, {}, testing::MetadataJson("container", kNow + 3600));
    }
    return testing::InstanceReply(seen);
  });
  World world;
  world.Instance(service);
  world.fake.variables["AWS_ENDPOINT_URL_STS"] = sts.server.url();
  world.fake.variables["AWS_ACCESS_KEY_ID"] = "env";
  world.fake.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  world.fake.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = service.url() + "/container";
  world.fake.files[kConfig] = Role("e", "credential_source = Environment") +
                              Role("c", "credential_source = EcsContainer") +
                              Role("i", "credential_source = Ec2InstanceMetadata");
  for (const char* name : {"e", "c", "i"}) {
    ASSERT_TRUE(world.Get({std::nullopt, name, ""}).has_value()) << name;
  }
  const auto seen = sts.server.requests();
  ASSERT_EQ(seen.size(), 3);
  EXPECT_THAT(std::string(seen[0].headers.Get("Authorization")), HasSubstr("Credential=env/"));
  EXPECT_THAT(std::string(seen[1].headers.Get("Authorization")), HasSubstr("=container/"));
  EXPECT_THAT(std::string(seen[2].headers.Get("Authorization")), HasSubstr("=instance/"));
}

TEST(ProfileSourceTest, AnInstanceThatIsNamedAndHasNoRoleIsAnError) {
  World world;
  world.fake.files[kConfig] = Role("i", "credential_source = Ec2InstanceMetadata");
  const auto keys = world.Get({std::nullopt, "i", ""});
  ASSERT_FALSE(keys.has_value());
  EXPECT_THAT(keys.error().message, HasSubstr("AWS_EC2_METADATA_DISABLED"));
}

// botocore's order: whoever has set AWS_PROFILE to a role means it, in a pod too.
TEST(ProfileSourceTest, AProfilesRoleGoesBeforeWebIdentityAndAProfilesKeysAfterIt) {
  const TestServer sts([](const SeenRequest& seen) {
    const bool web = seen.body.starts_with("Action=AssumeRoleWithWebIdentity");
    return ScriptedReply::Http(200, {},
                               StsXml(web ? "AssumeRoleWithWebIdentity" : "AssumeRole",
                                      web ? "web" : "role", kNow + 3600));
  });
  World world;
  world.WebIdentity(sts);
  world.fake.files[kConfig] = Role("r", "source_profile = c");
  world.fake.files[kCredentials] = "[c]\naws_access_key_id=AK\naws_secret_access_key=s\n";
  world.fake.variables["AWS_PROFILE"] = "r";
  EXPECT_EQ(Id(world.Get()), "role");
  world.fake.variables["AWS_PROFILE"] = "c";
  EXPECT_EQ(Id(world.Get()), "web");
}

TEST(ProfileSourceTest, AProgramsOutputIsItsKeys) {
  World world;
  world.fake.files[kConfig] =
      "[default]\ncredential_process = /opt/get creds --role \"a b\"\n"
      "aws_access_key_id=config\naws_secret_access_key=s\n";
  std::vector<std::string> command;
  int runs = 0;
  world.run = [&](const std::vector<std::string>& arguments, const Context&) {
    command = arguments;
    ++runs;
    return ProcessResult{0, R"({"Version":1,"AccessKeyId":"prog","SecretAccessKey":"hunter2",)"
                            R"("SessionToken":"t","Expiration":"2026-01-01T01:00:00+00:00"})"};
  };
  const auto chain = world.Chain();
  EXPECT_EQ(Id(chain->Get({})), "prog");
  EXPECT_THAT(command, ElementsAre("/opt/get", "creds", "--role", "a b"));
  ASSERT_TRUE(chain->Get({}).has_value());
  EXPECT_EQ(runs, 1);
  world.now = kNow + 3000;
  ASSERT_TRUE(chain->Get({}).has_value());
  EXPECT_EQ(runs, 2);
  // Keys in the credentials file go before it, as in botocore.
  world.fake.files[kCredentials] = "[default]\naws_access_key_id=file\naws_secret_access_key=s\n";
  EXPECT_EQ(Id(world.Get()), "file");
}

TEST(ProfileSourceTest, AProgramThatFailsIsNamedAndNotQuoted) {
  World world;
  world.fake.files[kConfig] = "[default]\ncredential_process = get-creds --secret hunter2\n";
  ProcessResult result{3, "hunter2"};
  world.run = [&](const std::vector<std::string>&, const Context&) { return result; };
  const auto failed = world.Get();
  EXPECT_EQ(failed.error().code, ErrorCode::kDenied);
  EXPECT_THAT(failed.error().message, HasSubstr("'get-creds' ended with status 3"));
  result.exit_status = 0;
  const auto garbage = world.Get();
  EXPECT_EQ(garbage.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(garbage.error().message, HasSubstr("credential_process of profile 'default'"));
  for (const auto& keys : {failed, garbage}) {
    EXPECT_THAT(keys.error().message, Not(HasSubstr("hunter2")));
  }
}

// What the Python layer goes by to ask botocore.
TEST(ProfileSourceTest, KindsThatOnlyBotocoreSpeaksAreRecognisable) {
  for (const char* line :
       {"sso_session = corp", "sso_start_url = https://x", "login_session = arn:x"}) {
    World world;
    world.fake.files[kConfig] = std::string("[default]\n") + line + "\n";
    const auto keys = world.Get();
    ASSERT_FALSE(keys.has_value());
    EXPECT_EQ(keys.error().code, ErrorCode::kUnsupported) << line;
    EXPECT_EQ(keys.error().service_code, kForeignCredentials) << line;
    EXPECT_FALSE(keys.error().retryable);
    EXPECT_THAT(keys.error().message, HasSubstr("pip install botocore"));
    EXPECT_THAT(keys.error().message,
                HasSubstr(std::string(line).substr(0, std::string(line).find(' '))));
  }
  World world;
  world.fake.files[kConfig] = Role("m", "mfa_serial = arn:x\nsource_profile = s") +
                              "[profile s]\nsso_session = corp\n" + Role("n", "source_profile = s");
  EXPECT_EQ(world.Get({std::nullopt, "m", ""}).error().service_code, kForeignCredentials);
  EXPECT_EQ(world.Get({std::nullopt, "n", ""}).error().service_code, kForeignCredentials);
}

}  // namespace
}  // namespace airfreight::s3
