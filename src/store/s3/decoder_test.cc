#include "store/s3/decoder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z

std::string Document(std::string_view code, std::string_view message = "Said the server.") {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>"
      "<RequestId>4442587FB7D0A2F9</RequestId></Error>",
      code, message);
}

struct Answer {
  Operation operation = Operation::kGet;
  int status = 0;
  std::string code;  // Empty: no document.
  bool conditional = false;
  Headers headers = {};

  FailedAnswer Failed() const {
    return {operation, conditional,
            "bucket",  status,
            &headers,  code.empty() ? std::nullopt : ParseErrorDocument(Document(code)),
            false,     conditional};
  }
};

Error Decode(const Answer& answer) { return DecodeError(answer.Failed(), kNow); }

struct Case {
  Answer answer;
  ErrorCode code;
  bool retryable;
};

std::string CaseName(const ::testing::TestParamInfo<Case>& param) {
  const Answer& answer = param.param.answer;
  std::string name = fmt::format("{}_{}_{}", answer.status,
                                 answer.code.empty() ? "none" : answer.code, param.index);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class ErrorMappingTest : public ::testing::TestWithParam<Case> {};

TEST_P(ErrorMappingTest, HasCodeAndRetryability) {
  const Error error = Decode(GetParam().answer);
  EXPECT_EQ(ErrorCodeName(error.code), ErrorCodeName(GetParam().code));
  EXPECT_EQ(error.retryable, GetParam().retryable);
  EXPECT_EQ(error.http_status, GetParam().answer.status);
  EXPECT_EQ(error.service_code, GetParam().answer.code);
  EXPECT_FALSE(error.message.empty());
}

constexpr auto kPut = Operation::kPut;
constexpr auto kGet = Operation::kGet;
constexpr auto kHead = Operation::kHead;
constexpr auto kRemove = Operation::kRemove;
constexpr auto kList = Operation::kList;

INSTANTIATE_TEST_SUITE_P(
    Answers, ErrorMappingTest,
    ::testing::ValuesIn(std::vector<Case>{
        {{kGet, 404, "NoSuchKey"}, ErrorCode::kNotFound, false},
        {{kHead, 404, ""}, ErrorCode::kNotFound, false},
        {{kGet, 404, "NoSuchBucket"}, ErrorCode::kInvalid, false},
        {{kPut, 404, "NoSuchBucket"}, ErrorCode::kInvalid, false},
        {{kPut, 404, "NoSuchKey", true}, ErrorCode::kConditionFailed, false},
        {{kRemove, 404, "NoSuchKey", true}, ErrorCode::kConditionFailed, false},
        {{kPut, 404, "NoSuchVersion", true}, ErrorCode::kNotFound, false},
        {{kGet, 404, "NoSuchKey", true}, ErrorCode::kNotFound, false},
        // Without ListBucket a missing key is a refusal.
        {{kGet, 403, "AccessDenied"}, ErrorCode::kNotFoundOrDenied, false},
        {{kHead, 403, ""}, ErrorCode::kNotFoundOrDenied, false},
        {{kGet, 403, ""}, ErrorCode::kDenied, false},  // A proxy's page.
        {{kPut, 403, "AccessDenied"}, ErrorCode::kDenied, false},
        {{kList, 403, "AccessDenied"}, ErrorCode::kDenied, false},
        {{kRemove, 403, "AccessDenied"}, ErrorCode::kDenied, false},
        // Netflix/metaflow#953: what is refused is refused again.
        {{kGet, 403, "SignatureDoesNotMatch"}, ErrorCode::kDenied, false},
        {{kGet, 403, "InvalidAccessKeyId"}, ErrorCode::kDenied, false},
        {{kPut, 400, "ExpiredToken"}, ErrorCode::kDenied, false},
        {{kGet, 403, "RequestTimeTooSkewed"}, ErrorCode::kDenied, false},
        {{kGet, 401, ""}, ErrorCode::kDenied, false},
        {{kPut, 412, "PreconditionFailed", true}, ErrorCode::kConditionFailed, false},
        {{kGet, 412, "", true}, ErrorCode::kConditionFailed, false},
        {{kPut, 409, "ConditionalRequestConflict", true}, ErrorCode::kUnavailable, true},
        // A gateway over files has another object where this one's folder would be.
        {{kPut, 409, "ObjectParentIsFile"}, ErrorCode::kInvalid, false},
        {{kPut, 409, "ExistingObjectIsDirectory"}, ErrorCode::kUnavailable, true},
        {{kGet, 404, "XAdminUserNotFound"}, ErrorCode::kDenied, false},
        {{kPut, 409, ""}, ErrorCode::kUnavailable, true},
        {{kPut, 501, "NotImplemented", true}, ErrorCode::kUnsupported, false},
        // s3fs-fuse/s3fs-fuse#603: throttling with a code or without one, or within a success.
        {{kPut, 503, "SlowDown"}, ErrorCode::kThrottled, true},
        {{kPut, 503, ""}, ErrorCode::kUnavailable, true},
        {{kPut, 429, ""}, ErrorCode::kThrottled, true},
        {{kPut, 200, "SlowDown"}, ErrorCode::kThrottled, true},
        {{kPut, 200, "InternalError"}, ErrorCode::kUnavailable, true},
        {{kPut, 400, "KMS.ThrottlingException"}, ErrorCode::kThrottled, true},
        {{kGet, 400, "ThrottlingException"}, ErrorCode::kThrottled, true},
        {{kPut, 200, "KMS.ThrottlingException"}, ErrorCode::kThrottled, true},
        {{kPut, 503, "RequestLimitExceeded"}, ErrorCode::kThrottled, true},
        {{kPut, 400, "KMS.DisabledException"}, ErrorCode::kInvalid, false},
        {{Operation::kUploadPart, 404, "NoSuchUpload"}, ErrorCode::kNotFound, false},
        {{Operation::kCompleteUpload, 404, "NoSuchUpload", true}, ErrorCode::kNotFound, false},
        {{Operation::kCompleteUpload, 400, "InvalidPart"}, ErrorCode::kInternal, false},
        {{kGet, 500, "InternalError"}, ErrorCode::kUnavailable, true},
        {{kGet, 502, ""}, ErrorCode::kUnavailable, true},
        {{kGet, 504, ""}, ErrorCode::kUnavailable, true},
        // aws/aws-sdk-java-v2#3736: the 400 of an idle socket.
        {{kPut, 400, "RequestTimeout"}, ErrorCode::kUnavailable, true},
        {{kPut, 400, "EntityTooLarge"}, ErrorCode::kTooLarge, false},
        {{kPut, 413, ""}, ErrorCode::kTooLarge, false},
        {{kPut, 400, "KeyTooLongError"}, ErrorCode::kInvalid, false},
        {{kGet, 416, "InvalidRange"}, ErrorCode::kInvalid, false},
        {{kGet, 301, "PermanentRedirect"}, ErrorCode::kInvalid, false},
        {{kGet, 307, ""}, ErrorCode::kInvalid, false},
        {{kGet, 407, ""}, ErrorCode::kUnavailable, false},
        {{kGet, 200, "Nonsense"}, ErrorCode::kInternal, false},
    }),
    CaseName);

TEST(DecodeErrorTest, NamesBucketRequestAndReason) {
  const Error error = Decode({kPut, 404, "NoSuchBucket"});
  EXPECT_THAT(error.message, HasSubstr("'bucket'"));
  EXPECT_EQ(error.request_id, "4442587FB7D0A2F9");
  EXPECT_EQ(Decode({kPut, 500, "", false, {{"x-amz-request-id", "R"}}}).request_id, "R");
  EXPECT_THAT(Decode({kPut, 400, "InvalidArgument"}).message, HasSubstr("Said the server"));
}

TEST(DecodeErrorTest, AHeadThatIsRefusedWithoutAWordSaysWhatItMayBe) {
  EXPECT_THAT(Decode({kHead, 400, ""}).message, HasSubstr("region"));
}

TEST(DecodeErrorTest, RetryAfterIsSecondsOrADateAndIsBounded) {
  const auto after = [](std::string_view value) {
    return Decode({kPut, 503, "", false, {{"Retry-After", std::string(value)}}})
        .retry_after_seconds;
  };
  EXPECT_EQ(after("7"), 7);
  EXPECT_EQ(after("Thu, 01 Jan 2026 00:00:05 GMT"), 5);
  EXPECT_EQ(after("Wed, 31 Dec 2025 00:00:05 GMT"), 0);
  EXPECT_EQ(after("99999999"), 300);
  EXPECT_EQ(after("soon"), 0);
}

TEST(DecodeErrorTest, AServersTextCannotBreakALogLine) {
  FailedAnswer answer = Answer{kPut, 400, ""}.Failed();
  const Headers headers;
  answer.headers = &headers;
  answer.document = ParseErrorDocument(Document("A\nB", "evil\r\n\x1b[31mERROR"));
  const std::string text = DecodeError(answer, kNow).ToString();
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(ParseErrorDocumentTest, TakesBlanksBeforeItAndNothingElse) {
  // apache/arrow-rs-object-store#122: blanks keep the connection alive until the error is known.
  EXPECT_EQ(ParseErrorDocument("  \n<Error><Code>InternalError</Code></Error>")->code,
            "InternalError");
  EXPECT_EQ(
      ParseErrorDocument("<ErrorResponse><Error><Code>X</Code></Error></ErrorResponse>")->code,
      "X");
  for (const std::string_view text : {"", " ", "<html><body>Bad gateway</body></html>", "<Error",
                                      "{\"Error\":1}", "<ListBucketResult/>"}) {
    EXPECT_FALSE(ParseErrorDocument(text).has_value()) << text;
  }
}

TEST(ParseErrorDocumentTest, EntitiesOfTheDocumentAreNotExpanded) {
  const auto document = ParseErrorDocument(
      "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><Error><Code>&x;</Code></Error>");
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->code, "&x;");
}

// aws/aws-sdk-java-v2#4425, aws/aws-sdk-js-v3#1446: a bucket in another region.
TEST(DecodeCorrectionTest, TheRegionComesFromHeaderOrDocument) {
  const auto by_header = DecodeCorrection(
      Answer{kHead, 301, "", false, {{"x-amz-bucket-region", "us-west-2"}}}.Failed(), "eu-west-1",
      kNow);
  EXPECT_EQ(by_header.kind, Correction::Kind::kRegion);
  EXPECT_EQ(by_header.region, "us-west-2");

  FailedAnswer malformed = Answer{kPut, 400, ""}.Failed();
  const Headers none;
  malformed.headers = &none;
  malformed.document = ParseErrorDocument(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Region>us-west-2</Region></Error>");
  EXPECT_EQ(DecodeCorrection(malformed, "eu-west-1", kNow).region, "us-west-2");
}

TEST(DecodeCorrectionTest, ARegionThatIsUsedAlreadyOrIsNoneCorrectsNothing) {
  for (const char* region : {"eu-west-1", "evil.com/", ""}) {
    const auto correction =
        DecodeCorrection(Answer{kGet, 301, "", false, {{"x-amz-bucket-region", region}}}.Failed(),
                         "eu-west-1", kNow);
    EXPECT_EQ(correction.kind, Correction::Kind::kNone) << region;
  }
}

TEST(DecodeCorrectionTest, TheClockComesFromTheAnswersDate) {
  const Headers late{{"Date", "Thu, 01 Jan 2026 01:00:00 GMT"}};
  EXPECT_EQ(
      DecodeCorrection(Answer{kGet, 403, "RequestTimeTooSkewed", false, late}.Failed(), "r", kNow)
          .server_time,
      kNow + 3600);
  // HEAD has no document to say so.
  EXPECT_EQ(DecodeCorrection(Answer{kHead, 403, "", false, late}.Failed(), "r", kNow).kind,
            Correction::Kind::kClock);
  const Headers right{{"Date", "Thu, 01 Jan 2026 00:01:00 GMT"}};
  EXPECT_EQ(DecodeCorrection(Answer{kHead, 403, "", false, right}.Failed(), "r", kNow).kind,
            Correction::Kind::kNone);
  EXPECT_EQ(
      DecodeCorrection(Answer{kGet, 403, "AccessDenied", false, late}.Failed(), "r", kNow).kind,
      Correction::Kind::kNone);
}

TEST(DecodeCorrectionTest, ABare400ToAHeadMayBeAnExpiredToken) {
  EXPECT_EQ(DecodeCorrection(Answer{kHead, 400, ""}.Failed(), "r", kNow).kind,
            Correction::Kind::kCredentials);
  EXPECT_EQ(DecodeCorrection(Answer{kGet, 400, ""}.Failed(), "r", kNow).kind,
            Correction::Kind::kNone);
}

TEST(DecodeCorrectionTest, A501ToAConditionIsAboutTheChecksumOnlyIfItSaysSo) {
  const auto kind = [](bool conditional, std::string_view message) {
    const Headers none;
    FailedAnswer answer = Answer{kPut, 501, "", conditional}.Failed();
    answer.headers = &none;
    answer.document = ParseErrorDocument(Document("NotImplemented", message));
    answer.checksums = true;
    return DecodeCorrection(answer, "r", kNow).kind;
  };
  EXPECT_EQ(kind(false, "m"), Correction::Kind::kChecksums);
  EXPECT_EQ(kind(true, "m"), Correction::Kind::kNone);
  EXPECT_EQ(kind(true, "Header 'x-amz-checksum-crc32c' not implemented"),
            Correction::Kind::kChecksums);
}

TEST(DecodeInfoTest, ReadsWhatTheHeadSays) {
  HttpResponse response;
  response.status = 200;
  response.content_length = 7;
  response.headers = {{"ETag", "\"9b2c-3\""},
                      {"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"},
                      {"X-Amz-Meta-Write", "7f"},
                      {"x-amz-version-id", "v"}};
  const auto info = DecodeInfo("k", response);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->key, "k");
  EXPECT_EQ(info->size, 7u);
  EXPECT_EQ(info->version, "\"9b2c-3\"");
  EXPECT_EQ(info->modified_unix, kNow);
  EXPECT_EQ(info->metadata, (Metadata{{"write", "7f"}}));
}

TEST(DecodeInfoTest, TheSizeOfAPartIsTheWholes) {
  HttpResponse response;
  response.status = 206;
  response.content_length = 3;
  response.headers = {{"ETag", "\"e\""}, {"Content-Range", "bytes 2-4/1000"}};
  EXPECT_EQ(DecodeInfo("k", response)->size, 1000u);
  for (const char* range : {"bytes 2-4/*", "bytes 2-4", ""}) {
    response.headers.Set("Content-Range", range);
    EXPECT_EQ(DecodeInfo("k", response).error().code, ErrorCode::kInternal) << range;
  }
}

TEST(DecodeListTest, ReadsAPageOfEncodedKeys) {
  const auto page = DecodeList(
      R"(<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
      <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
      <NextContinuationToken>t&amp;1</NextContinuationToken>
      <Contents><Key>xcom/a+b%2Bc%252F%C3%A9</Key><Size>12</Size><ETag>&quot;e&quot;</ETag>
      <LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>
      <Contents><Key>xcom/b</Key><Size>0</Size></Contents></ListBucketResult>)",
      "xcom/");
  ASSERT_TRUE(page.has_value()) << page.error().message;
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a b+c%2Fé");
  EXPECT_EQ(page->objects[0].size, 12u);
  EXPECT_EQ(page->objects[0].version, "\"e\"");
  EXPECT_EQ(page->objects[0].modified_unix, kNow);
  EXPECT_EQ(page->next_token, "t&1");
}

