#include "store/s3/credentials/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "store/checks.h"
#include "store/s3/credentials/documents.h"

namespace airfreight::s3 {
namespace {

constexpr char kRelative[] = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
constexpr char kFull[] = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
constexpr char kToken[] = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
constexpr char kTokenFile[] = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

// The agent of ECS; a relative URI is its path.
constexpr std::string_view kEcsAgent = "http://169.254.170.2";
// The same, and EKS Pod Identity's over IPv4 and IPv6.
constexpr std::array<std::string_view, 4> kAgents = {"169.254.170.2", "169.254.170.23",
                                                     "[fd00:ec2::23]", "localhost"};

// 127.0.0.0/8 in its plain spelling, and ::1.
bool IsLoopback(std::string_view host) {
  if (host == "[::1]") return true;
  if (!host.starts_with("127.")) return false;
  int dots = 0;
  std::string_view rest = host;
  for (;;) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const auto number = ParseDecimal(rest.substr(0, dot));
    if (!number || *number > 255 || dot > 3) return false;
    if (dot == rest.size()) return dots == 3;
    ++dots;
    rest.remove_prefix(dot + 1);
  }
}

Result<Secret> AuthorizationToken(const Environment& environment) {
  Secret token;
  const char* variable = kToken;
  if (const auto file = environment.variable(kTokenFile)) {
    variable = kTokenFile;
    const auto content = environment.read_file(*file);
    if (!content) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("the authorization token's file {}, named by {}, is not there or "
                              "cannot be read by this process",
                              Quoted(*file), kTokenFile));
    }
    token = Secret(TrimBlanks(*content));
    if (token.empty()) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("the authorization token's file {}, named by {}, is empty",
                              Quoted(*file), kTokenFile));
    }
  } else {
    token = Secret(TrimBlanks(environment.variable(kToken).value_or("")));
  }
  const std::string_view text = token.Reveal();
  // "Basic abc" has a blank in it.
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; })) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("the token of {} holds what no header may", variable));
  }
  return token;
}

Error DecodeContainerError(const HttpResponse& response, std::string_view source) {
  Error error;
  error.http_status = response.status;
  error.code = response.status == 429   ? ErrorCode::kThrottled
               : response.status >= 500 ? ErrorCode::kUnavailable
                                        : ErrorCode::kDenied;
  error.retryable = error.code != ErrorCode::kDenied;
  // The document may repeat the token that was sent; its code is a word.
  const auto said = ParseMetadataCredentials(response.error_document, source);
  if (!said) error.service_code = said.error().service_code;
  error.message = fmt::format("{} answered with status {}{}", source, response.status,
                              error.code == ErrorCode::kDenied
                                  ? ": does the task or the service account have a role?"
                                  : "");
  return error;
}

}  // namespace

Status CheckContainerUrl(std::string_view url, std::string_view variable) {
  const auto refuse = [&](std::string_view why) -> Status {
    return Fail(ErrorCode::kInvalid, fmt::format("{} is {}: {}", variable, Quoted(url), why));
  };
  if (!std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7f; })) {
    return refuse("it holds what no URL may");
  }
  const bool tls = EqualsIgnoreCase(url.substr(0, 8), "https://");
  if (!tls && !EqualsIgnoreCase(url.substr(0, 7), "http://")) {
    return refuse("it does not begin with http:// or https://");
  }
  url.remove_prefix(tls ? 8 : 7);
  std::string_view host = url.substr(0, url.find_first_of("/?#\\"));
  if (host.find('@') != std::string_view::npos) {
    return Fail(ErrorCode::kInvalid, fmt::format("{} holds a user or a password", variable));
  }
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && !host.ends_with(']')) {
    const auto port = ParseDecimal(host.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return refuse("the port is no port");
    host = host.substr(0, colon);
  }
  if (host.empty()) return refuse("it names no host");
  if (tls || IsLoopback(host) || std::find(kAgents.begin(), kAgents.end(), host) != kAgents.end()) {
    return {};
  }
  return refuse(
      fmt::format("over http:// only this machine (127.0.0.1, [::1], localhost) and the agents at "
                  "169.254.170.2, 169.254.170.23 and [fd00:ec2::23] are asked for credentials"));
}

Result<std::optional<LoadedCredentials>> ContainerSource::Load(const CredentialsTools& tools,
                                                               const Context& context) {
  HttpRequest request;
  std::string_view variable = kFull;
  if (const auto relative = tools.environment.variable(kRelative)) {
    variable = kRelative;
    if (!relative->starts_with('/')) {
      return Fail(ErrorCode::kInvalid, fmt::format("{} is {}; right is a path such as '/v2/role'",
                                                   kRelative, Quoted(*relative)));
    }
    request.url = fmt::format("{}{}", kEcsAgent, *relative);
  } else if (const auto full = tools.environment.variable(kFull)) {
    request.url = *full;
  } else {
    return std::nullopt;
  }
  AIRFREIGHT_RETURN_IF_ERROR(CheckContainerUrl(request.url, variable));
  request.headers.Set("Accept", "application/json");
  AIRFREIGHT_ASSIGN_OR_RETURN(const Secret token, AuthorizationToken(tools.environment));
  if (!token.empty()) request.headers.Set("Authorization", token.Reveal());

  const std::string source = fmt::format("the credentials endpoint of {}", variable);
  BufferSink answer(kMaxCredentialsDocument);
  const auto response = tools.local.Perform(request, context, &answer);
  if (!response) {
    Error error = response.error();
    error.message = fmt::format("{} does not answer: {}", source, error.message);
    return Fail(std::move(error));
  }
  if (response->status != 200) return Fail(DecodeContainerError(*response, source));
  return ParseMetadataCredentials(AsText(answer.view()), source);
}

std::string ContainerSource::Description() const {
  return "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI";
}

}  // namespace airfreight::s3
