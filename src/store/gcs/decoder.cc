#include "store/gcs/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <utility>

#include "base/base64.h"
#include "base/time.h"
#include "store/cloud/answers.h"
#include "store/cloud/meaning.h"
#include "store/cloud/object_head.h"
#include "store/cloud/xml.h"
#include "store/gcs/resource.h"

namespace airfreight::gcs {
namespace {

constexpr std::string_view kService = "Google Cloud Storage";

using nlohmann::json;

// As often as one object may change (cloud.google.com/storage/quotas#objects).
constexpr double kObjectChangeSeconds = 1;

tl::unexpected<Error> Malformed(std::string_view what) { return NotOfService(kService, what); }

bool IsRead(Operation operation) {
  return operation == Operation::kGet || operation == Operation::kHead;
}

bool IsUpload(Operation operation) {
  return operation == Operation::kPut || operation == Operation::kPutPart;
}

// Of the account that pays, and not of the object.
bool IsOfAccount(std::string_view reason) {
  return reason == "accountDisabled" || reason == "billingDisabled" || reason == "AccountProblem" ||
         reason == "UserProjectAccountProblem" || reason == "UserProjectAccessDenied";
}

// 412 is what an organization's policy answers too, as it wants keys of the customer's for all that
// is written, say: nothing that another look at the object would change. Older answers of the kind
// give the reason of a condition (googleapis/java-storage#1240).
bool IsOfPolicy(std::string_view reason, std::string_view message) {
  return reason == "orgPolicyConstraintFailed" || reason == "OrgPolicyConstraintFailed" ||
         message.find("constraints/") != std::string_view::npos;
}

// cloud.google.com/storage/docs/retry-strategy#retryable names 408, 429 and 5xx.
Meaning MeaningOf(const FailedAnswer& answer, std::string_view reason, std::string_view message) {
  switch (answer.status) {
    case 412:
      if (IsOfPolicy(reason, message)) {
        return {ErrorCode::kDenied, false, "a policy of the organization forbids it"};
      }
      break;
    case 400:
      if (reason == "userProjectMissing" || reason == "UserProjectMissing" ||
          reason == "required") {
        return {ErrorCode::kInvalid, false,
                "in a bucket where the requester pays, set [airfreight] gs_user_project"};
      }
      break;
    case 401:
      return {ErrorCode::kDenied, false, "the token was refused"};
    case 403:
      // Quotas of a project come as 403 too.
      if (reason == "rateLimitExceeded" || reason == "userRateLimitExceeded") {
        return {ErrorCode::kThrottled, true};
      }
      if (IsRead(answer.operation) && !IsOfAccount(reason)) {
        return {ErrorCode::kNotFoundOrDenied, false,
                "the object is not there, or these credentials may not read it: without "
                "storage.objects.list the store does not say which"};
      }
      break;
    case 404:
      // No object that there was: it is what the request names that is not there.
      if (IsUpload(answer.operation)) return {ErrorCode::kInvalid};
      break;
    default:
      break;
  }
  return MeaningOfStatus(answer.status,
                         "the store sends elsewhere: set [airfreight] gs_endpoint_url");
}

// "The specified bucket does not exist." is all that tells it from an object's
// (cloud.google.com/storage/docs/json_api/v1/status-codes#404-not-found); the same document to the
// list of a bucket can be about nothing else.
bool IsOfBucket(const FailedAnswer& answer, const std::optional<ErrorDocument>& document) {
  if (answer.status != 404) return false;
  if (document && document->reason == "NoSuchBucket") return true;
  if (document && document->message.find("bucket does not exist") != std::string::npos) return true;
  if (answer.operation == Operation::kList || answer.operation == Operation::kListVersions) {
    return true;
  }
  // Other words to a write are about what it names: a key of Cloud KMS, say.
  return IsUpload(answer.operation) && (!document || document->message.empty() ||
                                        EqualsIgnoreCase(document->message, "Not Found"));
}

std::optional<uint32_t> ParseCrc32c(std::string_view text) {
  const auto bytes = Base64Decode(text);
  if (!bytes || bytes->size() != 4) return std::nullopt;
  uint32_t crc = 0;
  for (const char byte : *bytes) crc = crc << 8 | static_cast<unsigned char>(byte);
  return crc;
}

Metadata MetadataOf(const json& resource) {
  Metadata metadata;
  if (const auto found = resource.find("metadata"); found != resource.end() && found->is_object()) {
    for (const auto& [name, value] : found->items()) {
      if (value.is_string()) metadata[name] = value.get<std::string>();
    }
  }
  return metadata;
}

std::optional<ErrorDocument> ParseErrorXml(std::string_view text) {
  pugi::xml_document document;
  if (text.empty() || !ParseXml(text, document)) return std::nullopt;
  const pugi::xml_node error = document.child("Error");
  if (!error) return std::nullopt;
  ErrorDocument parsed{ChildText(error, "Code"), ChildText(error, "Message")};
  // "Access denied." is the same for all; who lacks which permission stands here.
  const std::string details = ChildText(error, "Details");
  if (parsed.reason == "AccessDenied" && !details.empty()) {
    parsed.message += fmt::format("{}{}", parsed.message.empty() ? "" : " ", details);
  }
  return parsed;
}

}  // namespace

std::optional<ErrorDocument> ParseErrorDocument(std::string_view text) {
  const json document = ParseJson(text);
  if (!document.is_object()) return ParseErrorXml(text);
  const auto error = document.find("error");
  if (error == document.end()) return std::nullopt;
  // Token services write {"error": "invalid_grant", "error_description": "…"}
  // (www.rfc-editor.org/rfc/rfc6749#section-5.2).
  if (error->is_string()) {
    return ErrorDocument{error->get<std::string>(), Text(document, "error_description")};
  }
  if (!error->is_object()) return std::nullopt;
  ErrorDocument parsed;
  parsed.message = Text(*error, "message");
  if (const auto errors = error->find("errors"); errors != error->end() && errors->is_array() &&
                                                 !errors->empty() && errors->front().is_object()) {
    parsed.reason = Text(errors->front(), "reason");
  }
  if (parsed.reason.empty()) parsed.reason = Text(*error, "status");
  return parsed;
}

Error DecodeError(const FailedAnswer& answer, int64_t now) {
  const std::optional<ErrorDocument> document = ParseErrorDocument(answer.text);
  const std::string reason = document ? document->reason : std::string();
  const Meaning meaning =
      MeaningOf(answer, reason, document ? std::string_view(document->message) : "");
  Error error = ErrorOf(
      meaning, {answer.status, answer.headers, reason, answer.headers->Get("x-guploader-uploadid")},
      now);
  // Immediate tries never get out of it: each counts (delta-io/delta-rs#2451).
  if (error.retryable && error.code == ErrorCode::kThrottled) {
    error.retry_after_seconds = std::max(error.retry_after_seconds, kObjectChangeSeconds);
  }
  if (IsOfBucket(answer, document)) {
    return NoSuchPlace(
        std::move(error),
        fmt::format("the bucket '{}' does not exist at this endpoint", answer.bucket));
  }
  if (error.code == ErrorCode::kNotFound && answer.conditional && !IsRead(answer.operation) &&
      answer.operation != Operation::kCompose) {
    error.code = ErrorCode::kConditionFailed;
  }
  std::string said = document ? ServersWords(document->message) : std::string();
  // A word of text, as emulators have it; no page of a proxy.
  if (!document && answer.text.size() <= 200 && answer.text.find('<') == std::string_view::npos) {
    said = ServersWords(answer.text);
  }
  while (said.ends_with('.') || said.ends_with(' ')) said.pop_back();
  error.message = MessageOf(error.code, std::move(said), meaning.advice);
  return error;
}

Result<ObjectResource> DecodeResource(std::string_view key, std::string_view text) {
  const json object = ParseJson(text);
  if (!object.is_object()) return Malformed("an object's description that is none");
  ObjectResource resource;
  AIRFREIGHT_ASSIGN_OR_RETURN(resource.info, InfoOf(object));
  resource.info.key = key;
  resource.info.metadata = MetadataOf(object);
  resource.crc32c = ParseCrc32c(Text(object, "crc32c"));
  return resource;
}

Result<ObjectInfo> DecodeInfo(std::string_view key, const HttpResponse& response) {
  AIRFREIGHT_ASSIGN_OR_RETURN(
      ObjectInfo info,
      DecodeObjectHead(key, response, {kService, "x-goog-generation", "x-goog-meta-"}));
  if (!ParseDecimal(info.version)) return Malformed("an object without its generation");
  return info;
}

std::optional<uint32_t> DecodeChecksum(const Headers& headers) {
  std::string_view rest = headers.Get("x-goog-hash");
  constexpr std::string_view kName = "crc32c=";
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    if (item.starts_with(kName)) return ParseCrc32c(item.substr(kName.size()));
  }
  return std::nullopt;
}

Result<ListPage> DecodeList(std::string_view text, std::string_view root) {
  ListPage page;
  const auto take = [&](const json& item) -> Status {
    AIRFREIGHT_ASSIGN_OR_RETURN(ObjectInfo info, InfoOf(item));
    if (!info.key.starts_with(root)) return Malformed("a list of other keys than were asked for");
    info.key.erase(0, root.size());
    if (!info.key.starts_with(kPartsFolder)) page.objects.push_back(std::move(info));
    return {};
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(page.next_token, EachItem(text, take));
  return page;
}

}  // namespace airfreight::gcs
