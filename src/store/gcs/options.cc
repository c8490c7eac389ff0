#include "store/gcs/options.h"

#include <fmt/format.h>

#include <utility>

#include "store/checks.h"
#include "store/cloud/transport_settings.h"

namespace airfreight::gcs {
namespace {

constexpr char kHost[] = "storage.googleapis.com";

constexpr EndpointWords kWords = {
    "https://storage.googleapis.com",
    "an Airflow connection (gs://conn_id@bucket) or a key file",
};

Result<Endpoint> Parse(std::string_view url, std::string_view source) {
  return ParseEndpoint(url, source, kWords);
}

bool IsGoogle(const Endpoint& endpoint) {
  return endpoint.tls &&
         (endpoint.host == "googleapis.com" || endpoint.host.ends_with(".googleapis.com"));
}

}  // namespace

Status CheckKmsKeyName(std::string_view name, std::string_view source) {
  const bool shape = name.starts_with("projects/") &&
                     name.find("/locations/") != std::string_view::npos &&
                     name.find("/keyRings/") != std::string_view::npos &&
                     name.find("/cryptoKeys/") != std::string_view::npos;
  if (shape && IsHeaderText(name)) return {};
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} is {}; right is e.g. "
                          "projects/my-project/locations/eu/keyRings/airflow/cryptoKeys/xcom",
                          source, Quoted(name)));
}

Status CheckWrite(const PutOptions& options) {
  Capabilities capabilities;
  capabilities.encryption_key = true;
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options, capabilities));
  if (options.encryption_key.empty()) return {};
  return CheckKmsKeyName(options.encryption_key, "the encryption key");
}

Result<GcsOptions> ParseGcsOptions(const StoreSettings& settings) {
  StoreSettings rest = settings;
  GcsOptions options;
  options.endpoint_url = TakeText(rest, "endpoint_url");
  AIRFREIGHT_ASSIGN_OR_RETURN(options.anonymous, TakeBool(rest, "gs", "anonymous", false));
  options.key_path = TakeText(rest, "key_path");
  options.key_json = Secret(TakeText(rest, "key_json"));
  options.access_token = Secret(TrimBlanks(TakeText(rest, "access_token")));
  options.user_project = TakeText(rest, "user_project");
  options.kms_key_name = TakeText(rest, "kms_key_name");
  AIRFREIGHT_ASSIGN_OR_RETURN(options.transport, TakeTransport(rest, "gs"));
  AIRFREIGHT_RETURN_IF_ERROR(
      RefuseUnknown(rest, "gs",
                    {"endpoint_url", "anonymous", "key_path", "key_json", "access_token",
                     "user_project", "kms_key_name", "ca_bundle", "verify", "connect_timeout",
                     "idle_timeout", "retry_timeout", "max_attempts"}));

  if (!options.endpoint_url.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(
        Parse(options.endpoint_url, SettingName("gs", "endpoint_url")).map([](const Endpoint&) {}));
  }
  if (!options.kms_key_name.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(
        CheckKmsKeyName(options.kms_key_name, SettingName("gs", "kms_key_name")));
  }
  if (!IsHeaderText(options.user_project)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} is {}; right is a project's id, e.g. my-project",
                            SettingName("gs", "user_project"), Quoted(options.user_project)));
  }
  const int named =
      static_cast<int>(options.anonymous) + static_cast<int>(!options.key_path.empty()) +
      static_cast<int>(!options.key_json.empty()) + static_cast<int>(!options.access_token.empty());
  if (named > 1) {
    return Fail(ErrorCode::kInvalid,
                "more than one of [airfreight] gs_anonymous, gs_key_path and the credentials of "
                "the Airflow connection is set; leave all but one out");
  }
  if (!options.access_token.empty() && !IsHeaderText(options.access_token.Reveal())) {
    return Fail(ErrorCode::kInvalid,
                "the access token of the Airflow connection of gs://conn_id@bucket holds blanks or "
                "what is not ASCII; right is one word, as OAuth gives it");
  }
  return options;
}

Result<Target> ResolveTarget(const GcsOptions& options, const Environment& environment) {
  Target target;
  std::string source;
  if (!options.endpoint_url.empty()) {
    source = SettingName("gs", "endpoint_url");
    AIRFREIGHT_ASSIGN_OR_RETURN(target.endpoint, Parse(options.endpoint_url, source));
  } else if (auto host = environment.variable("STORAGE_EMULATOR_HOST")) {
    source = "STORAGE_EMULATOR_HOST";
    // Google's libraries differ: Python's wants a scheme, Go's wants none.
    const std::string url = host->find("://") == std::string::npos ? "http://" + *host : *host;
    AIRFREIGHT_ASSIGN_OR_RETURN(target.endpoint, Parse(url, source));
    target.emulator = true;
  } else {
    target.endpoint.host = kHost;
  }
  target.foreign = !IsGoogle(target.endpoint);
  const bool tokens = !options.anonymous && (!target.emulator || options.NamesCredentials());
  if (tokens && !target.endpoint.tls && !IsLoopback(target.endpoint)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} is plain http to another machine, and a token may not go there; "
                            "use https, or [airfreight] gs_anonymous = true for an emulator",
                            source));
  }
  return target;
}

}  // namespace airfreight::gcs