TEST(DecodeListTest, KeysOfAServerWithoutTheEncodingAreTakenAsTheyAre) {
  const auto page = DecodeList(
      "<ListBucketResult><Contents><Key>a+%2F</Key><Size>1</Size></Contents></ListBucketResult>",
      "");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->objects[0].key, "a+%2F");
  EXPECT_EQ(page->next_token, "");
}

TEST(DecodeListTest, WhatIsNoPageIsAnError) {
  for (
      const std::string_view text :
      {"", "not xml", "<Error/>",
       "<ListBucketResult><Contents><Key>other/a</Key><Size>1</Size></Contents></ListBucketResult>",
       "<ListBucketResult><Contents><Key>xcom/a</Key></Contents></ListBucketResult>",
       "<ListBucketResult><Contents><Key>xcom/a</Key><Size>-1</Size></Contents></ListBucketResult>",
       "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>xcom/%zz</Key>"
       "<Size>1</Size></Contents></ListBucketResult>",
       "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    const auto page = DecodeList(text, "xcom/");
    ASSERT_FALSE(page.has_value()) << text;
    EXPECT_EQ(page.error().code, ErrorCode::kInternal);
  }
}

TEST(DecodeCreateUploadTest, AnIdIsTextOfABoundedLength) {
  const auto decode = [](const std::string& id) {
    return DecodeCreateUpload("<InitiateMultipartUploadResult><UploadId>" + id +
                              "</UploadId></InitiateMultipartUploadResult>");
  };
  EXPECT_EQ(decode("a&amp;b/+").value(), "a&b/+");
  EXPECT_FALSE(decode("").has_value());
  EXPECT_FALSE(decode(std::string(3000, 'i')).has_value());
}

TEST(DecodeCompleteUploadTest, TheVersionIsQuotedAsInTheHeadOfAnAnswer) {
  const auto decode = [](const std::string& tag) {
    return DecodeCompleteUpload("\n <CompleteMultipartUploadResult><ETag>" + tag +
                                "</ETag></CompleteMultipartUploadResult>");
  };
  EXPECT_EQ(decode("&#34;e-2&#34;").value(), "\"e-2\"");
  EXPECT_EQ(decode("\"e-2\"").value(), "\"e-2\"");
  EXPECT_EQ(decode("e-2").value(), "\"e-2\"");
  EXPECT_FALSE(decode("").has_value());
  // XML can spell what would be a header of its own in a later request.
  EXPECT_FALSE(decode("a&#13;&#10;x-evil: 1").has_value());
}

}  // namespace
}  // namespace airfreight::s3
