#include "store/s3/credentials/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <utility>

#include "base/percent.h"
#include "base/time.h"
#include "http/headers.h"
#include "store/checks.h"
#include "store/cloud/xml.h"

namespace airfreight::s3 {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxRoleName = 64;
constexpr ByteSet kRoleName = ByteSet::AlphanumericAnd("_+=,.@-");
// A date and a time of day without a zone: 2026-01-01T00:00:00.
constexpr size_t kDateAndTime = 19;
constexpr int64_t kMinute = 60;
// Codes and words of a service that are worth repeating have fewer.
constexpr size_t kMaxWord = 64;

tl::unexpected<Error> Malformed(ErrorCode code, std::string_view source, std::string_view what) {
  Error error;
  error.code = code;
  error.message = fmt::format("{} answered with something else than credentials: {}", source, what);
  return Fail(std::move(error));
}

// Text at `name`, in any letter case as Go's and Java's readers have it; "" when there is none or
// it is no text.
std::string Text(const Json& object, std::string_view name) {
  for (const auto& [key, value] : object.items()) {
    if (EqualsIgnoreCase(key, name) && value.is_string()) return value.get<std::string>();
  }
  return {};
}

// `text` where it is a word; nothing where it may be anything, which is not repeated.
std::string Word(std::string_view text) {
  constexpr ByteSet kWord = ByteSet::AlphanumericAnd("._-");
  const bool word =
      !text.empty() && text.size() <= kMaxWord &&
      std::all_of(text.begin(), text.end(), [&](char c) { return kWord.Contains(c); });
  return word ? std::string(text) : std::string();
}

Result<LoadedCredentials> Make(ErrorCode malformed, std::string_view source,
                               const std::string& access_key_id, const std::string& secret,
                               const std::string& token, const std::string& expiration) {
  if (TrimBlanks(access_key_id).empty()) return Malformed(malformed, source, "no AccessKeyId");
  if (TrimBlanks(secret).empty()) return Malformed(malformed, source, "no SecretAccessKey");
  AIRFREIGHT_ASSIGN_OR_RETURN(auto keys, MakeCredentials(access_key_id, secret, token, source));
  LoadedCredentials loaded{*std::move(keys), std::nullopt};
  if (!expiration.empty()) {
    loaded.expires_unix = ParseExpiration(expiration);
    if (!loaded.expires_unix) return Malformed(malformed, source, "an Expiration that is no time");
  }
  return loaded;
}

Result<Json> ParseObject(ErrorCode malformed, std::string_view text, std::string_view source) {
  if (text.size() > kMaxCredentialsDocument) {
    return Malformed(malformed, source, fmt::format("more than {} bytes", kMaxCredentialsDocument));
  }
  Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Malformed(malformed, source, "no JSON object");
  return object;
}

}  // namespace

std::optional<int64_t> ParseExpiration(std::string_view text) {
  if (text.size() <= kDateAndTime) return std::nullopt;
  size_t zone = kDateAndTime;
  if (text[zone] == '.') {
    zone = std::min(text.find_first_not_of("0123456789", zone + 1), text.size());
  }
  std::string_view offset = text.substr(zone);
  const auto utc = ParseIso8601(fmt::format("{}Z", text.substr(0, kDateAndTime)));
  if (!utc || (text[kDateAndTime] == '.' && zone == kDateAndTime + 1)) return std::nullopt;
  if (offset == "Z" || offset == "z") return utc;
  // ±hh:mm, and ±hhmm as ISO's basic form has it.
  if (offset.size() < 5 || (offset.front() != '+' && offset.front() != '-')) return std::nullopt;
  const bool ahead = offset.front() == '+';
  const auto hours = ParseDecimal(offset.substr(1, 2));
  offset.remove_prefix(offset[3] == ':' ? 4 : 3);
  const auto minutes = ParseDecimal(offset);
  if (!hours || !minutes || offset.size() != 2 || *hours > 23 || *minutes > 59) {
    return std::nullopt;
  }
  const auto seconds = static_cast<int64_t>(*hours * 60 + *minutes) * kMinute;
  return ahead ? *utc - seconds : *utc + seconds;
}

Result<LoadedCredentials> ParseStsCredentials(std::string_view xml, std::string_view source) {
  constexpr ErrorCode kMalformed = ErrorCode::kInternal;
  if (xml.size() > kMaxCredentialsDocument) {
    return Malformed(kMalformed, source, fmt::format("more than {} bytes", xml.size()));
  }
  pugi::xml_document document;
  if (!ParseXml(xml, document)) return Malformed(kMalformed, source, "no XML");
  for (const char* action : {"AssumeRoleWithWebIdentity", "AssumeRole"}) {
    const pugi::xml_node credentials = document.child(fmt::format("{}Response", action).c_str())
                                           .child(fmt::format("{}Result", action).c_str())
                                           .child("Credentials");
    if (!credentials) continue;
    const auto child = [&](const char* name) { return ChildText(credentials, name); };
    // The keys of a role are nothing without their token, and end.
    if (child("SessionToken").empty()) return Malformed(kMalformed, source, "no SessionToken");
    if (child("Expiration").empty()) return Malformed(kMalformed, source, "no Expiration");
    return Make(kMalformed, source, child("AccessKeyId"), child("SecretAccessKey"),
                child("SessionToken"), child("Expiration"));
  }
  return Malformed(kMalformed, source, "no Credentials");
}

Result<LoadedCredentials> ParseMetadataCredentials(std::string_view json, std::string_view source) {
  const auto parse = [&]() -> Result<LoadedCredentials> {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Json object, ParseObject(ErrorCode::kInternal, json, source));
    const std::string code = Text(object, "Code");
    if (!code.empty() && !EqualsIgnoreCase(code, "Success")) {
      Error error;
      error.code = ErrorCode::kDenied;
      error.service_code = Word(code);
      error.message = fmt::format("{} has no credentials to give{}{}", source,
                                  error.service_code.empty() ? "" : ": ", error.service_code);
      return Fail(std::move(error));
    }
    return Make(ErrorCode::kInternal, source, Text(object, "AccessKeyId"),
                Text(object, "SecretAccessKey"), Text(object, "Token"), Text(object, "Expiration"));
  };
  return parse().map_error([](Error error) {
    error.retryable = error.code == ErrorCode::kInternal;
    return error;
  });
}

Result<LoadedCredentials> ParseProcessCredentials(std::string_view json, std::string_view source) {
  constexpr ErrorCode kMalformed = ErrorCode::kInvalid;
  AIRFREIGHT_ASSIGN_OR_RETURN(const Json object, ParseObject(kMalformed, json, source));
  const auto version = object.find("Version");
  if (version == object.end() || !version->is_number_integer() || version->get<int64_t>() != 1) {
    return Malformed(kMalformed, source, "its Version is not 1");
  }
  return Make(kMalformed, source, Text(object, "AccessKeyId"), Text(object, "SecretAccessKey"),
              Text(object, "SessionToken"), Text(object, "Expiration"));
}

Result<std::optional<std::string>> ParseRoleList(std::string_view text) {
  const std::string list = TrimBlanks(text);
  if (list.empty()) return std::nullopt;
  std::string name = TrimBlanks(list.substr(0, list.find('\n')));
  if (name.size() > kMaxRoleName || name == "." || name == ".." ||
      !std::all_of(name.begin(), name.end(), [](char c) { return kRoleName.Contains(c); })) {
    Error error;
    error.code = ErrorCode::kInternal;
    error.message = "the instance metadata service names a role that no role's name could be";
    error.retryable = true;
    return Fail(std::move(error));
  }
  return name;
}

}  // namespace airfreight::s3
