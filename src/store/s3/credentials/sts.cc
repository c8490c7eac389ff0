#include "store/s3/credentials/sts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/digest.h"
#include "base/hex.h"
#include "base/percent.h"
#include "base/time.h"
#include "store/checks.h"
#include "store/s3/credentials/documents.h"
#include "store/s3/decoder.h"

namespace airfreight::s3 {
namespace {

constexpr std::string_view kApiVersion = "2011-06-15";
constexpr std::string_view kFormType = "application/x-www-form-urlencoded; charset=utf-8";
// The region that the global endpoint signs for (same page as ResolveSts).
constexpr char kGlobalRegion[] = "us-east-1";
// docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
constexpr size_t kMinRoleArn = 20;
constexpr size_t kMaxRoleArn = 2048;
constexpr size_t kMaxToken = 20'000;
constexpr size_t kMaxSessionName = 64;
constexpr ByteSet kSessionName = ByteSet::AlphanumericAnd("_+=,.@-");
// A part of a secret that a message must not hold. Shorter ones are in any text.
constexpr size_t kTellingPart = 12;

struct Meaning {
  std::string_view service_code;
  ErrorCode code;
  bool retryable;
  bool repeat;  // Whether the service's words are worth repeating, and hold nothing of the request.
  std::string_view advice;
};

// docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html#API_AssumeRoleWithWebIdentity_Errors
// docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
constexpr auto kMeanings = std::to_array<Meaning>({
    {"AccessDenied", ErrorCode::kDenied, false, true,
     "its trust policy must name who asks, and for web identity the service account"},
    {"AccessDeniedException", ErrorCode::kDenied, false, true, ""},
    {"ExpiredTokenException", ErrorCode::kDenied, false, true, "it has expired: who renews it?"},
    {"ExpiredToken", ErrorCode::kDenied, false, true, "it has expired: who renews it?"},
    {"InvalidIdentityToken", ErrorCode::kDenied, false, true,
     "the account must have the cluster's identity provider"},
    {"IDPRejectedClaim", ErrorCode::kDenied, false, true, ""},
    {"IDPCommunicationError", ErrorCode::kUnavailable, true, true, ""},
    {"RegionDisabledException", ErrorCode::kDenied, false, true,
     "set AWS_REGION to a region that the account has"},
    {"InvalidClientTokenId", ErrorCode::kDenied, false, false, "STS does not know the keys"},
    // Their texts hold the whole request.
    {"SignatureDoesNotMatch", ErrorCode::kDenied, false, false,
     "the secret access key is not the access key id's, or this machine's clock is off"},
    {"ValidationError", ErrorCode::kInvalid, false, false,
     "a role's name is e.g. 'arn:aws:iam::123456789012:role/airflow'"},
    {"Throttling", ErrorCode::kThrottled, true, false, ""},
    {"ThrottlingException", ErrorCode::kThrottled, true, false, ""},
    {"RequestLimitExceeded", ErrorCode::kThrottled, true, false, ""},
});

Meaning MeaningOf(int status, std::string_view service_code) {
  for (const Meaning& known : kMeanings) {
    if (known.service_code == service_code) return known;
  }
  if (status == 429) return {"", ErrorCode::kThrottled, true, false, ""};
  if (status >= 500) return {"", ErrorCode::kUnavailable, true, false, ""};
  if (status == 401 || status == 403) return {"", ErrorCode::kDenied, false, false, ""};
  return {"", ErrorCode::kInvalid, false, false,
          "is it STS that answers there? See AWS_ENDPOINT_URL_STS and AWS_ENDPOINT_URL"};
}

bool Holds(std::string_view text, const Secret& secret) {
  const std::string_view whole = secret.Reveal();
  for (size_t at = 0; at + kTellingPart <= whole.size(); at += kTellingPart) {
    if (text.find(whole.substr(at, kTellingPart)) != std::string_view::npos) return true;
  }
  return false;
}

std::string OneLine(std::string_view text) {
  const std::string quoted = Quoted(text);
  return quoted.substr(1, quoted.size() - 2);
}

Result<LoadedCredentials> Ask(const HttpRequest& request, const RoleRequest& role,
                              std::string_view proof, const Secret& secret,
                              const CredentialsTools& tools, const Context& context) {
  BufferSink answer(kMaxCredentialsDocument);
  const auto response = tools.network.Perform(request, context, &answer);
  const std::string asking = fmt::format("STS, asked for the role of {}", role.place);
  if (!response) {
    Error error = response.error();
    error.message = fmt::format("{}: {}", asking, error.message);
    return Fail(std::move(error));
  }
  if (response->status < 200 || response->status >= 300) {
    return Fail(DecodeStsError(*response, role, proof, secret));
  }
  return ParseStsCredentials(AsText(answer.view()), asking);
}

HttpRequest MakeRequest(const StsTarget& target, const Secret& form) {
  HttpRequest request;
  request.method = "POST";
  request.url = fmt::format("{}://{}{}/", target.endpoint.tls ? "https" : "http",
                            target.endpoint.host, target.endpoint.path);
  request.headers.Set("Content-Type", kFormType);
  request.headers.Set("Accept", "text/xml");
  request.body = Body(form.Reveal());
  return request;
}

}  // namespace

Result<StsTarget> ResolveSts(const Profile& profile, const std::string& region_setting,
                             const Environment& environment) {
  StsTarget target;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (target.region.empty()) target.region = environment.variable(name).value_or("");
  }
  if (target.region.empty()) target.region = profile.Find("region").value_or(region_setting);
  const bool regional = !target.region.empty();
  if (!regional) target.region = kGlobalRegion;

