#pragma once

/// \file
/// \brief An HTTP server that misbehaves exactly as it is told, inside the test's own process. For
/// tests only: it trusts its peer.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "http/headers.h"

namespace airfreight::faults {

/// A request as it came, in the order in which the heads arrived.
struct Request {
  std::string method;
  std::string target;  ///< Path and query, as sent.
  Headers headers;
  std::string body;        ///< Empty where the server answered without reading it.
  bool body_read = false;  ///< Whether the whole body arrived.
  int connection = 0;      ///< 0 for the first connection that was accepted.
};

/// What happens to the connection once an answer's bytes are out.
enum class Ending {
  kKeep,   ///< Open for the next request.
  kClose,  ///< Closed in good order: what was sent arrives.
  kReset,  ///< Closed with a TCP reset.
  kStall,  ///< Open and silent until the peer leaves or the server ends.
};

/// The bytes of an answer and what follows them.
struct Answer {
  std::string bytes;  ///< As they go on the wire; empty: nothing is sent.
  Ending ending = Ending::kKeep;
  /// Bytes for each segment, with a pause of a millisecond after it; 0: all at once.
  size_t trickle = 0;
};

/// \brief Who decides on answers. Called from the connections' threads, several at once.
class Responder {
 public:
  virtual ~Responder() = default;
  /// The head of request number `number` (from 0) has arrived. False: its body is not read before
  /// the answer.
  virtual bool OnHead(size_t number, const Request& request) = 0;
  /// The request is as complete as it gets.
  virtual Answer OnRequest(size_t number, const Request& request) = 0;
};

/// \brief Listens on a free port of 127.0.0.1 and answers each request as its Responder says.
///
/// Threads: one that accepts, one for each connection. Ownership: the responder must outlive it;
/// the destructor closes every connection and joins every thread. Order, never time, decides what
/// happens: nothing here waits for a clock but the pauses of Answer::trickle.
class FaultServer {
 public:
  /// Takes a port, which refuses connections until Listen.
  explicit FaultServer(Responder& responder);
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;
  ~FaultServer();

  /// Accepts connections from now on. A second call does nothing.
  void Listen();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<Request> requests() const;
  size_t request_count() const;
  int connections() const { return accepted_; }

 private:
  void Accept();
  void Serve(int peer, int connection);
  /// Appends what arrives; false at the end of the connection or of the server.
  bool Receive(int peer, std::string& into) const;
  bool Send(int peer, std::string_view bytes, size_t trickle) const;
  /// Whether `peer` is ready for `events`; false when the server ends.
  bool Await(int peer, short events) const;

  Responder& responder_;
  int listener_ = -1;
  int stop_ = -1;  // An eventfd, readable once the server ends.
  uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<std::thread> threads_;  // Of the acceptor only, until it is joined.
  std::thread acceptor_;
};

}  // namespace airfreight::faults
