#include "store/azure/credentials/entra.h"

#include <fmt/format.h>

#include <optional>

#include "base/percent.h"
#include "store/checks.h"
#include "store/cloud/endpoint.h"

namespace airfreight::azure {
namespace {

constexpr EndpointWords kWords{"https://login.microsoftonline.com",
                               "an Airflow connection (az://conn_id@container) or the environment"};

std::string Either(const std::string& setting, const Environment& environment, const char* name) {
  return setting.empty() ? environment.variable(name).value_or("") : setting;
}

tl::unexpected<Error> Missing(std::string_view have, std::string_view missing) {
  return Fail(ErrorCode::kInvalid, fmt::format("{} is set but {} is not", have, missing));
}

// What EnvironmentCredential of azure-identity would use where there is no secret. To pass it over
// would be to ask as someone else.
Result<std::optional<LoadedCredential>> OfAnotherKind(const Environment& environment) {
  for (const char* const name : {"AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME"}) {
    if (environment.variable(name).value_or("").empty()) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{} is set, and {} is not supported; use an application's secret "
                            "(AZURE_CLIENT_SECRET), workload identity, a managed identity or an "
                            "Airflow connection, and unset it",
                            name,
                            std::string_view(name) == "AZURE_USERNAME" ? "a user's password"
                                                                       : "a certificate"));
  }
  return std::nullopt;
}

Result<std::string> TokenUrl(const Application& application, std::string_view tenant,
                             const Environment& environment) {
  std::string host = Either(application.authority_host, environment, "AZURE_AUTHORITY_HOST");
  if (host.empty()) host = "https://login.microsoftonline.com";
  // As azure-identity takes it, without a scheme too.
  if (host.find("://") == std::string::npos) host.insert(0, "https://");
  AIRFREIGHT_ASSIGN_OR_RETURN(const Endpoint endpoint,
                              ParseEndpoint(host, "AZURE_AUTHORITY_HOST", kWords));
  if (!endpoint.tls && !IsLoopback(endpoint)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("AZURE_AUTHORITY_HOST is {}: secrets and tokens go over https:// only",
                            Quoted(host)));
  }
  return fmt::format("{}://{}{}/{}/oauth2/v2.0/token", endpoint.tls ? "https" : "http",
                     endpoint.host, endpoint.path, PercentEncode(tenant, kUriUnreserved));
}

// `proof` and its parameters are what differs between the two kinds.
Result<LoadedCredential> AskEntra(const std::string& url, std::string_view client_id,
                                  std::string_view proof_parameters, const Secret& proof,
                                  std::string_view source, const CredentialTools& tools,
                                  const Context& context) {
  const auto encode = [](std::string_view text) { return PercentEncode(text, kUriUnreserved); };
  const Secret form(fmt::format("grant_type=client_credentials&client_id={}&scope={}&{}={}",
                                encode(client_id), encode(kScope), proof_parameters,
                                encode(proof.Reveal())));
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.headers.Set("Content-Type", "application/x-www-form-urlencoded");
  request.headers.Set("Accept", "application/json");
  request.body = Body(form.Reveal());
  BufferSink answer(kMaxTokenDocument);
  AIRFREIGHT_ASSIGN_OR_RETURN(const HttpResponse response,
                              tools.network.Perform(request, context, &answer));
  if (response.status == 200) return ParseToken(AsText(answer.view()), source, tools.now());
  return Fail(DecodeTokenError(response, source, {&proof}, tools.now()));
}

}  // namespace

Result<std::optional<LoadedCredential>> ClientSecretSource::Load(const CredentialTools& tools,
                                                                 const Context& context) {
  const Environment& environment = tools.environment;
  const bool own = !application_.client_secret.empty();
  const Secret secret =
      own ? application_.client_secret
          : Secret(TrimBlanks(environment.variable("AZURE_CLIENT_SECRET").value_or("")));
  // The environment's application counts where the settings name none, or the same.
  const auto its_client = environment.variable("AZURE_CLIENT_ID");
  if (!own && its_client && !application_.client_id.empty() &&
      *its_client != application_.client_id) {
    return std::nullopt;
  }
  if (secret.empty()) return OfAnotherKind(environment);
  const std::string tenant = Either(application_.tenant_id, environment, "AZURE_TENANT_ID");
  const std::string client = Either(application_.client_id, environment, "AZURE_CLIENT_ID");
  if (tenant.empty()) return Missing("AZURE_CLIENT_SECRET", "AZURE_TENANT_ID");
  if (client.empty()) return Missing("AZURE_CLIENT_SECRET", "AZURE_CLIENT_ID");
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string url, TokenUrl(application_, tenant, environment));
  return AskEntra(url, client, "client_secret", secret,
                  fmt::format("Microsoft Entra, asked for application {} with {},", Quoted(client),
                              own ? "the Airflow connection's secret" : "AZURE_CLIENT_SECRET"),
                  tools, context);
}

std::string ClientSecretSource::Description() const {
  return "AZURE_CLIENT_SECRET with AZURE_CLIENT_ID and AZURE_TENANT_ID";
}

Result<std::optional<LoadedCredential>> WorkloadIdentitySource::Load(const CredentialTools& tools,
                                                                     const Context& context) {
  constexpr const char* kFile = "AZURE_FEDERATED_TOKEN_FILE";
  const Environment& environment = tools.environment;
  const auto file = environment.variable(kFile);
  if (!file) return std::nullopt;
  const std::string tenant = Either(application_.tenant_id, environment, "AZURE_TENANT_ID");
  const std::string client = Either(application_.client_id, environment, "AZURE_CLIENT_ID");
  if (tenant.empty()) return Missing(kFile, "AZURE_TENANT_ID");
  if (client.empty()) return Missing(kFile, "AZURE_CLIENT_ID");
  const auto content = environment.read_file(*file);
  if (!content) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("the token's file {}, named by {}, is not there or cannot be read by "
                            "this process",
                            Quoted(*file), kFile));
  }
  const Secret token(TrimBlanks(*content));
  if (token.empty()) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("the token's file {}, named by {}, is empty", Quoted(*file), kFile));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string url, TokenUrl(application_, tenant, environment));
  return AskEntra(url, client,
                  // learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow,
                  // "Third case"; www.rfc-editor.org/rfc/rfc7523#section-2.2.
                  "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3A"
                  "jwt-bearer&client_assertion",
                  token,
                  fmt::format("Microsoft Entra, asked for application {} with the token in {} "
                              "({}),",
                              Quoted(client), Quoted(*file), kFile),
                  tools, context);
}

std::string WorkloadIdentitySource::Description() const {
  return "AZURE_FEDERATED_TOKEN_FILE with AZURE_CLIENT_ID and AZURE_TENANT_ID";
}

}  // namespace airfreight::azure