  if (environment.variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").value_or("") != "true") {
    for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
      if (const auto url = environment.variable(name)) {
        AIRFREIGHT_ASSIGN_OR_RETURN(target.endpoint, ParseEndpoint(*url, name));
        return target;
      }
    }
    if (profile.sts_endpoint_url) {
      AIRFREIGHT_ASSIGN_OR_RETURN(
          target.endpoint,
          ParseEndpoint(*profile.sts_endpoint_url,
                        fmt::format("endpoint_url of profile {}", Quoted(profile.name))));
      return target;
    }
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(target.endpoint, AwsEndpoint(target.region, "sts"));
  if (!regional) target.endpoint.host = "sts.amazonaws.com";
  return target;
}

Result<Secret> BuildStsForm(const RoleRequest& role, const Secret& web_identity_token,
                            int64_t unix_seconds) {
  const auto refuse = [&](std::string_view what) {
    return Fail(ErrorCode::kInvalid, fmt::format("{}: {}", role.place, what));
  };
  if (role.role_arn.size() < kMinRoleArn || role.role_arn.size() > kMaxRoleArn) {
    return refuse(fmt::format("{} is no role; right is e.g. 'arn:aws:iam::123456789012:role/x'",
                              Quoted(role.role_arn)));
  }
  const std::string session =
      role.session_name.empty() ? fmt::format("airfreight-{}", unix_seconds) : role.session_name;
  if (session.size() < 2 || session.size() > kMaxSessionName ||
      !std::all_of(session.begin(), session.end(),
                   [](char c) { return kSessionName.Contains(c); })) {
    return refuse(fmt::format("{} is no session name: 2 to {} letters, digits and _+=,.@-",
                              Quoted(session), kMaxSessionName));
  }
  if (!role.duration_seconds.empty() && !ParseDecimal(role.duration_seconds)) {
    return refuse(
        fmt::format("duration_seconds is {}; right is e.g. '3600'", Quoted(role.duration_seconds)));
  }
  if (web_identity_token.Reveal().size() > kMaxToken) {
    return refuse(fmt::format("the web identity token is longer than {} characters", kMaxToken));
  }
  const auto encoded = [](std::string_view text) { return PercentEncode(text, kUriUnreserved); };
  const bool by_token = !web_identity_token.empty();
  std::string form = fmt::format("Action={}&Version={}&RoleArn={}&RoleSessionName={}",
                                 by_token ? "AssumeRoleWithWebIdentity" : "AssumeRole", kApiVersion,
                                 encoded(role.role_arn), encoded(session));
  if (!role.external_id.empty() && !by_token) {
    form += fmt::format("&ExternalId={}", encoded(role.external_id));
  }
  if (!role.duration_seconds.empty()) {
    form += fmt::format("&DurationSeconds={}", role.duration_seconds);
  }
  if (by_token) {
    form += fmt::format("&WebIdentityToken={}", encoded(web_identity_token.Reveal()));
  }
  return Secret(std::move(form));
}

Error DecodeStsError(const HttpResponse& response, const RoleRequest& role, std::string_view proof,
                     const Secret& secret) {
  const auto document = ParseErrorDocument(response.error_document);
  const std::string code = document ? document->code : std::string();
  const Meaning meaning = MeaningOf(response.status, code);
  Error error;
  error.code = meaning.code;
  error.retryable = meaning.retryable;
  error.http_status = response.status;
  error.service_code = OneLine(code).substr(0, 64);
  error.request_id = OneLine(response.headers.Get("x-amzn-requestid")).substr(0, 128);
  if (Holds(error.service_code, secret)) error.service_code.clear();
  if (Holds(error.request_id, secret)) error.request_id.clear();

  error.message = fmt::format("STS does not give the role {} of {} for {}", Quoted(role.role_arn),
                              role.place, proof);
  if (!meaning.advice.empty()) error.message += fmt::format(": {}", meaning.advice);
  if (document && meaning.repeat && !Holds(document->message, secret)) {
    error.message += fmt::format(" (STS: {})", OneLine(document->message));
  }
  return error;
}

Result<LoadedCredentials> AssumeRoleWithWebIdentity(const RoleRequest& role, const Secret& token,
                                                    std::string_view token_place,
                                                    const StsTarget& target,
                                                    const CredentialsTools& tools,
                                                    const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Secret form, BuildStsForm(role, token, tools.now()));
  return Ask(MakeRequest(target, form), role, token_place, token, tools, context);
}

Result<LoadedCredentials> AssumeRole(const RoleRequest& role, const Credentials& keys,
                                     std::string_view keys_place, const StsTarget& target,
                                     const CredentialsTools& tools, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Secret form, BuildStsForm(role, Secret(), tools.now()));
  HttpRequest request = MakeRequest(target, form);
  const SigningScope scope{tools.now(), target.region, "sts"};
  request.headers.Set("x-amz-date", FormatBasicIso8601(scope.unix_seconds));
  if (!keys.session_token.empty()) {
    request.headers.Set("x-amz-security-token", keys.session_token.Reveal());
  }
  SignedParts parts;
  parts.method = request.method;
  parts.canonical_uri = target.endpoint.path + "/";
  parts.payload_hash = HexEncode(Sha256(AsBytes(form.Reveal())));
  parts.headers.Set("host", target.endpoint.host);
  for (const auto& [name, value] : request.headers) {
    if (!EqualsIgnoreCase(name, "Accept")) parts.headers.Set(name, value);
  }
  SigningKeys signing_keys;
  request.headers.Set("Authorization", Authorization(parts, keys, scope, signing_keys));
  return Ask(request, role, keys_place, keys.session_token, tools, context);
}

}  // namespace airfreight::s3
