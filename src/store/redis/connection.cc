#include "store/redis/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/fork_guard.h"
#include "base/sigpipe_guard.h"
#include "http/ca_bundle.h"
#include "store/checks.h"
#include "store/redis/lookup.h"

namespace airfreight::redis {
namespace {

using Clock = Context::Clock;
using std::chrono::milliseconds;

// Context promises a look at cancellation every 200 ms: half for the wait, half for what may lie
// between two looks of a busy transfer, where asking (which may take Python's lock) is not free.
constexpr milliseconds kPollInterval{100};
// What one call receives at most. Fits the processor's cache, from where the sink takes it.
constexpr size_t kReceiveBuffer = size_t{256} << 10;
// Pieces in one call of sendmsg (IOV_MAX is 1024 on Linux and macOS).
constexpr size_t kPiecesAtOnce = 64;
// A request up to this goes into one TLS record or few, instead of one for each piece.
constexpr size_t kJoinedTls = size_t{64} << 10;
#ifdef MSG_NOSIGNAL
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;  // macOS: SO_NOSIGPIPE on the socket.
#endif

std::string Words(int error) { return std::generic_category().message(error); }

// The first of OpenSSL's errors, which is the reason; the others are where it was met.
std::string OpenSslWords() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

tl::unexpected<Error> BadFile(std::string_view setting, std::string_view path) {
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} names {}, which cannot be used ({}); right is a file in PEM form",
                          SettingName("redis", setting), Quoted(path), OpenSslWords()));
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

Result<TlsContext> MakeTlsContext(const RedisOptions& options, const Environment& environment) {
  const ForkGuard guard;  // OpenSSL's own set-up is part of it at first use.
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return Fail(ErrorCode::kTooLarge, "no memory for TLS");
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
#ifdef SSL_OP_IGNORE_UNEXPECTED_EOF
  // A server that is killed says no good-bye; what is missing then is known by its length.
  SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
#endif
  if (options.verify) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (!options.ca_bundle.empty() && !environment.readable(options.ca_bundle)) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("{} names {}, which cannot be read: it has to be a file of PEM "
                              "certificates",
                              SettingName("redis", "ca_bundle"), Quoted(options.ca_bundle)));
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(
        const CaLocation ca,
        FindCaBundle({options.ca_bundle, SettingName("redis", "ca_bundle"), ""}, environment));
    const int loaded = ca.is_directory ? SSL_CTX_load_verify_dir(context.get(), ca.path.c_str())
                                       : SSL_CTX_load_verify_file(context.get(), ca.path.c_str());
    if (loaded != 1) return BadFile("ca_bundle", ca.path);
  }
  if (!options.certfile.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context.get(), options.certfile.c_str()) != 1) {
      return BadFile("certfile", options.certfile);
    }
    // A file may hold both, as Python's ssl takes it.
    const std::string& key = options.keyfile.empty() ? options.certfile : options.keyfile;
    if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) {
      return BadFile(options.keyfile.empty() ? "certfile" : "keyfile", key);
    }
  }
  return context;
}

Connection::Connection(const Address& address, const RedisOptions& options)
    : address_(address), options_(options), last_look_(Clock::now()) {}

Connection::~Connection() {
  // Without a good-bye of TLS: nothing may be said on a connection that failed, and Redis wants
  // none.
  tls_.reset();
  if (socket_ >= 0) close(socket_);
}

void Connection::Use(const Context& context) {
  context_ = &context;
  last_look_ = Clock::now();
}

Error Connection::Lost(std::string what, bool retryable) const {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format("{}: {}", address_.ToString(), what);
  error.retryable = retryable;
  return error;
}

Error Connection::TlsError(int result, std::string_view during) const {
  const int kind = SSL_get_error(tls_.get(), result);
  const long verified = SSL_get_verify_result(tls_.get());
  if (verified != X509_V_OK && options_.verify) {
    ERR_clear_error();
    return Lost(
        fmt::format("the server's certificate does not verify: {}. If a private CA signed "
                    "it, set {} to a file with that CA (ssl_ca_certs in the Airflow "
                    "connection)",
                    X509_verify_cert_error_string(verified), SettingName("redis", "ca_bundle")),
        false);
  }
  if (kind == SSL_ERROR_ZERO_RETURN) return Lost("the server closed the connection");
  if (kind == SSL_ERROR_SYSCALL) {
    const int error = errno;
    ERR_clear_error();
    return Lost(error == 0 ? fmt::format("the server closed the connection while {}", during)
                           : fmt::format("{} failed: {}", during, Words(error)));
  }
  const std::string reason = OpenSslWords();
  return Lost(fmt::format("{} failed: TLS: {}{}", during, reason,
                          reason == "wrong version number"
                              ? ". Does the server speak TLS at this port? Without, the store "
                                "begins with redis://"
                              : ""));
}

