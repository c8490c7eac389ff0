#pragma once

/// \file
/// \brief By what a request is allowed, and what every place that may hold it has in common.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/cloud/refreshing.h"
#include "store/cloud/secret.h"

namespace airfreight::azure {

/// What proves who asks.
struct Credential {
  enum class Kind {
    kSharedKey,  ///< `secret` signs each request.
    kSas,        ///< `secret` is part of each URL's query.
    kToken,      ///< `secret` is the bearer's token of Microsoft Entra.
  };
  Kind kind = Kind::kSharedKey;
  Secret secret;

  bool operator==(const Credential&) const = default;
};

using LoadedCredential = Loaded<Credential>;

/// What a source may use to find out. The referenced outlive the call.
struct CredentialTools {
  HttpTransport& network;  ///< The store's own: with its proxies and certificates.
  HttpTransport& local;    ///< For this machine's services: no proxy, short time-outs.
  const Environment& environment;
  const std::function<int64_t()>& now;  ///< Seconds since 1970.
};

/// \brief One place where a credential may be.
///
/// Threads: called by one at a time. Blocking and cancellation: may read files and ask servers,
/// within the deadline of the Context and until it is cancelled. Nothing is asked before the first
/// Load.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  /// Absent: nothing is here, ask the next. An error: something is here and is not right; no other
  /// place is asked, since using another identity than was meant would be worse.
  virtual Result<std::optional<LoadedCredential>> Load(const CredentialTools& tools,
                                                       const Context& context) = 0;
  /// For the message that says where was looked; after a Load also what was seen there.
  virtual std::string Description() const = 0;
};

/// Longest document that is read: tokens have one to a few KiB.
inline constexpr size_t kMaxTokenDocument = size_t{64} << 10;

/// The resource that tokens are for, and its scope
/// (learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory).
inline constexpr std::string_view kResource = "https://storage.azure.com/";
inline constexpr std::string_view kScope = "https://storage.azure.com/.default";

/// What Microsoft Entra
/// (learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow), a machine's
/// metadata service
/// (learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token) and
/// App Service (learn.microsoft.com/azure/app-service/overview-managed-identity) answer. `now` for
/// an end that is told in seconds from now. Internal when it is anything else; no message holds any
/// of it. `source` names the place, here and below.
Result<LoadedCredential> ParseToken(std::string_view json, std::string_view source, int64_t now);

/// The error that such a service answers with. What may pass is retryable. `secrets` are not
/// repeated, should the service have done so. `metadata_service`: a machine's own, which is away
/// with 404 or 410 while it is updated.
Error DecodeTokenError(const HttpResponse& response, std::string_view source,
                       std::initializer_list<const Secret*> secrets, int64_t now,
                       bool metadata_service = false);

}  // namespace airfreight::azure
