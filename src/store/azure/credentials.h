#pragma once

/// \file
/// \brief What requests are allowed by, kept fresh, and the order in which it is looked for.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/azure/credentials/credential.h"
#include "store/azure/options.h"
#include "store/cloud/refreshing.h"

namespace airfreight::azure {

/// What a chain's sources use. Functions may be called from several threads at once.
struct CredentialsAccess {
  HttpTransport* network = nullptr;      ///< The store's own; outlives the chain.
  std::unique_ptr<HttpTransport> local;  ///< For services of this machine.
  Environment environment;
  std::function<int64_t()> now;  ///< Seconds since 1970.
};

/// \brief Asks its sources in order, stays with the one that has something, and asks that anew
/// before it ends.
///
/// Threads: as Refreshing. Ownership: owns its sources; the network's transport is the store's.
/// Blocking and cancellation: as CredentialSource and Refreshing. Fork: as ObjectStore. Errors:
/// Denied when no source has anything, listing them and how to set one; a source's own otherwise,
/// which is each waiter's too.
class CredentialsChain {
 public:
  CredentialsChain(CredentialsAccess access,
                   std::vector<std::unique_ptr<CredentialSource>> sources);

  Result<Credential> Get(const Context& context) { return credential_.Get(context); }
  /// Loads again, after the service has refused `used`; without loading where another thread has
  /// done so since.
  Result<Credential> Refresh(const Credential& used, const Context& context) {
    return credential_.Refresh(used, context);
  }

 private:
  Result<LoadedCredential> Load(const Context& context);

  const CredentialsAccess access_;
  const std::vector<std::unique_ptr<CredentialSource>> sources_;
  CredentialSource* active_ = nullptr;  // Whose it is. Touched by who loads.
  Refreshing<Credential> credential_;
};

/// The settings' (a connection's) connection string, key, signature or application; then, unless
/// the settings name an application or AZURE_STORAGE_AUTH_MODE is `login`, AZURE_STORAGE_KEY,
/// AZURE_STORAGE_SAS_TOKEN and AZURE_STORAGE_CONNECTION_STRING as Azure's command line reads them
/// (learn.microsoft.com/cli/azure/azure-cli-configuration); then in the order of azure-identity's
/// DefaultAzureCredential an application's secret, workload identity, managed identity. Nothing is
/// read or asked before the first Get.
std::unique_ptr<CredentialsChain> DefaultCredentials(const AzureOptions& options,
                                                     CredentialsAccess access);

}  // namespace airfreight::azure
