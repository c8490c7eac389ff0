// held: a TCP proxy that gives each connection a bandwidth or a distance, for the benchmarks.
//
//   held TARGET_PORT [--rate BYTES_PER_SECOND] [--delay MILLISECONDS] [--window BYTES]
//
// Listens on a free port of 127.0.0.1, prints the port, relays to 127.0.0.1:TARGET_PORT until it is
// killed.
//
// --rate holds each direction of each connection to so many bytes a second, with at most 2 ms of
// them saved up. (nginx's limit_rate counts whole seconds from a request's start, so that a request
// for less than one second's worth is not held at all.)
//
// --delay makes each byte arrive so much later in each direction: half of the added round trip. A
// connection then has at most a window of bytes under way, as TCP does: ten segments at first, as
// much again for everything that arrived (slow start: datatracker.ietf.org/doc/html/rfc6928,
// rfc5681 section 3.1), until --window; and from the start again after an idle second. The first
// bytes of a connection come one round trip later still: its handshake.
//
// One thread, one epoll; edges, so that an idle connection costs nothing.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr size_t kPiece = size_t{64} << 10;
// Bytes that a lane without delay holds at most: enough that neither end ever waits for the other.
constexpr size_t kHeld = size_t{512} << 10;
constexpr double kFirstWindow = 10 * 1460;
constexpr milliseconds kIdle{1000};
constexpr double kSavedSeconds = 0.002;

struct Settings {
  double rate = 0;       // Bytes a second; 0: as fast as it goes.
  nanoseconds delay{0};  // One way.
  double window = 1 << 20;
};

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(1);
}

struct Piece {
  Time due;
  std::unique_ptr<char[]> bytes;
  size_t begin = 0;
  size_t end = 0;
};

struct Arrival {
  Time known;  // When the sender hears of it.
  size_t bytes = 0;
};

// One direction of one connection.
struct Lane {
  int from = -1;
  int to = -1;
  bool readable = true;
  bool writable = true;
  bool ended = false;  // Nothing more to read.
  bool shut = false;   // And that was passed on.
  std::deque<Piece> pieces;
  std::deque<Arrival> arrivals;
  size_t under_way = 0;  // Read and not known to have arrived.
  double window = kFirstWindow;
  double tokens = 0;
  Time refilled{};
  Time last_read{};
  nanoseconds handshake{0};
};

struct Connection {
  Lane up;
  Lane down;
  bool connected = false;
  bool broken = false;
};

