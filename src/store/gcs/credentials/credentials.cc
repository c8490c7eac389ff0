#include "store/gcs/credentials/credentials.h"

#include <fmt/format.h>

#include <utility>

#include "base/percent.h"
#include "store/checks.h"
#include "store/cloud/answers.h"
#include "store/cloud/endpoint.h"
#include "store/gcs/decoder.h"

namespace airfreight::gcs {
namespace {

// cloud.google.com/compute/docs/metadata/querying-metadata
constexpr char kMetadataHost[] = "metadata.google.internal";
constexpr char kMetadataPath[] = "/computeMetadata/v1/instance/service-accounts/default/token";
constexpr char kFlavor[] = "Metadata-Flavor";
constexpr char kGoogle[] = "Google";

// What a machine's firmware calls it; on Compute Engine and GKE "Google Compute Engine", in pods
// too (cloud.google.com/compute/docs/instances/detect-compute-engine).
constexpr char kProductName[] = "/sys/class/dmi/id/product_name";

bool IsMachineOfGoogles(const Environment& environment) {
  return environment.read_file(kProductName).value_or("").starts_with("Google");
}

bool IsOwn(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kTimeout;
}

}  // namespace

TokenSource::TokenSource(const GcsOptions& options, bool emulator, CredentialsTools tools)
    : options_(options),
      // What the settings or a connection give goes to an emulator too: they name it on purpose.
      none_(options.anonymous || (emulator && !options.NamesCredentials())),
      tools_(std::move(tools)),
      token_([this](const Context& context) { return Load(context); }, tools_.now) {}

Result<LoadedToken> TokenSource::Load(const Context& context) {
  if (none_) return LoadedToken{};
  if (!options_.access_token.empty()) return LoadedToken{options_.access_token, std::nullopt};
  if (!options_.key_json.empty()) {
    return LoadDocument(options_.key_json.Reveal(), "the key of the Airflow connection", context);
  }
  if (!options_.key_path.empty()) {
    return LoadFile(options_.key_path, SettingName("gs", "key_path"), context);
  }
  constexpr char kVariable[] = "GOOGLE_APPLICATION_CREDENTIALS";
  if (const auto path = tools_.environment.variable(kVariable)) {
    return LoadFile(*path, kVariable, context);
  }
  // google.aip.dev/auth/4113#gcloud-authentication
  std::string folder = tools_.environment.variable("CLOUDSDK_CONFIG").value_or("");
  if (folder.empty()) {
    folder = tools_.environment.variable("HOME").value_or("") + "/.config/gcloud";
  }
  const std::string well_known = folder + "/application_default_credentials.json";
  if (const auto json = tools_.environment.read_file(well_known)) {
    return LoadDocument(*json, "gcloud's application_default_credentials.json", context);
  }
  if (tools_.environment.variable("NO_GCE_CHECK").value_or("") != "true") {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto token, AskMetadata(context));
    if (token) return *std::move(token);
  }
  return Fail(
      ErrorCode::kDenied,
      "no Google credentials were found: not in the settings, GOOGLE_APPLICATION_CREDENTIALS is "
      "not set, gcloud has left none, and there is no metadata server. Give the worker a service "
      "account, set GOOGLE_APPLICATION_CREDENTIALS to a key file, name an Airflow connection "
      "(gs://conn_id@bucket), or say [airfreight] gs_anonymous = true for a public bucket");
}

Result<LoadedToken> TokenSource::LoadFile(const std::string& path, std::string_view source,
                                          const Context& context) {
  const auto json = tools_.environment.read_file(path);
  if (!json) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} names the file {}, which is not there or can't be read", source,
                            Quoted(path)));
  }
  return LoadDocument(*json, fmt::format("the file of {}", source), context);
}

Result<LoadedToken> TokenSource::LoadDocument(std::string_view json, std::string_view source,
                                              const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const KeyDocument key, ParseKeyDocument(json, source));
  if (key.kind == KeyDocument::Kind::kServiceAccount) {
    return SignToken(key, kScope, tools_.now(), source);
  }
  return RefreshUser(key, source, context);
}

