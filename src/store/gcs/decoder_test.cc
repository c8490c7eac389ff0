#include "store/gcs/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "conformance/matchers.h"

namespace airfreight::gcs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z

std::string JsonError(std::string_view reason, std::string_view message) {
  return R"({"error":{"code":0,"message":")" + std::string(message) +
         R"(","errors":[{"domain":"global","reason":")" + std::string(reason) + R"("}]}})";
}

std::string XmlError(std::string_view code, std::string_view message) {
  return "<?xml version='1.0' encoding='UTF-8'?><Error><Code>" + std::string(code) +
         "</Code><Message>" + std::string(message) + "</Message><Details>d</Details></Error>";
}

Error Decode(int status, std::string_view text, Operation operation = Operation::kGet,
             const Headers& headers = {}, bool conditional = false) {
  return DecodeError({operation, conditional, "bucket", status, &headers, text}, kNow);
}

TEST(ParseErrorDocumentTest, BothApisAndTokenServices) {
  const auto api = ParseErrorDocument(JsonError("notFound", "No such object: b/k"));
  ASSERT_TRUE(api);
  EXPECT_EQ(api->reason, "notFound");
  EXPECT_EQ(api->message, "No such object: b/k");
  const auto xml = ParseErrorDocument(XmlError("NoSuchKey", "The specified key does not exist."));
  ASSERT_TRUE(xml);
  EXPECT_EQ(xml->reason, "NoSuchKey");
  EXPECT_EQ(xml->message, "The specified key does not exist.");
  const auto token = ParseErrorDocument(R"({"error":"invalid_grant","error_description":"d"})");
  ASSERT_TRUE(token);
  EXPECT_EQ(token->reason, "invalid_grant");
  const auto status = ParseErrorDocument(R"({"error":{"status":"NOT_FOUND","message":"m"}})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->reason, "NOT_FOUND");
  for (const char* other : {"", "Not Found", "<html>502</html>", "{}", "[]", R"({"error":1})"}) {
    EXPECT_FALSE(ParseErrorDocument(other)) << other;
  }
}

TEST(DecodeErrorTest, WhatIsNotThere) {
  EXPECT_EQ(Decode(404, XmlError("NoSuchKey", "m")).code, ErrorCode::kNotFound);
  EXPECT_EQ(Decode(404, JsonError("notFound", "No such object"), Operation::kHead).code,
            ErrorCode::kNotFound);
  // Without a document that tells.
  EXPECT_EQ(Decode(404, "Not Found").code, ErrorCode::kNotFound);
  // A bucket that is not there is no object that is lost.
  for (const Error& error :
       {Decode(404, XmlError("NoSuchBucket", "m")),
        Decode(404, JsonError("notFound", "The specified bucket does not exist."),
               Operation::kHead),
        Decode(404, "", Operation::kList), Decode(404, "", Operation::kPut)}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_THAT(error.message, HasSubstr("the bucket 'bucket' does not exist"));
    EXPECT_FALSE(error.retryable);
  }
  // Nothing lies where a generation was asked for.
  EXPECT_EQ(Decode(404, JsonError("notFound", ""), Operation::kRemove, {}, true).code,
            ErrorCode::kConditionFailed);
}

TEST(DecodeErrorTest, ConditionsThatDoNotHold) {
  for (const int status : {304, 412}) {
    EXPECT_EQ(Decode(status, XmlError("PreconditionFailed", "m")).code,
              ErrorCode::kConditionFailed);
    EXPECT_EQ(Decode(status, JsonError("conditionNotMet", "m"), Operation::kPut).code,
              ErrorCode::kConditionFailed);
  }
}

// Taken for a condition, it would be tried four times, and called a change by others.
TEST(DecodeErrorTest, WhatAPolicyOfTheOrganizationForbidsIsDenied) {
  constexpr char kSaid[] = "Request violates constraint 'constraints/gcp.restrictNonCmekServices'";
  for (const char* reason : {"orgPolicyConstraintFailed", "conditionNotMet"}) {
    const Error error = Decode(412, JsonError(reason, kSaid), Operation::kPut, {}, true);
    EXPECT_EQ(error.code, ErrorCode::kDenied) << reason;
    EXPECT_FALSE(error.retryable);
    EXPECT_THAT(error.message, AllOf(HasSubstr("gcp.restrictNonCmekServices"),
                                     HasSubstr("policy of the organization")));
  }
  EXPECT_EQ(Decode(412, JsonError("orgPolicyConstraintFailed", ""), Operation::kCompose).code,
            ErrorCode::kDenied);
}

TEST(DecodeErrorTest, DeniedReadsMayBeOfWhatIsNotThere) {
  for (const Error& error : {Decode(403, XmlError("AccessDenied", "m")),
                             Decode(403, JsonError("forbidden", "m"), Operation::kHead)}) {
    EXPECT_EQ(error.code, ErrorCode::kNotFoundOrDenied);
    EXPECT_THAT(error.message, HasSubstr("storage.objects.list"));
  }
  EXPECT_EQ(Decode(403, JsonError("forbidden", "m"), Operation::kPut).code, ErrorCode::kDenied);
  // Which permission is lacking, as the JSON API has it in its message.
  EXPECT_THAT(
      Decode(403,
             "<Error><Code>AccessDenied</Code><Message>Access denied.</Message><Details>a@p does "
             "not have storage.objects.get access</Details></Error>")
          .message,
      HasSubstr("Access denied. a@p does not have storage.objects.get access"));
  // Of the account, and not of the object.
  EXPECT_EQ(Decode(403, JsonError("accountDisabled", "m")).code, ErrorCode::kDenied);
  EXPECT_EQ(Decode(403, XmlError("UserProjectAccountProblem", "m")).code, ErrorCode::kDenied);
  EXPECT_EQ(Decode(403, JsonError("UserProjectAccessDenied", "m"), Operation::kHead).code,
            ErrorCode::kDenied);
  EXPECT_EQ(Decode(401, XmlError("AuthenticationRequired", "m")).code, ErrorCode::kDenied);
}

TEST(DecodeErrorTest, WhoPaysIsSaid) {
  for (const Error& error : {Decode(400, XmlError("UserProjectMissing", "m")),
                             Decode(400, JsonError("required", "m"), Operation::kPut)}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_THAT(error.message, HasSubstr("gs_user_project"));
  }
}

// delta-io/delta-rs#2451, grafana/mimir#12086: tries within the second never get out of it.
TEST(DecodeErrorTest, AThrottledChangeWaitsForASecondAtLeast) {
  const Error error = Decode(429, JsonError("rateLimitExceeded", "m"), Operation::kPut);
  EXPECT_EQ(error.code, ErrorCode::kThrottled);
  EXPECT_TRUE(error.retryable);
  EXPECT_EQ(error.retry_after_seconds, 1);
  EXPECT_EQ(Decode(429, "", Operation::kPut, {{"Retry-After", "7"}}).retry_after_seconds, 7);
  // Quotas of a project come as 403 too.
  EXPECT_EQ(Decode(403, JsonError("userRateLimitExceeded", "m"), Operation::kPut).code,
            ErrorCode::kThrottled);
}

TEST(DecodeErrorTest, WhatPassesIsTriedAgainAndWhatDoesNotIsNot) {
  for (const int status : {408, 409, 500, 502, 503, 504}) {
    EXPECT_TRUE(Decode(status, "").retryable) << status;
    EXPECT_EQ(Decode(status, "").code, ErrorCode::kUnavailable) << status;
  }
  for (const int status : {301, 307, 400, 401, 404, 405, 407, 411, 412, 413, 416, 501}) {
    EXPECT_FALSE(Decode(status, "").retryable) << status;
  }
  EXPECT_THAT(Decode(307, "").message, HasSubstr("gs_endpoint_url"));
  EXPECT_EQ(Decode(413, "").code, ErrorCode::kTooLarge);
}

TEST(DecodeErrorTest, AKeyThatIsNotThereIsNotTakenForABucket) {
  const Error error =
      Decode(404, JsonError("notFound", "Cloud KMS key projects/p/k not found."), Operation::kPut);
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_EQ(error.message, "Cloud KMS key projects/p/k not found");
  EXPECT_THAT(Decode(404, JsonError("notFound", "Not Found"), Operation::kPut).message,
              HasSubstr("bucket"));
}

TEST(DecodeErrorTest, TheServersWordsAndIdAreKeptAndAProxysPageIsNot) {
  const Error error = Decode(400, JsonError("invalid", "Cloud KMS key is wrong."), Operation::kPut,
                             {{"x-guploader-uploadid", "AHVr"}});
  EXPECT_EQ(error.message, "Cloud KMS key is wrong");
  EXPECT_EQ(error.service_code, "invalid");
  EXPECT_EQ(error.request_id, "AHVr");
  EXPECT_EQ(error.http_status, 400);
  EXPECT_THAT(Decode(502, "<html><body>Bad Gateway</body></html>").message, Not(HasSubstr("html")));
  EXPECT_THAT(Decode(400, JsonError("invalid", "a\\nb\\u001b[0m")).message, Not(HasSubstr("\n")));
}

TEST(DecodeResourceTest, HasWhatTheStoreNeeds) {
  const auto found = DecodeResource("k", R"({"name":"x/k","size":"5","generation":"17",
      "crc32c":"AQIDBA==","metadata":{"af-write":"7f","odd":1},
      "updated":"2026-01-01T00:00:00.123Z"})");
  ASSERT_TRUE(IsOk(found));
  EXPECT_EQ(found->info.key, "k");
  EXPECT_EQ(found->info.size, 5U);
  EXPECT_EQ(found->info.version, "17");
  EXPECT_EQ(found->info.modified_unix, kNow);
  EXPECT_EQ(found->crc32c, 0x01020304U);
  EXPECT_THAT(found->info.metadata, UnorderedElementsAre(Pair("af-write", "7f")));
}

