#include "store/azure/decoder.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <pugixml.hpp>
#include <utility>

#include "base/time.h"
#include "store/azure/blob_list.h"
#include "store/azure/metadata.h"
#include "store/cloud/answers.h"
#include "store/cloud/meaning.h"
#include "store/cloud/object_head.h"
#include "store/cloud/xml.h"

namespace airfreight::azure {
namespace {

// A signature that is older or younger than this is refused
// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key#specifying-the-date-header).
constexpr int64_t kMaxSkewSeconds = int64_t{15} * 60;

constexpr std::string_view kRole =
    "assign it the role Storage Blob Data Contributor on the container, or give the SAS the "
    "permissions rcwdl";

// Codes that say more than their status
// (learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes and
// …/blob-service-error-codes).
constexpr auto kKnownCodes = std::to_array<KnownCode>({
    {"ServerBusy", ErrorCode::kThrottled, true, ""},
    {"TooManyRequests", ErrorCode::kThrottled, true, ""},
    {"OperationTimedOut", ErrorCode::kUnavailable, true, ""},
    {"InternalError", ErrorCode::kUnavailable, true, ""},
    {"AccountBeingCreated", ErrorCode::kUnavailable, true, ""},
    // The bytes were damaged on their way.
    {"Crc64Mismatch", ErrorCode::kUnavailable, true, ""},
    {"Md5Mismatch", ErrorCode::kUnavailable, true, ""},

    {"BlobAlreadyExists", ErrorCode::kConditionFailed, false, ""},
    {"ConditionNotMet", ErrorCode::kConditionFailed, false, ""},
    {"TargetConditionNotMet", ErrorCode::kConditionFailed, false, ""},
    // The blocks are not there (any more): another write of the same name has been committed, and
    // takes all blocks that wait there with it, or a week has passed.
    {"InvalidBlockList", ErrorCode::kNotFound, false, ""},
    {"BlobNotFound", ErrorCode::kNotFound, false, ""},
    {"ResourceNotFound", ErrorCode::kNotFound, false, ""},

    {"RequestBodyTooLarge", ErrorCode::kTooLarge, false, ""},
    {"BlockCountExceedsLimit", ErrorCode::kTooLarge, false, ""},
    {"InvalidBlobOrBlock", ErrorCode::kInvalid, false,
     "another program has begun an upload of this very blob and not ended it; what it left goes "
     "within a week, or when the blob is written in one piece"},
    {"InvalidBlobType", ErrorCode::kInvalid, false,
     "an append or page blob of another program lies there"},
    {"LeaseIdMissing", ErrorCode::kInvalid, false, "another program holds a lease on it"},
    {"SnapshotsPresent", ErrorCode::kInvalid, false,
     "someone has made snapshots of the blob; it goes when they are gone"},
    {"BlobArchived", ErrorCode::kDenied, false, "the blob lies in the archive tier; rehydrate it"},
    {"BlobBeingRehydrated", ErrorCode::kDenied, false,
     "the blob is on its way out of the archive tier"},
    {"BlobImmutableDueToPolicy", ErrorCode::kDenied, false,
     "the container's immutability policy keeps it; use a container without one"},
    {"BlobImmutableDueToLegalHold", ErrorCode::kDenied, false,
     "a legal hold on the container keeps it; use a container without one"},
    {"ContainerDisabled", ErrorCode::kDenied, false,
     "the account's administrator has disabled the container"},
    {"UnauthorizedBlobOverwrite", ErrorCode::kDenied, false,
     "the SAS may create blobs but not write over one: it lacks the permission w"},

    {"AuthenticationFailed", ErrorCode::kDenied, false,
     "the key, SAS or token does not belong to this account, is cut off or has expired, or this "
     "machine's clock is more than 15 minutes off"},
    {"InvalidAuthenticationInfo", ErrorCode::kDenied, false,
     "the token is not right, or has expired"},
    {"NoAuthenticationInformation", ErrorCode::kDenied, false, ""},
    {"AuthorizationFailure", ErrorCode::kDenied, false,
     "the account's firewall does not let this machine in, or the SAS lacks a permission"},
    {"AuthorizationPermissionMismatch", ErrorCode::kDenied, false, kRole},
    {"InsufficientAccountPermissions", ErrorCode::kDenied, false, kRole},
    {"AuthorizationProtocolMismatch", ErrorCode::kDenied, false,
     "the SAS is for https only; so must be the endpoint"},
    {"AuthorizationSourceIPMismatch", ErrorCode::kDenied, false,
     "the SAS is for other addresses than this machine's"},
    {"AuthorizationServiceMismatch", ErrorCode::kDenied, false,
     "the SAS is not for the blob service (ss=b)"},
    {"AuthorizationResourceTypeMismatch", ErrorCode::kDenied, false,
     "the SAS needs the resource types container and object (srt=co)"},
    {"KeyBasedAuthenticationNotPermitted", ErrorCode::kDenied, false,
     "the account allows no keys: use a managed identity, workload identity or an application"},
    {"PublicAccessNotPermitted", ErrorCode::kDenied, false, ""},
    {"AccountIsDisabled", ErrorCode::kDenied, false, ""},
});

bool IsRead(Operation operation) {
  return operation == Operation::kGet || operation == Operation::kHead;
}

// By the status alone.
Meaning MeaningOf(int status, bool has_code) {
  // What a 412 of another name is about (leases, sequence numbers) is no condition of ours. What is
  // known of 409 to pass is in the list above; what the service has of its own may last.
  if (has_code && (status == 412 || status == 409)) return {ErrorCode::kInvalid};
  return MeaningOfStatus(
      status, "the store sends elsewhere: correct [airfreight] az_account or az_endpoint_url");
}

struct ErrorDocument {
  std::string code;
  std::string message;
};

ErrorDocument ParseErrorDocument(std::string_view text) {
  pugi::xml_document document;
  if (text.empty() || !ParseXml(text, document)) return {};
  // What else it has (AuthenticationErrorDetail with the string to sign, the value of a parameter)
  // may hold a part of a signature.
  const pugi::xml_node error = document.child("Error");
  return {ChildText(error, "Code"), ChildText(error, "Message")};
}

std::string CodeOf(const HttpResponse& response, const ErrorDocument& document) {
  const std::string_view header = response.headers.Get("x-ms-error-code");
  return header.empty() ? document.code : std::string(header);
}

// The sentence, without the request's id and time, which the service puts on lines behind it.
std::string SentenceOf(std::string_view message) {
  std::string said = ServersWords(message.substr(0, message.find_first_of("\r\n")));
  while (said.ends_with('.') || said.ends_with(' ')) said.pop_back();
  return said;
}

}  // namespace

Error DecodeError(const FailedAnswer& answer, int64_t now) {
  const HttpResponse& response = *answer.response;
  const ErrorDocument document = ParseErrorDocument(response.error_document);
  const std::string code = CodeOf(response, document);
  const Meaning meaning =
      FindMeaning(kKnownCodes, code).value_or(MeaningOf(response.status, !code.empty()));

  Error error = ErrorOf(
      meaning, {response.status, &response.headers, code, response.headers.Get("x-ms-request-id")},
      now);
  if (code == "ContainerNotFound" || code == "ContainerBeingDeleted") {
    return NoSuchPlace(std::move(error),
                       fmt::format("the container '{}' {}", answer.container,
                                   code == "ContainerNotFound" ? "does not exist in this account"
                                                               : "is being deleted"));
  }
  // If-Match on what is not there. A list of blocks that are gone says nothing of a condition, nor
  // does a bare 404 to it.
  const bool of_blob = code == "BlobNotFound" || code == "ResourceNotFound" ||
                       (code.empty() && answer.operation != Operation::kPutBlockList);
  if (error.code == ErrorCode::kNotFound && answer.if_match && !IsRead(answer.operation) &&
      of_blob) {
    error.code = ErrorCode::kConditionFailed;
  }

  error.message = MessageOf(error.code, SentenceOf(document.message), meaning.advice);
  return error;
}

Correction DecodeCorrection(const FailedAnswer& answer, Credential::Kind credential, int64_t now) {
  const HttpResponse& response = *answer.response;
  const std::string code = CodeOf(response, ParseErrorDocument(response.error_document));
  if (credential == Credential::Kind::kToken) {
    // A token that has ended, or whose keys the service knows no more.
    return {response.status == 401 || code == "AuthenticationFailed" ? Correction::Kind::kCredential
                                                                     : Correction::Kind::kNone,
            0};
  }
  if (credential == Credential::Kind::kSharedKey && response.status == 403 &&
      (code == "AuthenticationFailed" || code.empty())) {
    const auto server_time = ParseHttpDate(response.headers.Get("date"));
    if (server_time && std::abs(*server_time - now) >= kMaxSkewSeconds) {
      return {Correction::Kind::kClock, *server_time};
    }
  }
  return {};
}

Result<ObjectInfo> DecodeInfo(std::string_view key, const HttpResponse& response) {
  AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info,
                              DecodeObjectHead(key, response, {"Azure", "ETag", "x-ms-meta-"}));
  Metadata decoded;
  for (const auto& [name, value] : info.metadata) {
    decoded[DecodeMetadataName(name)] = DecodeMetadataValue(value);
  }
  info.metadata = std::move(decoded);
  return info;
}

Result<ListPage> DecodeList(std::string_view text, std::string_view root) {
  ListPage page;
  const TakeBlob take = [&](std::string key, const pugi::xml_node& /*entry*/,
                            const pugi::xml_node& properties) -> Status {
    AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info, BlobInfo(std::move(key), properties));
    page.objects.push_back(std::move(info));
    return {};
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token, EachBlob(text, root, take));
  return page;
}

}  // namespace airfreight::azure
