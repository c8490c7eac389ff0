#pragma once

/// \file
/// \brief A scripted HTTP server inside the test's own process. For tests only: it trusts its peer.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "http/headers.h"

namespace airfreight::testing {

/// A request as it came.
struct SeenRequest {
  std::string method;
  std::string target;
  Headers headers;
  std::string body;
  int connection = 0;  ///< 0 for the first connection that was accepted.
};

/// What is to be done with a request.
struct ScriptedReply {
  std::string bytes;   ///< Sent as they are. Empty: nothing is sent.
  bool close = false;  ///< Close the connection in good order afterwards.
  bool reset = false;  ///< Close it with a TCP reset afterwards.
  /// Answer, and reset the connection when the next request's first bytes arrive, unread: what a
  /// client sees that reuses a connection just as the server gives it up.
  bool reset_next = false;
  /// Afterwards pass bytes on between the client and this port of 127.0.0.1: a proxy's tunnel.
  uint16_t tunnel_to = 0;
  bool hang = false;  ///< Keep it open and silent until the server is destroyed.

  static ScriptedReply Http(int status, const Headers& headers, std::string_view body,
                            bool with_length = true) {
    ScriptedReply reply;
    reply.bytes = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
    for (const auto& [name, value] : headers) reply.bytes += name + ": " + value + "\r\n";
    if (with_length) reply.bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    reply.bytes += "\r\n";
    reply.bytes += body;
    return reply;
  }
};

/// \brief Listens on a free port of 127.0.0.1 and answers each request as its script says.
///
/// Threads: one that accepts, one for each connection; the script is called from those, one call at
/// a time. Ownership: the destructor closes every connection and joins every thread.
class TestServer {
 public:
  using Script = std::function<ScriptedReply(const SeenRequest&)>;

  explicit TestServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 64) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& thread : connections_) thread.join();
    close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  std::vector<SeenRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int accepted() const { return accepted_; }
  /// Returns when `count` connections have been closed by the script: their ends have then reached
  /// the client's sockets.
  void AwaitClosed(int count) const {
    while (closed_ < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  static constexpr int kTick = 10;  // Milliseconds after which a waiting thread looks at stopping_.

  void Accept() {
    while (!stopping_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (poll(&waiting, 1, kTick) <= 0) continue;
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) continue;
      const int number = accepted_++;
      connections_.emplace_back([this, peer, number] { Serve(peer, number); });
    }
  }

  // Appends what arrives; false at the end of the connection or of the test.
  bool Receive(int peer, std::string& into) {
    while (!stopping_) {
      pollfd waiting{peer, POLLIN, 0};
      if (poll(&waiting, 1, kTick) <= 0) continue;
      const size_t before = into.size();
      into.resize(before + (size_t{256} << 10));
      const ssize_t count = recv(peer, into.data() + before, into.size() - before, 0);
      into.resize(before + static_cast<size_t>(count > 0 ? count : 0));
      return count > 0;
    }
    return false;
  }

  void AwaitBytes(int peer) const {
    pollfd waiting{peer, POLLIN, 0};
    while (!stopping_ && poll(&waiting, 1, kTick) <= 0) continue;
  }

  void Serve(int peer, int number) {
    std::string buffer;
    bool open = true;
    while (open) {
      size_t end = std::string::npos;
      while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
        if (!Receive(peer, buffer)) return static_cast<void>(close(peer));
      }
      SeenRequest request = ParseHead(std::string_view(buffer).substr(0, end));
      request.connection = number;
      buffer.erase(0, end + 4);
      const size_t length = ParseDecimal(request.headers.Get("content-length")).value_or(0);
      while (buffer.size() < length) {
        if (!Receive(peer, buffer)) return static_cast<void>(close(peer));
      }
      request.body = buffer.substr(0, length);
      buffer.erase(0, length);

      ScriptedReply reply;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        reply = script_(request);
      }
      open = Send(peer, reply.bytes) && !reply.close && !reply.reset;
      if (reply.tunnel_to != 0) {
        Relay(peer, reply.tunnel_to);
        open = false;
      }
      while (reply.hang && !stopping_)
        std::this_thread::sleep_for(std::chrono::milliseconds(kTick));
      if (reply.reset_next) {
        AwaitBytes(peer);
        open = false;
      }
      if (reply.reset || reply.reset_next) {
        const linger hard{1, 0};
        setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
      }
    }
    close(peer);
    ++closed_;
  }

  void Relay(int peer, uint16_t port) {
    const int beyond = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    bool open = connect(beyond, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    while (open && !stopping_) {
      pollfd waiting[] = {{peer, POLLIN, 0}, {beyond, POLLIN, 0}};
      if (poll(waiting, 2, kTick) <= 0) continue;
      for (const auto& [from, to] : {std::pair(0, 1), {1, 0}}) {
        if (waiting[from].revents == 0) continue;
        char buffer[4096];
        const ssize_t count = recv(waiting[from].fd, buffer, sizeof(buffer), 0);
        open = open && count > 0 &&
               Send(waiting[to].fd, std::string_view(buffer, static_cast<size_t>(count)));
      }
    }
    close(beyond);
  }

  bool Send(int peer, std::string_view bytes) {
    while (!bytes.empty() && !stopping_) {
      pollfd waiting{peer, POLLOUT, 0};
      if (poll(&waiting, 1, kTick) <= 0) continue;
      const ssize_t count = send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  static SeenRequest ParseHead(std::string_view head) {
    SeenRequest request;
    const size_t line_end = head.find("\r\n");
    const std::string_view first = head.substr(0, line_end);
    const size_t blank = first.find(' ');
    request.method = first.substr(0, blank);
    request.target = first.substr(blank + 1, first.rfind(' ') - blank - 1);
    HeadParser parser;
    parser.Feed("HTTP/1.1 200 OK");
    while (head.find("\r\n") != std::string_view::npos) {
      head.remove_prefix(head.find("\r\n") + 2);
      parser.Feed(head.substr(0, head.find("\r\n")));
    }
    request.headers = parser.headers();
    return request;
  }

  Script script_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> accepted_{0};
  std::atomic<int> closed_{0};  // By the script.
  mutable std::mutex mutex_;
  std::vector<SeenRequest> requests_;
  std::vector<std::thread> connections_;
  std::thread acceptor_;
};

}  // namespace airfreight::testing
