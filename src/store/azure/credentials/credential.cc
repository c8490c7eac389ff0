#include "store/azure/credentials/credential.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "http/headers.h"
#include "store/cloud/answers.h"

namespace airfreight::azure {
namespace {

using Json = nlohmann::json;

// Longest token: servers take heads of some 16 KiB.
constexpr size_t kMaxToken = size_t{16} << 10;
// Enough for what Entra says before it lists ids and times.
constexpr size_t kMaxSaid = 300;

tl::unexpected<Error> Malformed(std::string_view source, std::string_view what) {
  Error error;
  error.code = ErrorCode::kInternal;
  error.message = fmt::format("{} answered with something else than a token: {}", source, what);
  // Such services answer with pages while they start.
  error.retryable = true;
  return Fail(std::move(error));
}

std::string Text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A number, also one that is written as text, as the metadata service does.
std::optional<int64_t> Number(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  std::optional<uint64_t> number;
  if (found->is_number_unsigned()) number = found->get<uint64_t>();
  if (found->is_string()) number = ParseDecimal(found->get<std::string>());
  if (!number || *number > static_cast<uint64_t>(INT64_MAX / 2)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

}  // namespace

Result<LoadedCredential> ParseToken(std::string_view json, std::string_view source, int64_t now) {
  if (json.size() > kMaxTokenDocument) return Malformed(source, "it is too long");
  const Json object = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Malformed(source, "no JSON object");
  std::string token = Text(object, "access_token");
  if (token.empty()) return Malformed(source, "no access_token");
  if (token.size() > kMaxToken || !IsHeaderText(token)) {
    return Malformed(source, "an access_token that no header may hold");
  }
  LoadedCredential loaded{{Credential::Kind::kToken, Secret(std::move(token))}, std::nullopt};
  // An hour or a day from now, or a moment; Entra tells the former, App Service the latter, a
  // machine both, of which the first may be of when the token was made and not of now.
  if (const auto seconds = Number(object, "expires_in")) loaded.expires_unix = now + *seconds;
  if (const auto moment = Number(object, "expires_on")) {
    loaded.expires_unix = std::min(loaded.expires_unix.value_or(INT64_MAX), *moment);
  }
  if (!loaded.expires_unix) return Malformed(source, "a token whose end is not told");
  return loaded;
}

Error DecodeTokenError(const HttpResponse& response, std::string_view source,
                       std::initializer_list<const Secret*> secrets, int64_t now,
                       bool metadata_service) {
  Error error;
  error.http_status = response.status;
  // A machine's service is away for a minute while it is updated: 404 and 410
  // (how-to-use-vm-token, "Retry guidance").
  const bool updated = metadata_service && (response.status == 404 || response.status == 410);
  error.retryable = updated || response.status == 429 || response.status >= 500;
  error.code = response.status == 429  ? ErrorCode::kThrottled
               : error.retryable       ? ErrorCode::kUnavailable
               : response.status < 400 ? ErrorCode::kInternal
                                       : ErrorCode::kDenied;
  if (error.retryable) {
    error.retry_after_seconds = RetryAfterSeconds(response.headers.Get("retry-after"), now);
  }
  const Json object = Json::parse(response.error_document, nullptr, /*allow_exceptions=*/false);
  std::string said;
  if (object.is_object()) {
    error.service_code = ServersWords(Text(object, "error")).substr(0, 64);
    said = Text(object, "error_description");
    // Behind the sentence stand ids and a time, for Microsoft's support.
    said = said.substr(0, said.find_first_of("\r\n"));
    said = said.substr(0, said.find(" Trace ID"));
  }
  for (const Secret* const secret : secrets) {
    if (!secret->empty() && said.find(secret->Reveal()) != std::string::npos) said.clear();
  }
  said = ServersWords(said.substr(0, kMaxSaid));
  error.message = fmt::format("{} gives no token{}{}", source, said.empty() ? "" : ": ", said);
  if (error.code == ErrorCode::kUnavailable && said.empty()) {
    error.message += fmt::format(" (it answers with status {})", response.status);
  }
  return error;
}

}  // namespace airfreight::azure
