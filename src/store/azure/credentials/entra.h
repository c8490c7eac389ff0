#pragma once

/// \file
/// \brief Tokens from Microsoft Entra: for an application's secret, and for a token that someone
/// else has signed (Kubernetes service accounts on AKS, OpenID Connect elsewhere).

#include <string>
#include <string_view>
#include <utility>

#include "airfreight/result.h"
#include "store/azure/credentials/credential.h"

namespace airfreight::azure {

/// What the settings say of an application; empty parts are taken from the environment.
struct Application {
  std::string tenant_id;
  std::string client_id;
  Secret client_secret;
  std::string authority_host;
};

/// \brief The settings' secret, else AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET: one
/// request to AZURE_AUTHORITY_HOST (learn.microsoft.com/python/api/azure-identity,
/// EnvironmentCredential).
///
/// Threads, blocking: as CredentialSource. Errors: Invalid when the tenant or the id is missing.
class ClientSecretSource final : public CredentialSource {
 public:
  explicit ClientSecretSource(Application application) : application_(std::move(application)) {}
  Result<std::optional<LoadedCredential>> Load(const CredentialTools& tools,
                                               const Context& context) override;
  std::string Description() const override;

 private:
  const Application application_;
};

/// \brief AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_ID and AZURE_TENANT_ID, as AKS sets them
/// (learn.microsoft.com/azure/aks/workload-identity-overview). The file is read anew each time,
/// since whoever writes it replaces it before it expires.
///
/// Threads, blocking: as CredentialSource. Errors: Invalid when a part is missing, or the file.
class WorkloadIdentitySource final : public CredentialSource {
 public:
  explicit WorkloadIdentitySource(Application application) : application_(std::move(application)) {}
  Result<std::optional<LoadedCredential>> Load(const CredentialTools& tools,
                                               const Context& context) override;
  std::string Description() const override;

 private:
  const Application application_;
};

}  // namespace airfreight::azure
