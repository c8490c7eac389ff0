#pragma once

/// \file
/// \brief The keys that sign requests, kept fresh, and the order in which they are looked for.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/cloud/refreshing.h"
#include "store/s3/credentials/process.h"
#include "store/s3/credentials/source.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// What a chain's sources use. Functions may be called from several threads at once.
struct CredentialsAccess {
  HttpTransport* network = nullptr;      ///< The store's own; outlives the chain.
  std::unique_ptr<HttpTransport> local;  ///< For services of this machine.
  Environment environment;
  std::function<int64_t()> now;  ///< Seconds since 1970.
  ProcessRunner run = &RunProcess;

  /// That of a store: with a transport for this machine's services that uses no proxy and waits a
  /// second for a connection, as botocore does, since there is no such service in most places.
  static CredentialsAccess Of(HttpTransport& network, Environment environment,
                              std::function<int64_t()> now);
};

/// \brief Asks its sources in order, stays with the one that has keys, and asks that anew before
/// they end.
///
/// Threads: as Refreshing. Ownership: owns its sources; the network's transport is the store's.
/// Blocking and cancellation: as CredentialsSource and Refreshing. Fork: as ObjectStore. Errors:
/// Denied when no source has anything, listing them and how to set keys; a source's own otherwise,
/// which is each waiter's too.
class CredentialsChain {
 public:
  CredentialsChain(CredentialsAccess access,
                   std::vector<std::unique_ptr<CredentialsSource>> sources);

  Result<Credentials> Get(const Context& context) { return keys_.Get(context); }
  /// Loads again, after the store has said that `used` has expired; without loading where another
  /// thread has done so since.
  Result<Credentials> Refresh(const Credentials& used, const Context& context) {
    return keys_.Refresh(used, context);
  }

 private:
  Result<LoadedCredentials> Load(const Context& context);

  const CredentialsAccess access_;
  const std::vector<std::unique_ptr<CredentialsSource>> sources_;

  CredentialsSource* active_ = nullptr;  // Whose keys they are. Touched by who loads.
  Refreshing<Credentials> keys_;
};

/// What the settings say of credentials.
struct CredentialsSettings {
  std::optional<Credentials> keys;
  std::string profile;
  std::string region;
};

/// Settings; the environment; a profile's role; web identity; the rest of what a profile may have;
/// container; instance. A profile that the settings name goes before the environment, whose keys
/// and web identity then do not count. Nothing is read or asked before the first Get.
/// (docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html; in the order of
/// botocore's create_credential_resolver, which is what an Airflow deployment has had so far.)
std::unique_ptr<CredentialsChain> DefaultCredentials(CredentialsSettings settings,
                                                     CredentialsAccess access);

}  // namespace airfreight::s3
