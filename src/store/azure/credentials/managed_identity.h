#pragma once

/// \file
/// \brief Tokens from the machine, the container or the App Service that the process runs on.

#include <string>
#include <string_view>
#include <utility>

#include "airfreight/result.h"
#include "store/azure/credentials/credential.h"

namespace airfreight::azure {

/// \brief IDENTITY_ENDPOINT with IDENTITY_HEADER, as App Service, Functions and Container Apps set
/// them (learn.microsoft.com/azure/app-service/overview-managed-identity); else the metadata
/// service of a virtual machine or an AKS node
/// (learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token) at
/// its address, or at AZURE_POD_IDENTITY_AUTHORITY_HOST.
///
/// Threads, blocking: as CredentialSource; one request, over this machine only. Errors: Denied when
/// there is no such identity, Unsupported for the kinds that need a certificate or a file of root's
/// (Service Fabric, Arc).
class ManagedIdentitySource final : public CredentialSource {
 public:
  /// \param client_id which of several identities; empty: AZURE_CLIENT_ID, else the machine's own.
  explicit ManagedIdentitySource(std::string client_id) : client_id_(std::move(client_id)) {}
  Result<std::optional<LoadedCredential>> Load(const CredentialTools& tools,
                                               const Context& context) override;
  std::string Description() const override { return description_; }

 private:
  Result<std::optional<LoadedCredential>> AskAppService(const std::string& endpoint,
                                                        const Secret& header,
                                                        std::string_view identity,
                                                        const CredentialTools& tools,
                                                        const Context& context);
  Result<std::optional<LoadedCredential>> AskMachine(std::string_view identity,
                                                     const CredentialTools& tools,
                                                     const Context& context);

  const std::string client_id_;
  std::string description_ = "the managed identity of this machine";
  bool required_ = false;  // It has given tokens: whoever had one is not told that there is none.
};

}  // namespace airfreight::azure