Result<LoadedToken> TokenSource::RefreshUser(const KeyDocument& key, std::string_view source,
                                             const Context& context) {
  const Secret form = RefreshForm(key);
  HttpRequest request;
  request.method = "POST";
  request.url = key.token_uri;
  request.headers.Set("Content-Type", "application/x-www-form-urlencoded");
  request.body = Body(form.Reveal());
  BufferSink answer(kMaxErrorDocument);
  AIRFREIGHT_ASSIGN_OR_RETURN(const HttpResponse response,
                              tools_.network->Perform(request, context, &answer));
  if (response.status == 200) {
    return ParseTokenAnswer(AsText(answer.view()), tools_.now(), "Google's token endpoint");
  }
  // Its reason, and not its words: they may repeat what was sent.
  const auto document = ParseErrorDocument(response.error_document);
  Error error;
  error.retryable = response.status >= 500 || response.status == 429;
  error.code = error.retryable ? ErrorCode::kUnavailable : ErrorCode::kDenied;
  error.http_status = response.status;
  error.message = fmt::format(
      "Google's token endpoint refused the log-in of {} ({}); log in again with `gcloud auth "
      "application-default login`",
      source,
      document && IsHeaderText(document->reason) ? document->reason.substr(0, 64)
                                                 : std::string("no reason given"));
  return Fail(std::move(error));
}

Result<std::optional<LoadedToken>> TokenSource::AskMetadata(const Context& context) {
  std::string host = kMetadataHost;
  bool named = false;
  for (const char* name : {"GCE_METADATA_HOST", "GCE_METADATA_ROOT"}) {
    const auto value = tools_.environment.variable(name);
    if (!value || named) continue;
    AIRFREIGHT_ASSIGN_OR_RETURN(
        const Endpoint endpoint,
        ParseEndpoint("http://" + *value, name, {"http://metadata.google.internal", "no one's"}));
    host = endpoint.host;
    named = true;
  }
  HttpRequest request;
  request.url = fmt::format("http://{}{}?scopes={}", host, kMetadataPath,
                            PercentEncode(kScope, kUriUnreserved));
  request.headers.Set(kFlavor, kGoogle);
  BufferSink answer(kMaxErrorDocument);
  auto response = tools_.local->Perform(request, context, &answer);
  if (!response) {
    if (IsOwn(response.error()) || named) return Fail(std::move(response).error());
    if (!IsMachineOfGoogles(tools_.environment)) return std::nullopt;
    // In a pod's first seconds GKE's server does not answer yet
    // (cloud.google.com/kubernetes-engine/docs/how-to/workload-identity#limitations).
    Error error = std::move(response).error();
    error.code = ErrorCode::kUnavailable;
    error.retryable = true;
    error.message =
        "this is a machine of Google's, and its metadata server did not answer (where "
        "there is none, set NO_GCE_CHECK=true): " +
        error.message;
    return Fail(std::move(error));
  }
  // Whoever answers without it is not the metadata server: a portal that answers every name.
  if (response->headers.Get(kFlavor) != kGoogle) return std::nullopt;
  if (response->status == 200) {
    AIRFREIGHT_ASSIGN_OR_RETURN(
        LoadedToken token,
        ParseTokenAnswer(AsText(answer.view()), tools_.now(), "the metadata server"));
    return token;
  }
  if (response->status == 404) return std::nullopt;  // A machine without a service account.
  Error error;
  error.retryable = response->status >= 500 || response->status == 429;
  error.code = error.retryable ? ErrorCode::kUnavailable : ErrorCode::kDenied;
  error.http_status = response->status;
  error.message = fmt::format("the metadata server gave no token (HTTP {})", response->status);
  // Which permission is lacking on whom (GKE's: iam.serviceAccounts.getAccessToken).
  if (const std::string said = ServersWords(response->error_document); !said.empty()) {
    error.message += ": " + said;
  }
  return Fail(std::move(error));
}

}  // namespace airfreight::gcs
