#pragma once

/// \file
/// \brief What every place that may hold credentials has in common.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/cloud/refreshing.h"
#include "store/cloud/secret.h"
#include "store/s3/credentials/process.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// The `service_code` of the error for a profile, or a metadata service, of a kind that only AWS's
/// own SDK speaks (a sign-in in a browser, a code from a device): for whoever can ask that instead.
/// The error's code is Unsupported.
inline constexpr std::string_view kForeignCredentials = "ForeignCredentials";

/// Unsupported, as kForeignCredentials has it: `whose` is the place, `kind` what it asks for.
tl::unexpected<Error> ForeignCredentials(std::string_view whose, std::string_view kind);

using LoadedCredentials = Loaded<Credentials>;

/// Absent where neither key is there. Invalid when one is missing or holds what no header may;
/// `source` names the place in the message.
Result<std::optional<Credentials>> MakeCredentials(const std::optional<std::string>& access_key_id,
                                                   const std::optional<std::string>& secret,
                                                   const std::optional<std::string>& session_token,
                                                   std::string_view source);

/// What a source may use to find out. The referenced outlive the call.
struct CredentialsTools {
  HttpTransport& network;  ///< The store's own: with its proxies and certificates.
  HttpTransport& local;    ///< For this machine's services: no proxy, short time-outs.
  const Environment& environment;
  const std::function<int64_t()>& now;  ///< Seconds since 1970.
  const ProcessRunner& run;
};

/// \brief One place where credentials may be.
///
/// Threads: called by one at a time. Blocking and cancellation: may read files, run a program and
/// ask servers, within the deadline of the Context and until it is cancelled. Nothing is asked
/// before the first Load.
class CredentialsSource {
 public:
  virtual ~CredentialsSource() = default;
  /// Absent: nothing is here, ask the next. An error: something is here and is not right; no other
  /// place is asked, since using another identity than was meant would be worse.
  virtual Result<std::optional<LoadedCredentials>> Load(const CredentialsTools& tools,
                                                        const Context& context) = 0;
  /// For the message that says where was looked; after a Load also what was seen there.
  virtual std::string Description() const = 0;
};

}  // namespace airfreight::s3