Status Connection::Look() {
  const auto now = Clock::now();
  if (context_->deadline && now >= *context_->deadline) {
    Error error = Lost("not complete at the deadline");
    error.code = ErrorCode::kTimeout;
    return Fail(std::move(error));
  }
  if (now - last_look_ < kPollInterval) return {};
  last_look_ = now;
  if (context_->IsCancelled()) return Fail(ErrorCode::kCancelled, "the caller ended the transfer");
  return {};
}

Status Connection::Wait(short events, Clock::time_point until, const std::string& limit) {
  for (;;) {
    AIRFREIGHT_RETURN_IF_ERROR(Look());
    const auto now = Clock::now();
    if (now >= until) return Fail(Lost(limit));
    auto slice = std::min(kPollInterval, std::chrono::ceil<milliseconds>(until - now));
    if (context_->deadline) {
      slice = std::min(slice, std::chrono::ceil<milliseconds>(*context_->deadline - now));
    }
    pollfd waiting{socket_, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<int64_t>(slice.count(), 0)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Fail(Lost(Words(errno)));
  }
}

Status Connection::WaitIdle(short events) {
  return Wait(events, Clock::now() + options_.idle_timeout,
              fmt::format("not a byte moved for {:.1f} s ({})",
                          std::chrono::duration<double>(options_.idle_timeout).count(),
                          SettingName("redis", "idle_timeout")));
}

Status Connection::ConnectTo(const addrinfo& where, Clock::time_point until) {
  if (socket_ >= 0) close(socket_);
  socket_ = socket(where.ai_family, where.ai_socktype, where.ai_protocol);
  if (socket_ < 0) return Fail(Lost(Words(errno)));
  // In two steps, as macOS has it; a program that is started in between inherits a socket.
  if (fcntl(socket_, F_SETFD, FD_CLOEXEC) != 0 ||
      fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK) != 0) {
    return Fail(Lost(Words(errno)));
  }
  const int on = 1;
  // Commands are small and waited for. Routers forget a connection that says nothing for minutes.
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
#ifdef SO_NOSIGPIPE
  setsockopt(socket_, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#endif
  if (connect(socket_, where.ai_addr, where.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return Fail(Lost(Words(errno)));
  AIRFREIGHT_RETURN_IF_ERROR(
      Wait(POLLOUT, until,
           fmt::format("no connection within {} ms ({})", options_.connect_timeout.count(),
                       SettingName("redis", "connect_timeout"))));
  int error = 0;
  socklen_t length = sizeof(error);
  if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return Fail(Lost(Words(error)));
  return {};
}

Status Connection::Handshake(SSL_CTX* context, Clock::time_point until) {
  const SigPipeGuard guard;
  tls_.reset(SSL_new(context));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), socket_) != 1) {
    return Fail(ErrorCode::kTooLarge, "no memory for TLS");
  }
  const bool numeric = IsAddress(address_.host);
  if (!numeric) SSL_set_tlsext_host_name(tls_.get(), address_.host.c_str());
  if (options_.verify && options_.check_hostname) {
    X509_VERIFY_PARAM* const checks = SSL_get0_param(tls_.get());
    const int set = numeric ? X509_VERIFY_PARAM_set1_ip_asc(checks, address_.host.c_str())
                            : X509_VERIFY_PARAM_set1_host(checks, address_.host.c_str(), 0);
    if (set != 1) return Fail(ErrorCode::kInternal, "TLS takes no name to check");
  }
  for (;;) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_connect(tls_.get());
    if (result == 1) return {};
    const int kind = SSL_get_error(tls_.get(), result);
    if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE) {
      return Fail(TlsError(result, "the TLS handshake"));
    }
    AIRFREIGHT_RETURN_IF_ERROR(Wait(
        kind == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until,
        fmt::format("no TLS handshake within {} ms ({}). Does the server speak TLS at this "
                    "port?",
                    options_.connect_timeout.count(), SettingName("redis", "connect_timeout"))));
  }
}

Result<std::unique_ptr<Connection>> Connection::Open(const Address& address,
                                                     const RedisOptions& options, SSL_CTX* tls,
                                                     const Context& context) {
  std::unique_ptr<Connection> connection(new Connection(address, options));
  connection->Use(context);
  const auto until = Clock::now() + options.connect_timeout;
  AIRFREIGHT_ASSIGN_OR_RETURN(const Addresses addresses, LookUp(address, context, until));
  Status connected;
  for (const addrinfo* where = addresses.get(); where != nullptr; where = where->ai_next) {
    connected = connection->ConnectTo(*where, until);
    if (connected || connected.error().code != ErrorCode::kUnavailable) break;
  }
  if (!connected) return Fail(std::move(connected).error());
  if (tls != nullptr) AIRFREIGHT_RETURN_IF_ERROR(connection->Handshake(tls, until));
  return connection;
}

