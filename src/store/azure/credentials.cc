#include "store/azure/credentials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>

#include "base/base64.h"
#include "store/azure/account.h"
#include "store/azure/credentials/entra.h"
#include "store/azure/credentials/managed_identity.h"

namespace airfreight::azure {
namespace {

std::optional<LoadedCredential> Fixed(Credential::Kind kind, const Secret& secret) {
  if (secret.empty()) return std::nullopt;
  return LoadedCredential{{kind, secret}, std::nullopt};
}

std::optional<LoadedCredential> Of(const ConnectionString& parsed) {
  if (auto sas = Fixed(Credential::Kind::kSas, parsed.sas_token)) return sas;
  return Fixed(Credential::Kind::kSharedKey, parsed.account_key);
}

class SettingsSource final : public CredentialSource {
 public:
  explicit SettingsSource(const AzureOptions& options)
      : connection_string_(options.connection_string),
        account_key_(options.account_key),
        sas_token_(options.sas_token) {}
  Result<std::optional<LoadedCredential>> Load(const CredentialTools& /*tools*/,
                                               const Context& /*context*/) override {
    if (connection_string_) return Of(*connection_string_);
    if (auto key = Fixed(Credential::Kind::kSharedKey, account_key_)) return key;
    return Fixed(Credential::Kind::kSas, sas_token_);
  }
  std::string Description() const override {
    return "an Airflow connection named by the store (az://conn_id@container/prefix)";
  }

 private:
  const std::optional<ConnectionString> connection_string_;
  const Secret account_key_;
  const Secret sas_token_;
};

class StorageEnvironmentSource final : public CredentialSource {
 public:
  /// \param place_is_set whether the settings say where: then a connection string, which says it
  /// too, is about another account.
  explicit StorageEnvironmentSource(bool place_is_set) : place_is_set_(place_is_set) {}

  Result<std::optional<LoadedCredential>> Load(const CredentialTools& tools,
                                               const Context& /*context*/) override {
    const auto variable = [&](const char* name) {
      return TrimBlanks(tools.environment.variable(name).value_or(""));
    };
    if (variable("AZURE_STORAGE_AUTH_MODE") == "login") return std::nullopt;
    constexpr const char* kString = "AZURE_STORAGE_CONNECTION_STRING";
    if (const std::string text = variable(kString); !text.empty() && !place_is_set_) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const ConnectionString parsed,
                                  ParseConnectionString(text, kString));
      return Of(parsed);
    }
    if (std::string key = variable("AZURE_STORAGE_KEY"); !key.empty()) {
      if (!Base64Decode(key)) {
        return Fail(ErrorCode::kInvalid, "AZURE_STORAGE_KEY is no base64 (cut off?)");
      }
      return Fixed(Credential::Kind::kSharedKey, Secret(std::move(key)));
    }
    if (const std::string text = variable("AZURE_STORAGE_SAS_TOKEN"); !text.empty()) {
      const auto token = ParseSasToken(text);
      if (!token) return Fail(ErrorCode::kInvalid, "AZURE_STORAGE_SAS_TOKEN has no sig=");
      return Fixed(Credential::Kind::kSas, *token);
    }
    return std::nullopt;
  }
  std::string Description() const override {
    return "AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN and AZURE_STORAGE_CONNECTION_STRING";
  }

 private:
  const bool place_is_set_;
};

}  // namespace

CredentialsChain::CredentialsChain(CredentialsAccess access,
                                   std::vector<std::unique_ptr<CredentialSource>> sources)
    : access_(std::move(access)),
      sources_(std::move(sources)),
      credential_([this](const Context& context) { return Load(context); }, access_.now) {}

Result<LoadedCredential> CredentialsChain::Load(const Context& context) {
  const CredentialTools tools{*access_.network, *access_.local, access_.environment, access_.now};
  if (active_ != nullptr) {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto again, active_->Load(tools, context));
    if (again) return *std::move(again);
    active_ = nullptr;
  }
  std::vector<std::string> looked;
  for (const auto& source : sources_) {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto loaded, source->Load(tools, context));
    if (loaded) {
      active_ = source.get();
      return *std::move(loaded);
    }
    looked.push_back(source->Description());
  }
  return Fail(ErrorCode::kDenied,
              fmt::format("no credentials for Azure. Looked at {}. Set one of these, or give this "
                          "machine or pod an identity",
                          fmt::join(looked, "; ")));
}

std::unique_ptr<CredentialsChain> DefaultCredentials(const AzureOptions& options,
                                                     CredentialsAccess access) {
  const Application application{options.tenant_id, options.client_id, options.client_secret,
                                options.authority_host};
  std::vector<std::unique_ptr<CredentialSource>> sources;
  sources.push_back(std::make_unique<SettingsSource>(options));
  // Whoever names an application or an identity means that one, not a key that happens to be in the
  // environment.
  if (options.tenant_id.empty() && options.client_id.empty()) {
    const bool place_is_set = !options.account.empty() || !options.endpoint_url.empty();
    sources.push_back(std::make_unique<StorageEnvironmentSource>(place_is_set));
  }
  sources.push_back(std::make_unique<ClientSecretSource>(application));
  sources.push_back(std::make_unique<WorkloadIdentitySource>(application));
  sources.push_back(std::make_unique<ManagedIdentitySource>(options.client_id));
  return std::make_unique<CredentialsChain>(std::move(access), std::move(sources));
}

}  // namespace airfreight::azure