TEST(DecodeResourceTest, WhatIsNoneIsAnErrorOfTheStores) {
  for (const char* text :
       {"", "[]", "{}", "no json", R"({"size":"5"})", R"({"size":5,"generation":"17"})",
        R"({"size":"5","generation":"-1"})", R"({"size":"x","generation":"17"})"}) {
    EXPECT_TRUE(IsError(DecodeResource("k", text), ErrorCode::kInternal)) << text;
  }
  // A checksum that is none is none: the digest of the reference decides.
  EXPECT_FALSE(DecodeResource("k", R"({"size":"5","generation":"17","crc32c":"AQID"})")->crc32c);
}

HttpResponse Head(int status, const Headers& headers) {
  HttpResponse response;
  response.status = status;
  response.headers = headers;
  response.content_length = 10;
  return response;
}

TEST(DecodeInfoTest, GenerationTimeAndMetadataAreHeaders) {
  const auto info =
      DecodeInfo("k", Head(200, {{"X-Goog-Generation", "17"},
                                 {"X-Goog-Meta-Af-Write", "7f"},
                                 {"x-goog-metageneration", "1"},
                                 {"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"}}));
  ASSERT_TRUE(IsOk(info));
  EXPECT_EQ(info->size, 10U);
  EXPECT_EQ(info->version, "17");
  EXPECT_EQ(info->modified_unix, kNow);
  EXPECT_THAT(info->metadata, UnorderedElementsAre(Pair("af-write", "7f")));
}