Status Connection::Send(const std::vector<ByteView>& pieces) {
  return tls_ != nullptr ? SendTls(pieces) : SendPlain(pieces);
}

Status Connection::SendPlain(const std::vector<ByteView>& pieces) {
  size_t next = 0;    // The first piece that has not been sent,
  size_t offset = 0;  // and how much of it has.
  while (next < pieces.size()) {
    std::array<iovec, kPiecesAtOnce> parts{};
    size_t count = 0;
    for (size_t i = next; i < pieces.size() && count < parts.size(); ++i, ++count) {
      const ByteView rest = i == next ? pieces[i].subspan(offset) : pieces[i];
      parts[count] = {const_cast<std::byte*>(rest.data()), rest.size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    const ssize_t sent = sendmsg(socket_, &message, kNoSignal);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        return Fail(Lost(fmt::format("sending failed: {}", Words(errno))));
      }
      AIRFREIGHT_RETURN_IF_ERROR(WaitIdle(POLLOUT));
      continue;
    }
    auto done = static_cast<size_t>(sent) + offset;
    while (next < pieces.size() && done >= pieces[next].size()) done -= pieces[next++].size();
    offset = done;
    AIRFREIGHT_RETURN_IF_ERROR(Look());
  }
  return {};
}

Status Connection::SendTls(const std::vector<ByteView>& pieces) {
  const SigPipeGuard guard;
  // Text and small values together, what is large as it lies.
  std::string joined;
  const auto flush = [&]() -> Status {
    if (joined.empty()) return {};
    AIRFREIGHT_RETURN_IF_ERROR(WriteTls(AsBytes(joined)));
    joined.clear();
    return {};
  };
  for (const ByteView piece : pieces) {
    if (piece.size() <= kJoinedTls - joined.size()) {
      joined += AsText(piece);
      continue;
    }
    AIRFREIGHT_RETURN_IF_ERROR(flush());
    if (piece.size() <= kJoinedTls) {
      joined += AsText(piece);
    } else {
      AIRFREIGHT_RETURN_IF_ERROR(WriteTls(piece));
    }
  }
  return flush();
}

Status Connection::WriteTls(ByteView bytes) {
  while (!bytes.empty()) {
    ERR_clear_error();
    errno = 0;
    size_t sent = 0;
    const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &sent);
    if (result == 1) {
      bytes = bytes.subspan(sent);
      AIRFREIGHT_RETURN_IF_ERROR(Look());
      continue;
    }
    const int kind = SSL_get_error(tls_.get(), result);
    if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE) {
      return Fail(TlsError(result, "sending"));
    }
    AIRFREIGHT_RETURN_IF_ERROR(WaitIdle(kind == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT));
  }
  return {};
}

Result<ByteView> Connection::Receive(bool wait) {
  buffer_.resize(kReceiveBuffer);
  for (;;) {
    short events = POLLIN;
    if (tls_ == nullptr) {
      const ssize_t count = recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (count > 0) {
        received_ += static_cast<uint64_t>(count);
        return ByteView(buffer_).first(static_cast<size_t>(count));
      }
      if (count == 0) return Fail(Lost("the server closed the connection"));
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        return Fail(Lost(fmt::format("receiving failed: {}", Words(errno))));
      }
    } else {
      const SigPipeGuard guard;  // A renegotiation writes.
      ERR_clear_error();
      errno = 0;
      size_t count = 0;
      const int result = SSL_read_ex(tls_.get(), buffer_.data(), buffer_.size(), &count);
      if (result == 1) {
        received_ += count;
        return ByteView(buffer_).first(count);
      }
      const int kind = SSL_get_error(tls_.get(), result);
      if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE) {
        return Fail(TlsError(result, "receiving"));
      }
      if (kind == SSL_ERROR_WANT_WRITE) events = POLLOUT;
    }
    if (!wait) return Fail(Lost("nothing more is there"));
    AIRFREIGHT_RETURN_IF_ERROR(WaitIdle(events));
  }
}

Result<ByteView> Connection::More() {
  AIRFREIGHT_RETURN_IF_ERROR(Look());
  return Receive(true);
}

Result<ByteView> Connection::Rest() { return Receive(false); }

bool Connection::IsStale() const {
  pollfd state{socket_, POLLIN, 0};
  return poll(&state, 1, 0) != 0;  // Readable: closed, or out of step.
}

}  // namespace airfreight::redis
