#include "store/azure/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "store/checks.h"
#include "store/cloud/transport_settings.h"

namespace airfreight::azure {
namespace {

constexpr std::string_view kConnection = "the Airflow connection of az://conn_id@container";

// Letters, digits, '-' and '.': a GUID, or a domain where a tenant is meant. It becomes part of a
// URL.
Status CheckId(std::string_view value, std::string_view what) {
  constexpr size_t kMaxId = 253;
  const bool legal = value.size() <= kMaxId && std::all_of(value.begin(), value.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '.';
                     });
  if (legal) return {};
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} is {}; right is e.g. '72f988bf-86f1-41af-91ab-2d7cd011db47'", what,
                          Quoted(value)));
}

// 3 to 63 letters, digits, '-' and '_' (learn.microsoft.com/rest/api/storagerp/encryption-scopes).
Status CheckEncryptionScope(std::string_view scope) {
  const bool legal = scope.size() >= 3 && scope.size() <= 63 &&
                     std::all_of(scope.begin(), scope.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_';
                     });
  if (scope.empty() || legal) return {};
  return Fail(ErrorCode::kInvalid,
              fmt::format("[airfreight] az_encryption_scope is {}; right is the name of a scope of "
                          "the account, e.g. 'sales-2026'",
                          Quoted(scope)));
}

Status TakeKeys(StoreSettings& settings, AzureOptions& options) {
  options.account_key = Secret(TrimBlanks(TakeText(settings, "account_key")));
  if (!options.account_key.empty() && !Base64Decode(options.account_key.Reveal())) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("the account key of {} is no base64 (cut off?); copy it again from the "
                            "portal, under \"Access keys\"",
                            kConnection));
  }
  if (const std::string sas = TakeText(settings, "sas_token"); !sas.empty()) {
    auto token = ParseSasToken(sas);
    if (!token) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("the SAS token of {} has no sig=; right looks like "
                              "sv=…&se=…&sp=racwdl&sig=…",
                              kConnection));
    }
    options.sas_token = *std::move(token);
  }
  if (const std::string text = TakeText(settings, "connection_string"); !text.empty()) {
    AIRFREIGHT_ASSIGN_OR_RETURN(
        options.connection_string,
        ParseConnectionString(text, fmt::format("the connection_string of {}", kConnection)));
  }
  options.tenant_id = TakeText(settings, "tenant_id");
  AIRFREIGHT_RETURN_IF_ERROR(CheckId(options.tenant_id, "[airfreight] az_tenant_id"));
  options.client_id = TakeText(settings, "client_id");
  AIRFREIGHT_RETURN_IF_ERROR(CheckId(options.client_id, "[airfreight] az_client_id"));
  options.client_secret = Secret(TrimBlanks(TakeText(settings, "client_secret")));
  if (!options.client_secret.empty() && (options.tenant_id.empty() || options.client_id.empty())) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} has a client's secret and not its {}", kConnection,
                            options.client_id.empty() ? "id (login)" : "tenant_id (extra)"));
  }
  options.authority_host = TakeText(settings, "authority_host");
  return {};
}

}  // namespace

Result<AzureOptions> ParseAzureOptions(const StoreSettings& settings) {
  StoreSettings rest = settings;
  AzureOptions options;
  options.account = TakeText(rest, "account");
  options.endpoint_url = TakeText(rest, "endpoint_url");
  AIRFREIGHT_RETURN_IF_ERROR(TakeKeys(rest, options));
  options.encryption_scope = TakeText(rest, "encryption_scope");
  AIRFREIGHT_RETURN_IF_ERROR(CheckEncryptionScope(options.encryption_scope));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      options.checksums,
      TakeChoice(
          rest, "az", "checksums", Checksums::kCrc64,
          {{"auto", Checksums::kCrc64}, {"md5", Checksums::kMd5}, {"never", Checksums::kNever}}));
  AIRFREIGHT_RETURN_IF_ERROR(CheckAvailable(options.checksums));
  AIRFREIGHT_ASSIGN_OR_RETURN(options.transport, TakeTransport(rest, "az"));
  AIRFREIGHT_RETURN_IF_ERROR(RefuseUnknown(
      rest, "az",
      {"account", "endpoint_url", "connection_string", "account_key", "sas_token", "tenant_id",
       "client_id", "client_secret", "authority_host", "encryption_scope", "checksums", "ca_bundle",
       "verify", "connect_timeout", "idle_timeout", "retry_timeout", "max_attempts"}));
  if (!options.account.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckAccountName(options.account, "[airfreight] az_account"));
  }
  if (!options.endpoint_url.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(
        ParseServiceUrl(options.endpoint_url, options.account, "[airfreight] az_endpoint_url")
            .map([](const Account&) {}));
  }
  return options;
}

Result<Account> ResolveAccount(const AzureOptions& options, const Environment& environment) {
  if (options.connection_string) return options.connection_string->account;
  const auto variable = [&](const char* name) { return environment.variable(name).value_or(""); };
  // Where the settings name a place, a variable may still name the account behind it.
  std::string name = options.account;
  if (!options.endpoint_url.empty()) {
    if (name.empty()) name = variable("AZURE_STORAGE_ACCOUNT");
    AIRFREIGHT_ASSIGN_OR_RETURN(
        Account account, ParseServiceUrl(options.endpoint_url, "", "[airfreight] az_endpoint_url"));
    // The URL's own word goes before a variable, which may be about another account.
    if (!account.name.empty() && options.account.empty()) return account;
    if (name.empty()) return account;
    return ParseServiceUrl(options.endpoint_url, name, "[airfreight] az_endpoint_url");
  }
  if (!name.empty()) return AccountOf(name);
  if (const std::string text = variable("AZURE_STORAGE_CONNECTION_STRING"); !text.empty()) {
    return ParseConnectionString(text, "AZURE_STORAGE_CONNECTION_STRING")
        .map([](const ConnectionString& parsed) { return parsed.account; });
  }
  name = variable("AZURE_STORAGE_ACCOUNT");
  if (!name.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckAccountName(name, "AZURE_STORAGE_ACCOUNT"));
  }
  if (const std::string url = variable("AZURE_STORAGE_SERVICE_ENDPOINT"); !url.empty()) {
    return ParseServiceUrl(url, name, "AZURE_STORAGE_SERVICE_ENDPOINT");
  }
  if (!name.empty()) return AccountOf(name);
  return Fail(ErrorCode::kInvalid,
              "no storage account is named. Set [airfreight] az_account = myaccount (or "
              "az_endpoint_url where it is not in Azure's public cloud), AZURE_STORAGE_ACCOUNT or "
              "AZURE_STORAGE_CONNECTION_STRING, or name an Airflow connection: "
              "az://conn_id@container/prefix");
}

}  // namespace airfreight::azure
