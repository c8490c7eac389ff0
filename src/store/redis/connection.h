#pragma once

/// \file
/// \brief One connection to a Redis server, over TCP or TLS.

#include <netdb.h>
#include <openssl/ssl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/redis/options.h"
#include "store/redis/resp.h"

namespace airfreight::redis {

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;

/// What every TLS connection of a store shares: versions, certificates, who is trusted. Invalid
/// when a file of the settings is not there or not what it should be.
Result<TlsContext> MakeTlsContext(const RedisOptions& options, const Environment& environment);

/// \brief A socket that does not block, and what is waited for on it.
///
/// Threads: one. Ownership: of the socket; what is sent stays the caller's. Fork: as ObjectStore.
/// Blocking and cancellation: while connecting, sending and receiving, in slices of 100 ms between
/// which the context of Use() is looked at. Errors: Unavailable (retryable, but for a certificate
/// that does not verify), Timeout, Cancelled; nothing more can be sent or received after one.
class Connection final : public ByteSource {
 public:
  /// Looks the host up, connects, and for TLS (`tls` not null) shakes hands and checks who it is.
  static Result<std::unique_ptr<Connection>> Open(const Address& address,
                                                  const RedisOptions& options, SSL_CTX* tls,
                                                  const Context& context);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Whose time the following calls take; outlives them.
  void Use(const Context& context);
  Status Send(const std::vector<ByteView>& pieces);
  Result<ByteView> More() override;
  /// As More, but only what is there already: for what the server said before it closed.
  Result<ByteView> Rest();

  /// Whether the server has closed it, or has said what no one asked for, while it lay idle.
  bool IsStale() const;
  uint64_t received() const { return received_; }

 private:
  Connection(const Address& address, const RedisOptions& options);

  Status Connect(const Context& context);
  Status ConnectTo(const addrinfo& where, Context::Clock::time_point until);
  Status Handshake(SSL_CTX* tls, Context::Clock::time_point until);
  Status SendPlain(const std::vector<ByteView>& pieces);
  Status SendTls(const std::vector<ByteView>& pieces);
  Status WriteTls(ByteView bytes);
  Result<ByteView> Receive(bool wait);
  /// Waits for the socket; `until` is the end of what is under way, said as `limit`.
  Status Wait(short events, Context::Clock::time_point until, const std::string& limit);
  Status WaitIdle(short events);
  /// Asks the context, now and then.
  Status Look();
  Error Lost(std::string what, bool retryable = true) const;
  Error TlsError(int result, std::string_view during) const;

  const Address address_;
  const RedisOptions& options_;
  int socket_ = -1;
  std::unique_ptr<SSL, FreeTls> tls_;
  const Context* context_ = nullptr;
  Context::Clock::time_point last_look_;
  std::vector<std::byte> buffer_;
  uint64_t received_ = 0;
};

}  // namespace airfreight::redis
