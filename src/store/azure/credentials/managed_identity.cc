#include "store/azure/credentials/managed_identity.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/percent.h"
#include "store/checks.h"
#include "store/cloud/endpoint.h"

namespace airfreight::azure {
namespace {

constexpr std::string_view kMachine = "http://169.254.169.254";
constexpr EndpointWords kWords{"http://169.254.169.254", "an Airflow connection"};

bool IsOwn(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kTimeout;
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
  AIRFREIGHT_RETURN_IF_ERROR(
      ParseEndpoint(endpoint, "IDENTITY_ENDPOINT", kWords).map([](const Endpoint&) {}));
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
  BufferSink answer(kMaxTokenDocument);
  const auto response = tools.local.Perform(request, context, &answer);
  if (!response) {
    if (IsOwn(response.error())) return Fail(response.error());
    return absent(fmt::format("nothing answers at {}", base), response.error());
  }
  const std::string source = Named("the metadata service of this machine", identity);
  if (response->status == 200) {
    AIRFREIGHT_ASSIGN_OR_RETURN(LoadedCredential loaded,
                                ParseToken(AsText(answer.view()), source, tools.now()));
    required_ = true;
    return loaded;
  }
  Error error = DecodeTokenError(*response, source, {}, tools.now());
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
