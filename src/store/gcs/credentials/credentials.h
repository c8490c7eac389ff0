#pragma once

/// \file
/// \brief The token that requests carry, kept fresh, and the order in which one is looked for.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/cloud/refreshing.h"
#include "store/gcs/credentials/documents.h"
#include "store/gcs/options.h"

namespace airfreight::gcs {

/// What finding a token may use.
struct CredentialsTools {
  HttpTransport* network = nullptr;      ///< The store's own; outlives the source.
  std::unique_ptr<HttpTransport> local;  ///< For the metadata server: no proxy, short time-outs.
  Environment environment;
  std::function<int64_t()> now;  ///< Seconds since 1970.
};

/// \brief A token for the store's requests, in the order of Google's libraries
/// (google.aip.dev/auth/4110).
///
/// No token where the settings say `anonymous`, nor at an emulator where they name none; then the
/// token, the key or the file of the settings or the connection; the file that
/// GOOGLE_APPLICATION_CREDENTIALS names; what `gcloud auth application-default login` has left; the
/// metadata server of Compute Engine, GKE and Cloud Run (GCE_METADATA_HOST; not where NO_GCE_CHECK
/// is `true`). What is there and wrong is an error, never a reason to go on with another identity.
///
/// Threads, blocking, fork: as Refreshing. Errors: Denied when there is none, listing where was
/// looked; Unsupported with kForeignCredentials for a kind that is not ours; else what the place
/// says.
class TokenSource {
 public:
  TokenSource(const GcsOptions& options, bool emulator, CredentialsTools tools);

  Result<Secret> Get(const Context& context) { return token_.Get(context); }
  /// Loads again, after the store has refused `used`.
  Result<Secret> Refresh(const Secret& used, const Context& context) {
    return token_.Refresh(used, context);
  }

 private:
  Result<LoadedToken> Load(const Context& context);
  Result<LoadedToken> LoadDocument(std::string_view json, std::string_view source,
                                   const Context& context);
  Result<LoadedToken> LoadFile(const std::string& path, std::string_view source,
                               const Context& context);
  Result<LoadedToken> RefreshUser(const KeyDocument& key, std::string_view source,
                                  const Context& context);
  /// Absent where there is no such server.
  Result<std::optional<LoadedToken>> AskMetadata(const Context& context);

  const GcsOptions options_;
  const bool none_;
  const CredentialsTools tools_;
  Refreshing<Secret> token_;
};

}  // namespace airfreight::gcs
