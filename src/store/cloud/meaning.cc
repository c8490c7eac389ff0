#include "store/cloud/meaning.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/cloud/answers.h"

namespace airfreight {

std::optional<Meaning> FindMeaning(std::span<const KnownCode> known,
                                   std::string_view service_code) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const KnownCode& one) {
    return one.service_code == service_code;
  });
  if (found == known.end()) return std::nullopt;
  return Meaning{found->code, found->retryable, found->advice};
}

Meaning MeaningOfStatus(int status, std::string_view elsewhere) {
  switch (status) {
    case 304:
    case 412:
      return {ErrorCode::kConditionFailed};
    case 401:
    case 403:
      return {ErrorCode::kDenied};
    case 404:
      return {ErrorCode::kNotFound};
    case 407:
      return {ErrorCode::kUnavailable, false, "the proxy wants credentials of its own"};
    case 408:
    case 409:  // Another change of the bucket or of the object is under way.
      return {ErrorCode::kUnavailable, true};
    case 413:
      return {ErrorCode::kTooLarge};
    case 429:
      return {ErrorCode::kThrottled, true};
    case 501:
      return {ErrorCode::kUnsupported};
    default:
      break;
  }
  if (status >= 500) return {ErrorCode::kUnavailable, true};
  if (status >= 400) return {ErrorCode::kInvalid};
  if (status >= 300) return {ErrorCode::kInvalid, false, elsewhere};
  return {ErrorCode::kInternal};
}

Error ErrorOf(const Meaning& meaning, const Refusal& refusal, int64_t now) {
  Error error;
  error.code = meaning.code;
  error.retryable = meaning.retryable;
  error.http_status = refusal.status;
  error.service_code = ServersWords(refusal.service_code).substr(0, 64);
  error.request_id = ServersWords(refusal.request_id).substr(0, 128);
  if (error.retryable) {
    error.retry_after_seconds = RetryAfterSeconds(refusal.headers->Get("retry-after"), now);
  }
  return error;
}

Error NoSuchPlace(Error error, std::string_view what) {
  error.code = ErrorCode::kInvalid;
  error.retryable = false;
  error.message = fmt::format("{}; create it, or correct the store's URI", what);
  return error;
}

std::string MessageOf(ErrorCode code, std::string said, std::string_view advice) {
  if (said.empty()) {
    switch (code) {
      case ErrorCode::kNotFound:
        said = "no such object";
        break;
      case ErrorCode::kConditionFailed:
        said = "the condition of the request does not hold";
        break;
      case ErrorCode::kNotFoundOrDenied:
        break;
      default:
        said = "the store answered without an explanation";
        break;
    }
  }
  if (!said.empty() && !advice.empty()) said += ": ";
  return said + std::string(advice);
}

}  // namespace airfreight
