#pragma once

/// \file
/// \brief HttpTransport over libcurl.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "airfreight/result.h"
#include "http/ca_bundle.h"
#include "http/environment.h"
#include "http/transport.h"

namespace airfreight {

/// What the settings are called, for messages; empty: they are none of the user's.
struct TransportNames {
  std::string ca_bundle;    ///< "[airfreight] s3_ca_bundle", and so on.
  std::string ca_variable;  ///< See CaSettings.
  std::string connect_timeout;
  std::string idle_timeout;
};

struct CurlTransportOptions {
  TransportNames names;
  /// A file or folder of CA certificates; empty: see FindCaBundle.
  std::string ca_bundle;
  /// Whether the server's certificate and name are checked. Off only for experiments.
  bool verify = true;
  /// For name look-up, TCP and TLS together. As botocore's and the AWS SDKs', which wait 1–60 s: a
  /// host that does not answer in ten seconds is not there.
  std::chrono::milliseconds connect_timeout{10'000};
  /// Without a byte moved in either direction. Counted on bytes, so that a slow line that still
  /// moves is left alone (aws/aws-sdk-js-v3#6805). 60 s is what botocore waits.
  std::chrono::seconds idle_timeout{60};
  /// An idle connection is not used again after this. Below the five seconds after which Apache
  /// httpd and Node close theirs: a request on a closing connection costs a round trip and a doubt.
  std::chrono::seconds max_idle_age{4};
  std::string user_agent = "airfreight";
  /// For a service of this machine, whose time-outs are no settings: never through a proxy, which
  /// could not reach it and is not to see its secrets.
  bool local_service = false;
};

/// \brief HTTP/1.1 over TCP or TLS ≥ 1.2, with connections kept open between requests.
///
/// Each request takes a libcurl handle, with the connections that belong to it, from a small pool
/// and puts it back: the last one used comes first, being the warmest. libcurl's multi interface
/// drives each of them, since its easy one looks at cancellation only once a second.
///
/// A request that fails on a kept connection before a byte of an answer has come is sent once more,
/// at once, over a new one: the server closed the old one while it lay idle. The server may have
/// seen the first all the same; what that means is for who knows the request.
///
/// Threads: Perform may be called from several at once; each then has its own connection. The pool
/// is guarded by a mutex that no one holds while blocking. Ownership: keeps nothing of a request.
/// Fork: a child must neither use nor destroy its parent's (`src/base/fork_local.h`). Nothing is
/// made when the library is loaded; libcurl is initialised by the first request.
/// Blocking and cancellation: as HttpTransport. Redirects are not followed; proxies are taken from
/// the environment (FindProxy). Errors: as HttpTransport; a certificate
/// that does not verify is Unavailable, not retryable, and names the CA file.
class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(CurlTransportOptions options,
                         Environment environment = Environment::OfProcess());
  ~CurlTransport() override;

  Result<HttpResponse> Perform(const HttpRequest& request, const Context& context,
                               ResponseSink* sink) override;

 private:
  struct Handle;
  struct Transfer;

  Result<std::unique_ptr<Handle>> Take();
  static Result<std::unique_ptr<Handle>> NewHandle();
  void Return(std::unique_ptr<Handle> handle);
  Result<CaLocation> CaBundle();
  std::chrono::seconds IdleTimeout(const HttpRequest& request) const;
  Status Configure(Handle& handle, Transfer& transfer);
  Result<HttpResponse> Run(Handle& handle, Transfer& transfer, const Context& context);
  static bool LostReuse(const Handle& handle, const Transfer& transfer, int curl_code);
  Error Explain(const Handle& handle, const Transfer& transfer, int curl_code) const;

  const CurlTransportOptions options_;
  const Environment environment_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_;  // The last one was used last.
  std::unique_ptr<Result<CaLocation>> ca_;     // Looked for once, by the first https request.
};

}  // namespace airfreight