class Proxy {
 public:
  Proxy(uint16_t target, const Settings& settings) : target_(target), settings_(settings) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const sockaddr_in any = Address(0);
    if (listener_ < 0 ||
        bind(listener_, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
        listen(listener_, SOMAXCONN) != 0) {
      Die("listen");
    }
    Watch(listener_, EPOLLIN);
    sockaddr_in bound{};
    socklen_t length = sizeof bound;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &length);
    std::printf("%d\n", ntohs(bound.sin_port));
    std::fflush(stdout);
  }

  void Run() {
    std::vector<epoll_event> events(256);
    for (;;) {
      const Time now = Clock::now();
      Time wake = Time::max();
      for (auto it = connections_.begin(); it != connections_.end();) {
        Connection& connection = *it->second;
        wake = std::min(
            {wake, Step(connection, connection.up, now), Step(connection, connection.down, now)});
        if (connection.broken || (connection.up.shut && connection.down.shut)) {
          Close(connection);
          it = connections_.erase(it);
        } else {
          ++it;
        }
      }
      timespec wait{};
      if (wake != Time::max()) {
        const auto left = std::max<int64_t>(0, (wake - Clock::now()) / nanoseconds(1));
        wait.tv_sec = left / 1'000'000'000;
        wait.tv_nsec = left % 1'000'000'000;
      }
      const int count = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()),
                                     wake == Time::max() ? nullptr : &wait, nullptr);
      for (int i = 0; i < count; ++i) Take(events[static_cast<size_t>(i)]);
    }
  }

 private:
  static sockaddr_in Address(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void Watch(int fd, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) Die("epoll_ctl");
  }

  void Take(const epoll_event& event) {
    if (event.data.fd == listener_) {
      while (Accept()) continue;
      return;
    }
    const auto found = by_fd_.find(event.data.fd);
    if (found == by_fd_.end()) return;
    Connection& connection = *found->second;
    for (Lane* lane : {&connection.up, &connection.down}) {
      const bool reads = lane->from == event.data.fd;
      if (reads && (event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        lane->readable = true;
      }
      if (!reads && (event.events & EPOLLOUT) != 0) lane->writable = true;
    }
    if ((event.events & EPOLLERR) != 0) connection.broken = true;
  }

  bool Accept() {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return false;
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Address(target_);
    if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
        errno != EINPROGRESS) {
      Die("connect");
    }
    for (int fd : {client, server}) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    auto connection = std::make_shared<Connection>();
    connection->up.from = connection->down.to = client;
    connection->up.to = connection->down.from = server;
    connection->up.writable = false;  // Until it is connected.
    connection->up.handshake = 2 * settings_.delay;
    connection->up.refilled = connection->down.refilled = Clock::now();
    by_fd_[client] = by_fd_[server] = connection;
    connections_[client] = connection;
    Watch(client, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    Watch(server, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    return true;
  }

  void Close(Connection& connection) {
    for (int fd : {connection.up.from, connection.up.to}) {
      by_fd_.erase(fd);
      close(fd);
    }
  }

  double Limit(const Lane& lane) const {
    return settings_.delay.count() > 0 ? lane.window : static_cast<double>(kHeld);
  }

  // Moves what can be moved now; when to look again.
  Time Step(Connection& connection, Lane& lane, Time now) {
    while (!lane.arrivals.empty() && lane.arrivals.front().known <= now) {
      const size_t bytes = lane.arrivals.front().bytes;
      lane.under_way -= bytes;
      lane.window = std::min(settings_.window, lane.window + static_cast<double>(bytes));
      lane.arrivals.pop_front();
    }
    Read(connection, lane, now);
    Time wake = Write(connection, lane, now);
    if (!lane.arrivals.empty()) wake = std::min(wake, lane.arrivals.front().known);
    return wake;
  }

  void Read(Connection& connection, Lane& lane, Time now) {
    while (lane.readable && !lane.ended && static_cast<double>(lane.under_way) < Limit(lane)) {
      if (lane.under_way == 0 && now - lane.last_read > kIdle) lane.window = kFirstWindow;
      const auto room = static_cast<size_t>(Limit(lane) - static_cast<double>(lane.under_way));
      Piece piece;
      const size_t most = std::min(kPiece, std::max<size_t>(room, 1));
      piece.bytes.reset(new char[most]);
      const ssize_t got = read(lane.from, piece.bytes.get(), most);
      if (got > 0) {
        piece.end = static_cast<size_t>(got);
        piece.due = now + settings_.delay + lane.handshake;
        lane.handshake = nanoseconds(0);
        lane.under_way += piece.end;
        lane.last_read = now;
        lane.pieces.push_back(std::move(piece));
      } else if (got == 0) {
        lane.ended = true;
      } else if (errno == EAGAIN) {
        lane.readable = false;
      } else if (errno != EINTR) {
        connection.broken = true;
        return;
      }
    }
  }

  Time Write(Connection& connection, Lane& lane, Time now) {
    if (settings_.rate > 0) {
      const double passed = duration<double>(now - lane.refilled).count();
      lane.tokens = std::min(lane.tokens + passed * settings_.rate,
                             std::max(settings_.rate * kSavedSeconds, double{kPiece}));
      lane.refilled = now;
    }
    while (lane.writable && !lane.pieces.empty()) {
      Piece& piece = lane.pieces.front();
      if (piece.due > now) return piece.due;
      const size_t bytes = piece.end - piece.begin;
      if (settings_.rate > 0 && lane.tokens < static_cast<double>(bytes)) {
        const double missing = static_cast<double>(bytes) - lane.tokens;
        return now + duration_cast<nanoseconds>(duration<double>(missing / settings_.rate)) +
               std::chrono::microseconds(50);
      }
      const ssize_t put = send(lane.to, piece.bytes.get() + piece.begin, bytes, MSG_NOSIGNAL);
      if (put < 0) {
        if (errno == EAGAIN || errno == ENOTCONN) {
          lane.writable = false;
        } else if (errno != EINTR) {
          connection.broken = true;
          return Time::max();
        }
        continue;
      }
      const auto sent = static_cast<size_t>(put);
      lane.tokens -= settings_.rate > 0 ? static_cast<double>(sent) : 0;
      piece.begin += sent;
      if (settings_.delay.count() > 0) {
        lane.arrivals.push_back({now + settings_.delay, sent});
      } else {
        lane.under_way -= sent;
      }
      if (piece.begin == piece.end) lane.pieces.pop_front();
    }
    if (lane.ended && lane.pieces.empty() && !lane.shut) {
      shutdown(lane.to, SHUT_WR);
      lane.shut = true;
    }
    // Something was freed: there may be more to read at once.
    const bool more =
        lane.readable && !lane.ended && static_cast<double>(lane.under_way) < Limit(lane);
    return more ? now : Time::max();
  }

  const uint16_t target_;
  const Settings settings_;
  int epoll_ = -1;
  int listener_ = -1;
  std::map<int, std::shared_ptr<Connection>> connections_;  // By the client's descriptor.
  std::map<int, std::shared_ptr<Connection>> by_fd_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: held TARGET_PORT [--rate B/s] [--delay ms] [--window B]\n");
    return 2;
  }
  Settings settings;
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const double value = std::atof(words[i + 1]);
    if (name == "--rate") settings.rate = value;
    if (name == "--delay")
      settings.delay = duration_cast<nanoseconds>(duration<double, std::milli>(value));
    if (name == "--window") settings.window = value;
  }
  std::signal(SIGPIPE, SIG_IGN);
  Proxy(static_cast<uint16_t>(std::atoi(words[1])), settings).Run();
}
