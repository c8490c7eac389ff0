#pragma once

/// \file
/// \brief A server of Redis' protocol inside the test's own process. For tests only.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/redis/resp.h"

namespace airfreight::redis {

/// \brief Answers each command on a free port of 127.0.0.1 as the test says.
///
/// Threads: one for each connection; the handler is called by one at a time. Ownership: the
/// destructor closes all connections and waits for the threads.
class TestServer {
 public:
  using Words = std::vector<std::string>;
  /// The reply's own bytes for a command, on the connection of this number (from 0); nothing: the
  /// connection is closed.
  using Handler = std::function<std::optional<std::string>(int connection, const Words& words)>;

  explicit TestServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Accept(); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    stopping_ = true;
    thread_.join();
    close(listener_);
    for (std::thread& peer : peers_) peer.join();
  }

  uint16_t port() const { return port_; }
  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }

  /// The names of the commands so far.
  Words commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  void Forget() {
    const std::lock_guard lock(mutex_);
    commands_.clear();
  }
  int connections() const { return connections_; }

 private:
  static constexpr int kTick = 10;  // Milliseconds after which a thread looks at stopping_.

  class Socket final : public ByteSource {
   public:
    Socket(int descriptor, const std::atomic<bool>& stopping)
        : descriptor_(descriptor), stopping_(stopping) {}
    Result<ByteView> More() override {
      while (!stopping_) {
        pollfd waiting{descriptor_, POLLIN, 0};
        if (poll(&waiting, 1, kTick) <= 0) continue;
        const ssize_t count = recv(descriptor_, buffer_.data(), buffer_.size(), 0);
        if (count <= 0) break;
        return ByteView(buffer_).first(static_cast<size_t>(count));
      }
      return Fail(ErrorCode::kUnavailable, "closed");
    }

   private:
    int descriptor_;
    const std::atomic<bool>& stopping_;
    std::array<std::byte, 65536> buffer_;
  };

  void Accept() {
    while (!stopping_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (poll(&waiting, 1, kTick) <= 0) continue;
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) continue;
      peers_.emplace_back([this, peer, number = connections_++] { Serve(peer, number); });
    }
  }

  void Serve(int peer, int number) {
    Socket source(peer, stopping_);
    ReplyReader reader(source);
    while (auto command = reader.Read()) {
      Words words;
      for (Reply& word : command->elements) words.push_back(std::move(word.text));
      std::optional<std::string> answer;
      {
        const std::lock_guard lock(mutex_);
        if (!words.empty()) commands_.push_back(words[0]);
        answer = handler_(number, words);
      }
      if (!answer || send(peer, answer->data(), answer->size(), MSG_NOSIGNAL) < 0) break;
    }
    close(peer);
  }

  Handler handler_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  mutable std::mutex mutex_;
  Words commands_;
  std::vector<std::thread> peers_;  // Of the accepting thread, until it has ended.
  std::thread thread_;
};

/// A bulk string, as it is sent.
inline std::string Bulk(std::string_view text) {
  return fmt::format("${}\r\n{}\r\n", text.size(), text);
}

/// A reply, as it is sent.
inline std::string Encode(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::kStatus:
      return "+" + reply.text + "\r\n";
    case Reply::Kind::kError:
      return "-" + reply.text + "\r\n";
    case Reply::Kind::kInteger:
      return fmt::format(":{}\r\n", reply.integer);
    case Reply::Kind::kBulk:
      return Bulk(reply.text);
    case Reply::Kind::kNil:
      return "$-1\r\n";
    case Reply::Kind::kArray:
      break;
  }
  std::string text = fmt::format("*{}\r\n", reply.elements.size());
  for (const Reply& element : reply.elements) text += Encode(element);
  return text;
}

}  // namespace airfreight::redis
