#include "store/azure/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/matchers.h"

namespace airfreight::azure {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z

HttpResponse Answer(int status, const std::string& code, const std::string& message = {}) {
  HttpResponse response;
  response.status = status;
  response.headers.Set("x-ms-request-id", "RID");
  if (!code.empty()) response.headers.Set("x-ms-error-code", code);
  if (!message.empty()) {
    // With the mark that the service puts in front.
    response.error_document =
        "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>" + code +
        "</Code><Message>" + message +
        "\nRequestId:RID\nTime:2026-01-01T00:00:00.0Z</Message>"
        "<AuthenticationErrorDetail>The MAC signature 'hunter2' is not the "
        "same</AuthenticationErrorDetail></Error>";
  }
  return response;
}

Error Decoded(const HttpResponse& response, Operation operation = Operation::kPut,
              bool if_match = false) {
  return DecodeError({operation, if_match, "box", &response}, kNow);
}

TEST(AzureDecoder, CodesSayMoreThanTheirStatus) {
  struct Case {
    int status;
    const char* code;
    ErrorCode meaning;
    bool retryable;
  };
  for (const Case& c : std::vector<Case>{
           {409, "BlobAlreadyExists", ErrorCode::kConditionFailed, false},
           {412, "ConditionNotMet", ErrorCode::kConditionFailed, false},
           {412, "LeaseIdMissing", ErrorCode::kInvalid, false},
           {412, "SequenceNumberConditionNotMet", ErrorCode::kInvalid, false},
           {412, "", ErrorCode::kConditionFailed, false},
           {404, "BlobNotFound", ErrorCode::kNotFound, false},
           {404, "ContainerNotFound", ErrorCode::kInvalid, false},
           {409, "ContainerBeingDeleted", ErrorCode::kInvalid, false},
           {400, "InvalidBlockList", ErrorCode::kNotFound, false},
           {400, "InvalidBlobOrBlock", ErrorCode::kInvalid, false},
           {400, "Crc64Mismatch", ErrorCode::kUnavailable, true},
           {400, "Md5Mismatch", ErrorCode::kUnavailable, true},
           {503, "ServerBusy", ErrorCode::kThrottled, true},
           {500, "OperationTimedOut", ErrorCode::kUnavailable, true},
           {500, "InternalError", ErrorCode::kUnavailable, true},
           {403, "AuthenticationFailed", ErrorCode::kDenied, false},
           {403, "AuthorizationFailure", ErrorCode::kDenied, false},
           {403, "AuthorizationPermissionMismatch", ErrorCode::kDenied, false},
           {401, "InvalidAuthenticationInfo", ErrorCode::kDenied, false},
           {409, "BlobImmutableDueToLegalHold", ErrorCode::kDenied, false},
           {409, "ContainerDisabled", ErrorCode::kDenied, false},
           {403, "UnauthorizedBlobOverwrite", ErrorCode::kDenied, false},
           {409, "BlockCountExceedsLimit", ErrorCode::kTooLarge, false},
           {409, "SnapshotsPresent", ErrorCode::kInvalid, false},
           {409, "SomethingNew", ErrorCode::kInvalid, false},
           {409, "", ErrorCode::kUnavailable, true},
           {413, "RequestBodyTooLarge", ErrorCode::kTooLarge, false},
           {429, "", ErrorCode::kThrottled, true},
           {416, "InvalidRange", ErrorCode::kInvalid, false},
           {502, "", ErrorCode::kUnavailable, true},
           {302, "", ErrorCode::kInvalid, false},
       }) {
    const Error error = Decoded(Answer(c.status, c.code, "Said"));
    EXPECT_EQ(error.code, c.meaning) << c.status << c.code;
    EXPECT_EQ(error.retryable, c.retryable) << c.status << c.code;
    EXPECT_EQ(error.service_code, c.code);
    EXPECT_EQ(error.request_id, "RID");
    EXPECT_EQ(error.http_status, c.status);
  }
}

TEST(AzureDecoder, OnlyTheSentenceIsRepeated) {
  const Error error =
      Decoded(Answer(403, "AuthenticationFailed", "Server failed to authenticate."));
  EXPECT_THAT(error.message, HasSubstr("Server failed to authenticate: the key"));
  EXPECT_THAT(error.message, HasSubstr("clock"));
  EXPECT_THAT(error.message, Not(HasSubstr("RequestId")));
  EXPECT_THAT(error.message, Not(HasSubstr("hunter2")));
}

TEST(AzureDecoder, TheCodeIsInTheHeadWhereThereIsNoDocument) {
  EXPECT_EQ(Decoded(Answer(404, "ContainerNotFound"), Operation::kHead).message,
            "the container 'box' does not exist in this account; create it, or correct the "
            "store's URI");
  EXPECT_EQ(Decoded(Answer(404, "BlobNotFound"), Operation::kHead).code, ErrorCode::kNotFound);
}

TEST(AzureDecoder, AVersionOfWhatIsNotThereIsAConditionThatFailed) {
  EXPECT_EQ(Decoded(Answer(404, "BlobNotFound"), Operation::kRemove, true).code,
            ErrorCode::kConditionFailed);
  EXPECT_EQ(Decoded(Answer(404, "BlobNotFound"), Operation::kGet, true).code, ErrorCode::kNotFound);
  EXPECT_EQ(Decoded(Answer(404, "ResourceNotFound"), Operation::kPut, true).code,
            ErrorCode::kConditionFailed);
  EXPECT_EQ(Decoded(Answer(404, ""), Operation::kPut, true).code, ErrorCode::kConditionFailed);
  // Where nothing was to be there, or something else is missing, no condition has failed.
  EXPECT_EQ(Decoded(Answer(404, ""), Operation::kPut).code, ErrorCode::kNotFound);
  EXPECT_EQ(Decoded(Answer(404, "FilesystemNotFound"), Operation::kPut, true).code,
            ErrorCode::kNotFound);
  // The blocks are gone: nothing was said of the condition.
  EXPECT_EQ(Decoded(Answer(400, "InvalidBlockList"), Operation::kPutBlockList, true).code,
            ErrorCode::kNotFound);
}

TEST(AzureDecoder, RetryAfterIsHeeded) {
  HttpResponse busy = Answer(503, "ServerBusy");
  busy.headers.Set("Retry-After", "7");
  EXPECT_EQ(Decoded(busy).retry_after_seconds, 7);
}

TEST(AzureDecoder, AClockThatIsOffIsCorrectedForKeysOnly) {
  HttpResponse denied = Answer(403, "AuthenticationFailed", "No");
  denied.headers.Set("Date", "Thu, 01 Jan 2026 01:00:00 GMT");
  const FailedAnswer answer{Operation::kPut, false, "box", &denied};
  const Correction correction = DecodeCorrection(answer, Credential::Kind::kSharedKey, kNow);
  EXPECT_EQ(correction.kind, Correction::Kind::kClock);
  EXPECT_EQ(correction.server_time, kNow + 3600);
  EXPECT_EQ(DecodeCorrection(answer, Credential::Kind::kSas, kNow).kind, Correction::Kind::kNone);
  EXPECT_EQ(DecodeCorrection(answer, Credential::Kind::kSharedKey, kNow + 3600).kind,
            Correction::Kind::kNone);
  EXPECT_EQ(DecodeCorrection(answer, Credential::Kind::kToken, kNow).kind,
            Correction::Kind::kCredential);
}

TEST(AzureDecoder, InfoOfAWholeAndOfAPart) {
  HttpResponse response;
  response.status = 206;
  response.content_length = 10;
  response.headers = {{"Content-Range", "bytes 0-9/100"},
                      {"ETag", "\"0x8D1\""},
                      {"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"},
                      {"X-Ms-Meta-Af_Write", "00ff"},
                      {"x-ms-meta-af_owner", "x%252Fy"}};
  const auto info = DecodeInfo("k", response);
  ASSERT_TRUE(IsOk(info));
  EXPECT_EQ(info->size, 100U);
  EXPECT_EQ(info->version, "\"0x8D1\"");
  EXPECT_EQ(info->modified_unix, kNow);
  EXPECT_EQ(info->metadata, (Metadata{{"af-owner", "x%2Fy"}, {"af-write", "00ff"}}));
  response.headers = {{"Content-Range", "bytes 0-9/100"}};
  EXPECT_TRUE(IsError(DecodeInfo("k", response), ErrorCode::kInternal));
}

constexpr char kList[] =
    "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint="
    "\"https://a.blob.core.windows.net/\" ContainerName=\"box\"><Blobs>"
    "<Blob><Name>xcom/a&amp;b</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 "
    "GMT</Last-Modified><Etag>0x8D1</Etag><Content-Length>7</Content-Length></Properties></Blob>"
    "<Blob><Name>xcom/d</Name><Properties><Etag>0x8D2</Etag><ResourceType>directory</ResourceType>"
    "<Content-Length>0</Content-Length></Properties></Blob>"
    "<Blob><Name Encoded=\"true\">xcom%2Fe%EF%BF%BE</Name><Properties><Etag>\"0x8D3\"</Etag>"
    "<Content-Length>9</Content-Length></Properties></Blob>"
    "</Blobs><NextMarker>2!76!x</NextMarker></EnumerationResults>";

TEST(AzureDecoder, AListHasNamesUnderTheRootAndVersionsAsHeadsHaveThem) {
  const auto page = DecodeList(kList, "xcom/");
  ASSERT_TRUE(IsOk(page));
  ASSERT_EQ(page->objects.size(), 2U);
  EXPECT_EQ(page->objects[0].key, "a&b");
  EXPECT_EQ(page->objects[0].size, 7U);
  EXPECT_EQ(page->objects[0].version, "\"0x8D1\"");
  EXPECT_EQ(page->objects[0].modified_unix, kNow);
  EXPECT_EQ(page->objects[1].key, "e\xef\xbf\xbe");
  EXPECT_EQ(page->objects[1].version, "\"0x8D3\"");
  EXPECT_EQ(page->next_token, "2!76!x");
}

TEST(AzureDecoder, AListOfSomethingElseIsRefused) {
  EXPECT_TRUE(IsError(DecodeList(kList, "other/"), ErrorCode::kInternal));
  for (const char* const text : {"", "<html/>", "not xml",
                                 "<EnumerationResults><Blobs><Blob><Name>a</Name></Blob></Blobs>"
                                 "</EnumerationResults>"}) {
    EXPECT_TRUE(IsError(DecodeList(text, ""), ErrorCode::kInternal)) << text;
  }
}

}  // namespace
}  // namespace airfreight::azure
