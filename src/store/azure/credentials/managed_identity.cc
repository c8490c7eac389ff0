#include "store/azure/credentials/managed_identity.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/percent.h"
#include "store/checks.h"
#include "store/cloud/endpoint.h"

namespace airfreight::azure {
namespace {

constexpr std::string_view kMachine = "http://169.254.169.254";
constexpr EndpointWords kWords{"http://169.254.169.254", "an Airflow connection"};

// As with EC2's (store/s3/credentials/imds.cc): one lost packet is not to end a task.
constexpr int kAttempts = 2;

bool IsOwn(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kTimeout;
}

// This machine, its link, or a private network: App Service on Linux has its service at 172.16.x.x.
bool IsNear(const Endpoint& endpoint) {
  if (IsLoopback(endpoint)) return true;
  in_addr address = {};
  const std::string host = endpoint.host.substr(0, endpoint.host.rfind(':'));
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return false;
  const uint32_t bits = ntohl(address.s_addr);
  // www.rfc-editor.org/rfc/rfc3927#section-2.1, www.rfc-editor.org/rfc/rfc1918#section-3.
  return bits >> 16 == 0xa9fe || bits >> 24 == 10 || bits >> 20 == 0xac1 || bits >> 16 == 0xc0a8;
}

std::string Parameters(std::string_view version, std::string_view identity) {
  std::string text =
      fmt::format("api-version={}&resource={}", version, PercentEncode(kResource, kUriUnreserved));
  if (!identity.empty()) {
    text += fmt::format("&client_id={}", PercentEncode(identity, kUriUnreserved));
  }
  return text;
}

std::string Named(std::string_view service, std::string_view identity) {
  return identity.empty() ? fmt::format("{}, asked for its own identity,", service)
                          : fmt::format("{}, asked for identity {},", service, Quoted(identity));
}

tl::unexpected<Error> Foreign(std::string_view kind) {
  return Fail(ErrorCode::kUnsupported,
              fmt::format("the managed identity of {} is not supported; use an application's "
                          "secret (AZURE_CLIENT_SECRET), workload identity or an Airflow "
                          "connection",
                          kind));
}

}  // namespace

Result<std::optional<LoadedCredential>> ManagedIdentitySource::Load(const CredentialTools& tools,
                                                                    const Context& context) {
  const Environment& environment = tools.environment;
  const std::string identity =
      client_id_.empty() ? environment.variable("AZURE_CLIENT_ID").value_or("") : client_id_;
  const auto endpoint = environment.variable("IDENTITY_ENDPOINT");
  if (!endpoint) return AskMachine(identity, tools, context);
  // As azure-identity tells them apart (ManagedIdentityCredential).
  const auto header = environment.variable("IDENTITY_HEADER");
  if (environment.variable("IDENTITY_SERVER_THUMBPRINT")) return Foreign("Service Fabric");
  if (!header) {
    if (environment.variable("IMDS_ENDPOINT")) return Foreign("Azure Arc");
    return Fail(ErrorCode::kInvalid, "IDENTITY_ENDPOINT is set but IDENTITY_HEADER is not");
  }
  return AskAppService(*endpoint, Secret(*header), identity, tools, context);
}

Result<std::optional<LoadedCredential>> ManagedIdentitySource::AskAppService(
    const std::string& endpoint, const Secret& header, std::string_view identity,
    const CredentialTools& tools, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Endpoint parsed,
                              ParseEndpoint(endpoint, "IDENTITY_ENDPOINT", kWords));
  if (!parsed.tls && !IsNear(parsed)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("IDENTITY_ENDPOINT is {}: IDENTITY_HEADER goes in clear only to this "
                            "machine or its own network (localhost, 169.254.0.0/16, private "
                            "addresses), and over https:// elsewhere",
                            Quoted(endpoint)));
  }
  if (!IsHeaderText(header.Reveal())) {
    return Fail(ErrorCode::kInvalid, "IDENTITY_HEADER holds what no header may");
  }
  HttpRequest request;
  request.url = fmt::format("{}?{}", endpoint, Parameters("2019-08-01", identity));
  request.headers.Set("X-IDENTITY-HEADER", header.Reveal());
  BufferSink answer(kMaxTokenDocument);
  const std::string source = Named("the service at IDENTITY_ENDPOINT", identity);
  AIRFREIGHT_ASSIGN_OR_RETURN(const HttpResponse response,
                              tools.local.Perform(request, context, &answer));
  if (response.status == 200) return ParseToken(AsText(answer.view()), source, tools.now());
  return Fail(DecodeTokenError(response, source, {&header}, tools.now()));
}

Result<std::optional<LoadedCredential>> ManagedIdentitySource::AskMachine(
    std::string_view identity, const CredentialTools& tools, const Context& context) {
  std::string base(kMachine);
  if (const auto other = tools.environment.variable("AZURE_POD_IDENTITY_AUTHORITY_HOST")) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Endpoint endpoint,
                                ParseEndpoint(*other, "AZURE_POD_IDENTITY_AUTHORITY_HOST", kWords));
    base = fmt::format("{}://{}{}", endpoint.tls ? "https" : "http", endpoint.host, endpoint.path);
  }
  const auto absent = [&](std::string_view why,
                          Error error) -> Result<std::optional<LoadedCredential>> {
    if (required_) return Fail(std::move(error));
    description_ = fmt::format("the managed identity of this machine ({})", why);
    return std::nullopt;
  };
  HttpRequest request;
  request.url =
      fmt::format("{}/metadata/identity/oauth2/token?{}", base, Parameters("2018-02-01", identity));
  // Which no page can make a browser send, and no redirect.
  request.headers.Set("Metadata", "true");
  bool connected = false;
  request.connected = &connected;
  BufferSink answer(kMaxTokenDocument);
  Result<HttpResponse> response = tools.local.Perform(request, context, &answer);
  for (int tried = 1; !response && tried < kAttempts; ++tried) {
    if (IsOwn(response.error())) return Fail(response.error());
    answer = BufferSink(kMaxTokenDocument);
    response = tools.local.Perform(request, context, &answer);
  }
  const std::string source = Named("the metadata service of this machine", identity);
  if (!response) {
    Error error = response.error();
    if (IsOwn(error)) return Fail(std::move(error));
    error.message = fmt::format("{} does not answer: {}", source, error.message);
    // What took the connection is there, and so is what is asked for by name: that passes.
    if (connected || !identity.empty()) return Fail(std::move(error));
    return absent(fmt::format("nothing answers at {}", base), std::move(error));
  }
  if (response->status == 200) {
    AIRFREIGHT_ASSIGN_OR_RETURN(LoadedCredential loaded,
                                ParseToken(AsText(answer.view()), source, tools.now()));
    required_ = true;
    return loaded;
  }
  Error error = DecodeTokenError(*response, source, {}, tools.now(), /*metadata_service=*/true);
  // Azure's has a document of its own; what else answers is another cloud's, or a proxy's page.
  if (!nlohmann::json::parse(response->error_document, nullptr, false).is_object()) {
    return absent(fmt::format("{} answers with status {}", base, response->status),
                  std::move(error));
  }
  if (error.code == ErrorCode::kDenied) {
    error.message += identity.empty()
                         ? ": assign an identity to this machine, or set [airfreight] az_client_id "
                           "where it has several"
                         : ": is it assigned to this machine?";
  }
  return Fail(std::move(error));
}

}  // namespace airfreight::azure
