#include "store/s3/credentials/imds.h"

#include <fmt/format.h>

#include <utility>

#include "store/checks.h"
#include "store/s3/credentials/documents.h"
#include "store/s3/endpoint.h"
#include "store/s3/profile.h"

namespace airfreight::s3 {
namespace {

// The service's addresses
// (docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html).
constexpr char kIpv4[] = "http://169.254.169.254";
constexpr char kIpv6[] = "http://[fd00:ec2::254]";
constexpr std::string_view kTokenPath = "/latest/api/token";
constexpr std::string_view kRolePath = "/latest/meta-data/iam/security-credentials/";
// Six hours, the longest that the service gives: as botocore asks. The token is used for two
// requests and forgotten.
constexpr std::string_view kTokenSeconds = "21600";
// A token is one header's value; the service's has 56 characters.
constexpr size_t kMaxToken = 4096;
// A service that is there answers within milliseconds; one lost packet is not to end a task. More
// tries would only keep those waiting who are not on EC2.
constexpr int kConnectAttempts = 2;

constexpr char kName[] = "the EC2 instance metadata service";

Error MakeError(ErrorCode code, std::string message, int status) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.http_status = status;
  error.retryable = code == ErrorCode::kUnavailable;
  return error;
}

// The service's base URL: the variable, the profile, the mode of either.
Result<std::string> BaseUrl(const Profile& profile, const Environment& environment) {
  constexpr char kEndpoint[] = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
  constexpr char kMode[] = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE";
  std::optional<std::string> url = environment.variable(kEndpoint);
  if (!url) url = profile.Find("ec2_metadata_service_endpoint");
  if (url) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(*url, kEndpoint));
    return fmt::format("{}://{}{}", endpoint.tls ? "https" : "http", endpoint.host, endpoint.path);
  }
  std::optional<std::string> mode = environment.variable(kMode);
  if (!mode) mode = profile.Find("ec2_metadata_service_endpoint_mode");
  if (!mode || EqualsIgnoreCase(*mode, "ipv4")) return kIpv4;
  if (EqualsIgnoreCase(*mode, "ipv6")) return kIpv6;
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} is {}; right is IPv4 or IPv6", kMode, Quoted(*mode)));
}

bool IsOwn(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kTimeout;
}

}  // namespace

Result<std::optional<LoadedCredentials>> InstanceSource::Absent(std::string_view why, Error error) {
  if (required_) {
    error.message = fmt::format("{}: {}", kName, why);
    return Fail(std::move(error));
  }
  description_ = fmt::format("{} ({})", kName, why);
  return std::nullopt;
}

Result<std::optional<LoadedCredentials>> InstanceSource::Load(const CredentialsTools& tools,
                                                              const Context& context) {
  const auto disabled = tools.environment.variable("AWS_EC2_METADATA_DISABLED");
  if (disabled && EqualsIgnoreCase(*disabled, "true")) {
    return Absent("switched off by AWS_EC2_METADATA_DISABLED",
                  MakeError(ErrorCode::kInvalid, "", 0));
  }
  const Profile profile = LoadProfile(profile_setting_, tools.environment).value_or(Profile{});
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string base, BaseUrl(profile, tools.environment));

  HttpRequest request;
  request.method = "PUT";
  request.url = fmt::format("{}{}", base, kTokenPath);
  request.headers.Set("x-aws-ec2-metadata-token-ttl-seconds", kTokenSeconds);
  BufferSink token_answer(kMaxToken);
  Result<HttpResponse> response = tools.local.Perform(request, context, &token_answer);
  for (int tried = 1; !response && tried < kConnectAttempts; ++tried) {
    if (IsOwn(response.error())) return Fail(response.error());
    token_answer = BufferSink(kMaxToken);
    response = tools.local.Perform(request, context, &token_answer);
  }
  if (!response) {
    if (IsOwn(response.error())) return Fail(response.error());
    return Absent(fmt::format("nothing answers at {}; in a container on EC2, let the instance's "
                              "HttpPutResponseHopLimit be 2",
                              base),
                  response.error());
  }
  if (response->status == 404 || response->status == 405) {
    return ForeignCredentials(fmt::format("the metadata service at {}", base),
                              "version 1 of its protocol");
  }
  if (response->status != 200) {
    // As an instance has it whose service is switched off, and a proxy that is in the way.
    return Absent(fmt::format("{} answers with status {}", base, response->status),
                  MakeError(response->status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kDenied,
                            "", response->status));
  }
  // From here on there is a service, and what is wrong with it is an error.
  const Secret token(TrimBlanks(AsText(token_answer.view())));
  if (token.empty() || !IsHeaderText(token.Reveal())) {
    Error error = MakeError(ErrorCode::kInternal, fmt::format("{} gives no token", kName), 200);
    error.retryable = true;
    return Fail(std::move(error));
  }
  const auto get = [&](const std::string& path) -> Result<std::string> {
    HttpRequest read;
    read.url = fmt::format("{}{}", base, path);
    read.headers.Set("x-aws-ec2-metadata-token", token.Reveal());
    BufferSink answer(kMaxCredentialsDocument);
    AIRFREIGHT_ASSIGN_OR_RETURN(const HttpResponse got,
                                tools.local.Perform(read, context, &answer));
    if (got.status == 200) return std::string(AsText(answer.view()));
    const ErrorCode code = got.status == 404                        ? ErrorCode::kNotFound
                           : got.status == 401 || got.status == 403 ? ErrorCode::kDenied
                                                                    : ErrorCode::kUnavailable;
    return Fail(
        MakeError(code, fmt::format("{} answers with status {}", kName, got.status), got.status));
  };

  constexpr std::string_view kNoRole = "no role is attached to the instance";
  auto list = get(std::string(kRolePath));
  if (!list) {
    if (list.error().code != ErrorCode::kNotFound) return Fail(list.error());
    return Absent(kNoRole, MakeError(ErrorCode::kDenied, "", list.error().http_status));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::optional<std::string> role, ParseRoleList(*list));
  if (!role) return Absent(kNoRole, MakeError(ErrorCode::kDenied, "", 200));
  auto document = get(fmt::format("{}{}", kRolePath, *role));
  if (!document) {
    Error error = document.error();
    // It has just named the role: that passes.
    if (error.code == ErrorCode::kNotFound) {
      error = MakeError(ErrorCode::kUnavailable, error.message, error.http_status);
    }
    return Fail(std::move(error));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(
      LoadedCredentials loaded,
      ParseMetadataCredentials(*document,
                               fmt::format("{}, asked for role {},", kName, Quoted(*role))));
  required_ = true;  // Whoever had keys from here is not to be told that there is nothing.
  return loaded;
}

}  // namespace airfreight::s3