TEST(DecodeInfoTest, APartSaysHowLongTheWholeIs) {
  const auto info = DecodeInfo(
      "k", Head(206, {{"x-goog-generation", "17"}, {"Content-Range", "bytes 5-14/500"}}));
  ASSERT_TRUE(IsOk(info));
  EXPECT_EQ(info->size, 500U);
  for (const char* range : {"bytes 5-14", "bytes 5-14/*", ""}) {
    EXPECT_TRUE(
        IsError(DecodeInfo("k", Head(206, {{"x-goog-generation", "17"}, {"Content-Range", range}})),
                ErrorCode::kInternal))
        << range;
  }
  EXPECT_TRUE(IsError(DecodeInfo("k", Head(200, {})), ErrorCode::kInternal));
}

TEST(DecodeChecksumTest, IsOneOfSeveral) {
  EXPECT_EQ(DecodeChecksum({{"x-goog-hash", "crc32c=AQIDBA==,md5=AAAA"}}), 0x01020304U);
  EXPECT_EQ(DecodeChecksum({{"x-goog-hash", "md5=AAAA, crc32c=AQIDBA=="}}), 0x01020304U);
  for (const char* none : {"", "md5=AAAA", "crc32c=", "crc32c=AQID", "crc32c=AQIDBAU=", ",,,"}) {
    EXPECT_FALSE(DecodeChecksum({{"x-goog-hash", none}})) << none;
  }
}

TEST(DecodeListTest, KeysAreBelowTheRootAndPartsOfUploadsAreNotSeen) {
  const auto page = DecodeList(R"({"nextPageToken":"t","items":[
      {"name":"x/a","size":"1","generation":"2","updated":"2026-01-01T00:00:00Z"},
      {"name":"x/~parts/77/0001","size":"1","generation":"3"}]})",
                               "x/");
  ASSERT_TRUE(IsOk(page));
  EXPECT_EQ(page->next_token, "t");
  ASSERT_THAT(page->objects, SizeIs(1));
  EXPECT_EQ(page->objects[0].key, "a");
  EXPECT_EQ(page->objects[0].version, "2");
  EXPECT_THAT(DecodeList("{}", "x/")->objects, IsEmpty());
  for (const char* text : {"", "[]", R"({"items":1})", R"({"items":[1]})",
                           R"({"items":[{"name":"y/a","size":"1","generation":"2"}]})",
                           R"({"items":[{"name":"x/a"}]})"}) {
    EXPECT_TRUE(IsError(DecodeList(text, "x/"), ErrorCode::kInternal)) << text;
  }
}

}  // namespace
}  // namespace airfreight::gcs
