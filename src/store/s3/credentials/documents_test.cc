#include "store/s3/credentials/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/s3/credentials/test_world.h"

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using testing::kNow;
using ::testing::Not;
using testing::StsXml;

TEST(ParseExpirationTest, ReadsTheFormsThatServicesAndProgramsWrite) {
  EXPECT_EQ(ParseExpiration("2026-01-01T00:00:00Z"), kNow);
  EXPECT_EQ(ParseExpiration("2026-01-01T00:00:00.123456Z"), kNow);
  EXPECT_EQ(ParseExpiration("2026-01-01T01:30:00+01:30"), kNow);
  EXPECT_EQ(ParseExpiration("2025-12-31T19:00:00-0500"), kNow);
  EXPECT_EQ(ParseExpiration("2026-01-01T00:00:00.5+00:00"), kNow);
  for (const char* wrong :
       {"", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00+1", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00+01:000", "2026-01-01T00:00:00+:100", "1767225600"}) {
    EXPECT_EQ(ParseExpiration(wrong), std::nullopt) << wrong;
  }
}

TEST(ParseStsCredentialsTest, ReadsBothActions) {
  for (const char* action : {"AssumeRole", "AssumeRoleWithWebIdentity"}) {
    const auto loaded = ParseStsCredentials(StsXml(action, "ASIA", kNow), "STS");
    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(loaded->keys.access_key_id, "ASIA");
    EXPECT_EQ(loaded->keys.secret_access_key.Reveal(), "hunter2");
    EXPECT_EQ(loaded->expires_unix, kNow);
  }
}

TEST(ParseStsCredentialsTest, AnythingLessIsAnErrorThatQuotesNothing) {
  const std::string good = StsXml("AssumeRole", "ASIA", kNow);
  for (const char* element : {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}) {
    std::string less = good;
    const size_t begin = less.find(std::string("<") + element);
    const std::string end = std::string("</") + element + ">";
    less.erase(begin, less.find(end) + end.size() - begin);
    const auto loaded = ParseStsCredentials(less, "STS");
    ASSERT_FALSE(loaded.has_value()) << element;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInternal);
    EXPECT_THAT(loaded.error().message, HasSubstr(element));
    EXPECT_THAT(loaded.error().message, Not(HasSubstr("hunter2")));
  }
  EXPECT_FALSE(ParseStsCredentials("", "STS").has_value());
  EXPECT_FALSE(ParseStsCredentials("<a><b>", "STS").has_value());
}

TEST(ParseMetadataCredentialsTest, FieldsMayBeInAnyCaseAndTheTokenMayBeMissing) {
  const auto loaded = ParseMetadataCredentials(
      R"({"accessKeyId":"AK","secretAccessKey":"s","code":"success"})", "agent");
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->keys.access_key_id, "AK");
  EXPECT_TRUE(loaded->keys.session_token.empty());
  EXPECT_EQ(loaded->expires_unix, std::nullopt);
}

TEST(ParseMetadataCredentialsTest, AnythingElseIsAnErrorThatQuotesNothing) {
  for (const char* text :
       {"", "[]", "7", "{", "null", R"({"AccessKeyId":7,"SecretAccessKey":"hunter2"})",
        R"({"AccessKeyId":"hunter2"})", R"({"SecretAccessKey":"hunter2"})",
        R"({"AccessKeyId":"A","SecretAccessKey":"hunter2","Expiration":"hunter2"})"}) {
    const auto loaded = ParseMetadataCredentials(text, "agent");
    ASSERT_FALSE(loaded.has_value()) << text;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInternal) << text;
    EXPECT_THAT(loaded.error().message, Not(HasSubstr("hunter2")));
  }
  // A "code" that is a sentence is not repeated.
  const auto denied = ParseMetadataCredentials(R"({"Code":"no, hunter2"})", "agent");
  EXPECT_EQ(denied.error().code, ErrorCode::kDenied);
  EXPECT_THAT(denied.error().message, Not(HasSubstr("hunter2")));
}

TEST(ParseProcessCredentialsTest, OnlyVersionOneIsRead) {
  const std::string rest = R"("AccessKeyId":"AK","SecretAccessKey":"s"})";
  EXPECT_TRUE(ParseProcessCredentials(R"({"Version":1,)" + rest, "p").has_value());
  for (const char* version :
       {R"({"Version":2,)", R"({"Version":"1",)", R"({"Version":1.5,)", "{"}) {
    const auto loaded = ParseProcessCredentials(version + rest, "p");
    ASSERT_FALSE(loaded.has_value()) << version;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(loaded.error().retryable);
  }
}

TEST(ParseRoleListTest, TakesTheFirstNameAndNoPath) {
  EXPECT_EQ(**ParseRoleList("my_role+=,.@-1\nsecond"), "my_role+=,.@-1");
  EXPECT_EQ(*ParseRoleList(" \n"), std::nullopt);
  for (const char* wrong : {"a/b", "..", ".", "a?b", "<html>", "a b"}) {
    EXPECT_FALSE(ParseRoleList(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(ParseRoleList(std::string(65, 'a')).has_value());
}

}  // namespace
}  // namespace airfreight::s3
