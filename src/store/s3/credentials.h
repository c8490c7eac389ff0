#pragma once

/// \file
/// \brief The keys that sign requests, kept fresh, and the order in which they are looked for.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/s3/credentials/process.h"
#include "store/s3/credentials/source.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// When keys that end are asked for anew, in seconds before their end, as botocore has it
/// (credentials.py, RefreshableCredentials): from `advisory` on by one of those who need them,
/// while a failure does no harm yet; from `mandatory` on by whoever needs them, and the others
/// wait.
struct RefreshWindow {
  int64_t advisory = 0;
  int64_t mandatory = 0;
};

/// 15 and 5 minutes of an hour; the same shares of a life that is shorter, so that a session of a
/// minute is not asked for anew with each request. `lifetime` in seconds.
RefreshWindow RefreshWindowOf(int64_t lifetime);

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
/// Threads: Get and Refresh may be called from several at once; one of them loads, with no mutex
/// held, while the others go on with keys that are still good or wait for it. Ownership: owns its
/// sources; the network's transport is the store's. Blocking and cancellation: as
/// CredentialsSource; waiting looks at the context too. Fork: as ObjectStore. Errors: Denied when
/// no source has anything, listing them and how to set keys; a source's own otherwise, which is
/// each waiter's too.
class CredentialsChain {
 public:
  CredentialsChain(CredentialsAccess access,
                   std::vector<std::unique_ptr<CredentialsSource>> sources);

  Result<Credentials> Get(const Context& context);
  /// Loads again, after the store has said that `used` has expired; without loading where another
  /// thread has done so since.
  Result<Credentials> Refresh(const Credentials& used, const Context& context);

 private:
  struct Current {
    Credentials keys;
    std::optional<int64_t> advisory_at;   ///< From when on to ask anew; absent: keys do not end.
    std::optional<int64_t> mandatory_at;  ///< From when on there is no going on without.
  };

  Result<Credentials> LoadAndPublish(std::unique_lock<std::mutex>& lock, const Context& context);
  Result<LoadedCredentials> Load(const Context& context);
  Current Keep(LoadedCredentials loaded) const;
  /// Until the load under way is over. Its error, where it failed for reasons that are not its
  /// caller's own.
  Status AwaitLoad(std::unique_lock<std::mutex>& lock, const Context& context);

  const CredentialsAccess access_;
  const std::vector<std::unique_ptr<CredentialsSource>> sources_;

  std::mutex mutex_;
  std::condition_variable loaded_;
  bool loading_ = false;
  uint64_t generation_ = 0;  // Of loads that have ended.
  bool last_succeeded_ = false;
  std::optional<Error> last_error_;  // What the last one's waiters are told.
  std::optional<Current> current_;
  CredentialsSource* active_ = nullptr;  // Whose keys they are. Touched by who loads.
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
