#include "store/s3/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>
#include <utility>

#include "base/percent.h"
#include "base/time.h"
#include "store/checks.h"
#include "store/cloud/answers.h"
#include "store/cloud/meaning.h"
#include "store/cloud/object_head.h"
#include "store/cloud/xml.h"

namespace airfreight::s3 {
namespace {

constexpr std::string_view kService = "S3";

// S3 refuses a request whose clock is more than this off
// (docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, RequestTimeTooSkewed).
constexpr int64_t kMaxSkewSeconds = int64_t{15} * 60;
// Ids of AWS have some 130 bytes, those of other servers fewer; a URL has 8 KiB with most.
constexpr size_t kMaxUploadId = 2048;
constexpr std::string_view kBlanks = " \t\r\n";

// Codes that say more than their status
// (docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html#ErrorCodeList).
constexpr auto kKnownCodes = std::to_array<KnownCode>({
    {"SlowDown", ErrorCode::kThrottled, true, ""},
    {"Throttling", ErrorCode::kThrottled, true, ""},
    {"ThrottlingException", ErrorCode::kThrottled, true, ""},
    // The rest of what AWS's clients take for it (botocore, data/_retry.json).
    {"ThrottledException", ErrorCode::kThrottled, true, ""},
    {"RequestThrottled", ErrorCode::kThrottled, true, ""},
    {"RequestThrottledException", ErrorCode::kThrottled, true, ""},
    {"PriorRequestNotComplete", ErrorCode::kThrottled, true, ""},
    {"KMSInternalException", ErrorCode::kUnavailable, true, ""},
    {"DependencyTimeoutException", ErrorCode::kUnavailable, true, ""},
    {"KeyUnavailableException", ErrorCode::kUnavailable, true, ""},
    {"RequestTimeoutException", ErrorCode::kUnavailable, true, ""},
    {"TooManyRequests", ErrorCode::kThrottled, true, ""},
    {"RequestLimitExceeded", ErrorCode::kThrottled, true, ""},
    {"BandwidthLimitExceeded", ErrorCode::kThrottled, true, ""},
    {"InternalError", ErrorCode::kUnavailable, true, ""},
    {"ServiceUnavailable", ErrorCode::kUnavailable, true, ""},
    // A 400 about a connection on which nothing came for too long.
    {"RequestTimeout", ErrorCode::kUnavailable, true, ""},
    {"IncompleteBody", ErrorCode::kUnavailable, true, ""},
    // The bytes were damaged on their way.
    {"BadDigest", ErrorCode::kUnavailable, true, ""},
    {"XAmzContentSHA256Mismatch", ErrorCode::kUnavailable, true, ""},
    {"XAmzContentChecksumMismatch", ErrorCode::kUnavailable, true, ""},  // MinIO's word.
    // Another write of the same key was under way
    // (docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
    {"ConditionalRequestConflict", ErrorCode::kUnavailable, true, ""},
    {"OperationAborted", ErrorCode::kUnavailable, true, ""},
    // A gateway over files (versitygw) that looks at a folder while its last object is removed. No
    // key of ours is another's folder, so that it passes.
    {"ExistingObjectIsDirectory", ErrorCode::kUnavailable, true, ""},
    // The upload was completed or given up, by us or by whoever clears such things away. After a
    // conflict of two writes AWS gives it up too
    // (docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html).
    {"NoSuchUpload", ErrorCode::kNotFound, false, ""},
    {"InvalidPart", ErrorCode::kInternal, false, ""},
    {"InvalidPartOrder", ErrorCode::kInternal, false, ""},
    {"EntityTooSmall", ErrorCode::kInternal, false, ""},
    {"PreconditionFailed", ErrorCode::kConditionFailed, false, ""},
    {"NotImplemented", ErrorCode::kUnsupported, false,
     "if it is about If-None-Match or If-Match, set [airfreight] s3_conditional_writes = never"},
    {"EntityTooLarge", ErrorCode::kTooLarge, false, ""},
    {"KeyTooLongError", ErrorCode::kInvalid, false, ""},
    {"InvalidRange", ErrorCode::kInvalid, false, ""},
    {"InvalidBucketName", ErrorCode::kInvalid, false, ""},
    {"InvalidAccessKeyId", ErrorCode::kDenied, false,
     "the store does not know this access key id: is it meant for another endpoint or account?"},
    // versitygw's word for the same, with a 404.
    {"XAdminUserNotFound", ErrorCode::kDenied, false,
     "the store does not know this access key id: is it meant for another endpoint or account?"},
    {"SignatureDoesNotMatch", ErrorCode::kDenied, false,
     "the secret access key does not belong to the access key id, or a proxy changes requests"},
    {"ExpiredToken", ErrorCode::kDenied, false,
     "the session token has expired: get new credentials"},
    {"TokenRefreshRequired", ErrorCode::kDenied, false,
     "the session token has expired: get new credentials"},
    {"InvalidToken", ErrorCode::kDenied, false,
     "the session token is not right: temporary keys need theirs, long-term keys have none"},
    {"RequestTimeTooSkewed", ErrorCode::kDenied, false, "set this machine's clock"},
    {"AllAccessDisabled", ErrorCode::kDenied, false, ""},
    {"AccountProblem", ErrorCode::kDenied, false, ""},
    {"InvalidObjectState", ErrorCode::kDenied, false,
     "the object lies in an archive class; restore it first"},
    {"PermanentRedirect", ErrorCode::kInvalid, false, "set [airfreight] s3_region to the bucket's"},
    {"AuthorizationHeaderMalformed", ErrorCode::kInvalid, false,
     "set [airfreight] s3_region to the bucket's"},
});

std::optional<Meaning> MeaningOf(std::string_view service_code) {
  // A key service's own errors come through with its name in front
  // (docs.aws.amazon.com/kms/latest/developerguide/throttling.html).
  constexpr std::string_view kKms = "KMS.";
  if (service_code.starts_with(kKms)) service_code.remove_prefix(kKms.size());
  return FindMeaning(kKnownCodes, service_code);
}

bool IsRead(Operation operation) {
  return operation == Operation::kGet || operation == Operation::kHead;
}

// What a 403 may be about that names no reason: what the operation takes, in IAM's words
// (docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html).
std::string_view ActionAdvice(Operation operation) {
  switch (operation) {
    case Operation::kGet:
    case Operation::kHead:
      return "it takes s3:GetObject on this key";
    case Operation::kPut:
    case Operation::kCreateUpload:
    case Operation::kUploadPart:
    case Operation::kCompleteUpload:
      return "it takes s3:PutObject on this key, and the right to use what encrypts it";
    case Operation::kRemove:
      return "it takes s3:DeleteObject on this key";
    case Operation::kAbortUpload:
      return "it takes s3:AbortMultipartUpload on this key";
    case Operation::kList:
      return "it takes s3:ListBucket on the bucket, for this prefix";
    case Operation::kListVersions:
      return "it takes s3:ListBucketVersions on the bucket, for this prefix";
    case Operation::kRemoveVersion:
      return "it takes s3:DeleteObjectVersion on this key";
    case Operation::kListUploads:
      return "it takes s3:ListBucketMultipartUploads on the bucket";
    case Operation::kAskBucket:
      return "";
  }
  return "";
}

// By the status, and what it answers.
Meaning MeaningOf(const FailedAnswer& answer) {
  switch (answer.status) {
    case 400:
      if (answer.operation == Operation::kHead) {
        return {
            ErrorCode::kInvalid, false,
            "answers to HEAD give no reason; a wrong region or an expired token looks like this"};
      }
      break;
    case 403:
      if (IsRead(answer.operation) && (answer.document ? answer.document->code == "AccessDenied"
                                                       : answer.operation == Operation::kHead)) {
        return {ErrorCode::kNotFoundOrDenied, false,
                "the object is not there, or these credentials may not read it: without "
                "s3:ListBucket the store does not say which"};
      }
      return {ErrorCode::kDenied, false, ActionAdvice(answer.operation)};
    case 409:
      // What is known to pass is in the list above; what a server has of its own may last.
      if (answer.document) return {ErrorCode::kInvalid};
      break;
    default:
      break;
  }
  return MeaningOfStatus(
      answer.status, "the store sends elsewhere: set [airfreight] s3_region or s3_endpoint_url");
}

tl::unexpected<Error> Malformed(std::string_view what) { return NotOfService(kService, what); }

}  // namespace

std::optional<ErrorDocument> ParseErrorDocument(std::string_view text) {
  pugi::xml_document document;
  if (text.empty() || !ParseXml(text, document)) return std::nullopt;
  pugi::xml_node error = document.child("Error");
  // Some servers wrap it as other services of AWS do.
  if (!error) error = document.child("ErrorResponse").child("Error");
  if (!error) return std::nullopt;
  return ErrorDocument{ChildText(error, "Code"), ChildText(error, "Message"),
                       ChildText(error, "Region"), ChildText(error, "RequestId")};
}

Error DecodeError(const FailedAnswer& answer, int64_t now) {
  const std::string service_code = answer.document ? answer.document->code : std::string();
  const Meaning meaning = MeaningOf(service_code).value_or(MeaningOf(answer));

  std::string_view request_id = answer.headers->Get("x-amz-request-id");
  if (request_id.empty() && answer.document) request_id = answer.document->request_id;
  Error error = ErrorOf(meaning, {answer.status, answer.headers, service_code, request_id}, now);

  if (service_code == "NoSuchBucket") {
    return NoSuchPlace(
        std::move(error),
        fmt::format("the bucket '{}' does not exist at this endpoint", answer.bucket));
  }
  // If-Match on what is not there (API_PutObject.html, "If-Match").
  // A bare 404 to Complete is as likely of the upload, and then no condition has failed.
  const bool of_object = service_code == "NoSuchKey" ||
                         (service_code.empty() && answer.operation != Operation::kCompleteUpload);
  if (error.code == ErrorCode::kNotFound && answer.if_match && !IsRead(answer.operation) &&
      of_object) {
    error.code = ErrorCode::kConditionFailed;
  }

  std::string said = answer.document ? ServersWords(answer.document->message) : std::string();
  while (said.ends_with('.')) said.pop_back();
  error.message = MessageOf(error.code, std::move(said), meaning.advice);
  return error;
}

Correction DecodeCorrection(const FailedAnswer& answer, std::string_view region, int64_t now) {
  const std::string_view code = answer.document ? std::string_view(answer.document->code) : "";
  // Without a body, as HEAD has it, a status must do.
  const bool headless = !answer.document.has_value();

  if (answer.status == 301 || answer.status == 307 || answer.status == 400 ||
      answer.status == 403) {
    std::string hint(answer.headers->Get("x-amz-bucket-region"));
    if (hint.empty() && answer.document) hint = answer.document->region;
    // A hint is part of a host name at once: only what could be a region's is one.
    if (!hint.empty() && hint != region && AwsEndpoint(hint)) {
      return {Correction::Kind::kRegion, hint, 0};
    }
  }
  if (code == "RequestTimeTooSkewed" || (headless && answer.status == 403)) {
    const auto server_time = ParseHttpDate(answer.headers->Get("date"));
    if (server_time && std::abs(*server_time - now) >= kMaxSkewSeconds) {
      return {Correction::Kind::kClock, "", *server_time};
    }
  }
  // To HEAD all of these are a bare 400.
  if (code == "ExpiredToken" || code == "TokenRefreshRequired" ||
      (headless && answer.status == 400 && answer.operation == Operation::kHead)) {
    return {Correction::Kind::kCredentials, "", 0};
  }
  // Stores name what they do not know in many ways: InvalidArgument (Backblaze), NotImplemented
  // (R2), InvalidRequest, MalformedHeader, or no word (boto/boto3#4392, #4398, #4401). What has a
  // meaning of its own is none of them. A 501 to a conditional request is about its condition,
  // unless it says otherwise.
  const bool named =
      answer.document && (answer.document->message.find("checksum") != std::string::npos ||
                          answer.document->message.find("Checksum") != std::string::npos);
  const bool unknown = answer.status == 501 ? !answer.conditional || named
                                            : answer.status == 400 && !MeaningOf(code);
  if (answer.checksums && unknown) {
    Correction correction{Correction::Kind::kChecksums, "", 0};
    correction.named = named || answer.status == 501 || !code.empty();
    return correction;
  }
  return {};
}

Result<ObjectInfo> DecodeInfo(std::string_view key, const HttpResponse& response) {
  return DecodeObjectHead(key, response, {kService, "ETag", "x-amz-meta-"});
}

Result<ListPage> DecodeList(std::string_view text, std::string_view root) {
  pugi::xml_document document;
  if (!ParseXml(text, document)) return Malformed("a list that is no XML");
  const pugi::xml_node list = document.child("ListBucketResult");
  if (!list) return Malformed("a list without ListBucketResult");

  // Servers that do not know the encoding leave it out, and keys as they are.
  const bool encoded = ChildText(list, "EncodingType") == "url";
  ListPage page;
  for (const pugi::xml_node& entry : list.children("Contents")) {
    ObjectInfo info;
    std::string key = ChildText(entry, "Key");
    if (encoded) {
      // As in a form: a blank is '+', a plus is %2B.
      std::replace(key.begin(), key.end(), '+', ' ');
      auto decoded = PercentDecode(key);
      if (!decoded) return Malformed("a key that is not percent-encoded");
      key = *std::move(decoded);
    }
    if (!key.starts_with(root)) return Malformed("a list of keys that were not asked for");
    const auto size = ParseDecimal(ChildText(entry, "Size"));
    if (!size) return Malformed("an object without a size");
    info.key = key.substr(root.size());
    info.size = *size;
    info.version = ChildText(entry, "ETag");
    info.modified_unix = ParseIso8601(ChildText(entry, "LastModified")).value_or(0);
    page.objects.push_back(std::move(info));
  }
  if (ChildText(list, "IsTruncated") == "true") {
    page.next_token = ChildText(list, "NextContinuationToken");
    if (page.next_token.empty()) return Malformed("a list that goes on without saying where");
  }
  return page;
}

Result<std::string> DecodeCreateUpload(std::string_view text) {
  pugi::xml_document document;
  if (!ParseXml(text, document)) return Malformed("an upload that is no XML");
  std::string id = ChildText(document.child("InitiateMultipartUploadResult"), "UploadId");
  if (id.empty()) return Malformed("an upload without an id");
  // It becomes part of each later request's URL.
  if (id.size() > kMaxUploadId) return Malformed("an upload whose id is too long");
  return id;
}

Result<std::string> DecodeCompleteUpload(std::string_view text) {
  if (text.find_first_not_of(kBlanks) == std::string_view::npos) {
    Error error;
    error.code = ErrorCode::kUnavailable;
    error.message = "the store did not say whether it has put the parts together";
    error.retryable = true;
    return Fail(std::move(error));
  }
  pugi::xml_document document;
  if (!ParseXml(text, document)) return Malformed("a completed upload that is no XML");
  std::string tag = ChildText(document.child("CompleteMultipartUploadResult"), "ETag");
  if (tag.empty()) return Malformed("a completed upload without an ETag");
  // It becomes the value of If-Match, and XML can spell what no header may hold.
  if (std::any_of(tag.begin(), tag.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return Malformed("a completed upload with an ETag of more than one line");
  }
  // A version is what the head of an answer says, which has quotes always
  // (www.rfc-editor.org/rfc/rfc9110#section-8.8.3); some servers leave them out here.
  if (!tag.ends_with('"')) tag = fmt::format("\"{}\"", tag);
  return tag;
}

}  // namespace airfreight::s3
