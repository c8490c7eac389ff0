#include "airfreight/result.h"

#include <fmt/format.h>

namespace airfreight {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kNotFoundOrDenied:
      return "NotFoundOrDenied";
    case ErrorCode::kCorrupt:
      return "Corrupt";
    case ErrorCode::kReplaced:
      return "Replaced";
    case ErrorCode::kExpired:
      return "Expired";
    case ErrorCode::kSuperseded:
      return "Superseded";
    case ErrorCode::kForged:
      return "Forged";
    case ErrorCode::kOutOfScope:
      return "OutOfScope";
    case ErrorCode::kNewerFormat:
      return "NewerFormat";
    case ErrorCode::kDenied:
      return "Denied";
    case ErrorCode::kThrottled:
      return "Throttled";
    case ErrorCode::kUnavailable:
      return "Unavailable";
    case ErrorCode::kTimeout:
      return "Timeout";
    case ErrorCode::kCancelled:
      return "Cancelled";
    case ErrorCode::kTooLarge:
      return "TooLarge";
    case ErrorCode::kConditionFailed:
      return "ConditionFailed";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kInvalid:
      return "Invalid";
    case ErrorCode::kInternal:
      return "Internal";
  }
  return "Internal";
}

std::string Error::ToString() const {
  std::string text = fmt::format("{}: {}", ErrorCodeName(code), message);
  if (!store.empty()) {
    text += key.empty() ? fmt::format(" [{}]", store) : fmt::format(" [{}/{}]", store, key);
  }
  if (http_status != 0) text += fmt::format(" (HTTP {}", http_status);
  if (http_status != 0 && !service_code.empty()) text += fmt::format(", {}", service_code);
  if (http_status != 0) text += ')';
  if (!request_id.empty()) text += fmt::format(" request id {}", request_id);
  return text;
}

}  // namespace airfreight
