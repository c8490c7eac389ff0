#include "store/s3/bucket_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "http/test_server.h"
#include "store/cloud/test_store.h"
#include "store/s3/test_store.h"

namespace airfreight::s3 {
namespace {

using ::airfreight::testing::kNow;
using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using ::testing::HasSubstr;

std::string Refusal(const std::string& code) {
  return "<Error><Code>" + code + "</Code><Message>no</Message></Error>";
}

struct Answered {
  int status = 200;
  std::string body;
};

Result<BucketFacts> Ask(const std::map<std::string, Answered>& answers,
                        const Headers& headers = {}) {
  TestServer server([&](const SeenRequest& seen) {
    for (const auto& [what, answer] : answers) {
      if (seen.target.find("?" + what) == std::string::npos) continue;
      return ScriptedReply::Http(answer.status, headers, answer.body);
    }
    return ScriptedReply::Http(403, headers, Refusal("AccessDenied"));
  });
  const auto client = OpenAt<S3Client>(server);
  return AskBucket(*client, [] { return kNow; }, {});
}

TEST(BucketFactsTest, EachAnswerIsTold) {
  const auto facts = Ask(
      {{"versioning",
        {200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"}},
       {"lifecycle",
        {200,
         "<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter><Prefix>xcom/</Prefix>"
         "</Filter><AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>"
         "</AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>"}},
       {"publicAccessBlock",
        {200,
         "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls>"
         "<IgnorePublicAcls>TRUE</IgnorePublicAcls><BlockPublicPolicy>false</BlockPublicPolicy>"
         "</PublicAccessBlockConfiguration>"}},
       {"logging",
        {200,
         "<BucketLoggingStatus><LoggingEnabled><TargetBucket>logs</TargetBucket></LoggingEnabled>"
         "</BucketLoggingStatus>"}}},
      {{"Date", "Thu, 01 Jan 2026 00:01:40 GMT"}});
  ASSERT_TRUE(facts.has_value()) << facts.error().ToString();
  EXPECT_EQ(facts->clock_offset, 100);
  EXPECT_EQ(facts->versioning.value, "Enabled");
  EXPECT_EQ(facts->lifecycle.value->abort_uploads, 7);
  EXPECT_EQ(facts->lifecycle.value->old_versions, 0);
  EXPECT_EQ(facts->open_to_public.value, "BlockPublicPolicy RestrictPublicBuckets");
  EXPECT_EQ(facts->access_log.value, "logs");
}

TEST(BucketFactsTest, WhatMayNotBeAskedIsNotKnownAndSaysWhy) {
  const auto facts = Ask({});
  ASSERT_TRUE(facts.has_value());
  EXPECT_FALSE(facts->versioning.value);
  EXPECT_THAT(facts->versioning.why, HasSubstr("AccessDenied"));
  EXPECT_FALSE(facts->lifecycle.value || facts->open_to_public.value || facts->access_log.value);
  EXPECT_FALSE(facts->clock_offset);
}

TEST(BucketFactsTest, ConfigurationsThatAreNotThereAreAnswers) {
  const auto facts =
      Ask({{"lifecycle", {404, Refusal("NoSuchLifecycleConfiguration")}},
           {"publicAccessBlock", {404, Refusal("NoSuchPublicAccessBlockConfiguration")}},
           {"logging", {200, "<BucketLoggingStatus/>"}},
           {"versioning", {501, Refusal("NotImplemented")}}});
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->lifecycle.value->abort_uploads, 0);
  EXPECT_THAT(*facts->open_to_public.value, HasSubstr("BlockPublicAcls"));
  EXPECT_EQ(facts->access_log.value, "");
  EXPECT_FALSE(facts->versioning.value);
}

TEST(BucketFactsTest, ABucketThatIsNotThereIsAnError) {
  const auto facts = Ask({{"versioning", {404, Refusal("NoSuchBucket")}}});
  ASSERT_FALSE(facts.has_value());
  EXPECT_THAT(facts.error().message, HasSubstr("does not exist"));
}

TEST(BucketFactsTest, AnAnswerThatIsNoneOfS3sIsNotKnown) {
  const auto facts = Ask({{"versioning", {200, "<html>"}}});
  ASSERT_TRUE(facts.has_value());
  EXPECT_THAT(facts->versioning.why, HasSubstr("is not S3's"));
}

std::string Rule(const std::string& inner, const std::string& status = "Enabled") {
  return "<LifecycleConfiguration><Rule><Status>" + status + "</Status>" + inner +
         "<Expiration><Days>9</Days></Expiration></Rule><Rule><Status>Enabled</Status><Filter/>"
         "<Expiration><Days>30</Days></Expiration></Rule></LifecycleConfiguration>";
}

TEST(BucketFactsTest, RulesCountThatAreForAllBelowThePrefix) {
  for (const char* filter :
       {"<Filter><Prefix>xcom/</Prefix></Filter>", "<Filter><Prefix/></Filter>", "<Filter/>",
        "<Prefix>xc</Prefix>", "<Filter><And><Prefix>xcom/</Prefix></And></Filter>"}) {
    EXPECT_EQ(DecodeLifecycle(Rule(filter), "xcom/")->everything, 9) << filter;
  }
  for (const char* filter :
       {"<Filter><Prefix>xcom/dag</Prefix></Filter>", "<Filter><Prefix>other</Prefix></Filter>",
        "<Filter><Tag><Key>a</Key></Tag></Filter>",
        "<Filter><And><Prefix>xcom/</Prefix><Tag/></And></Filter>",
        "<Filter><ObjectSizeLessThan>9</ObjectSizeLessThan></Filter>"}) {
    EXPECT_EQ(DecodeLifecycle(Rule(filter), "xcom/")->everything, 30) << filter;
  }
  EXPECT_EQ(DecodeLifecycle(Rule("<Filter/>", "Disabled"), "xcom/")->everything, 30);
}

}  // namespace
}  // namespace airfreight::s3
