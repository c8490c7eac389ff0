#include "faults/fault_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace airfreight::faults {
namespace {

constexpr size_t kPiece = size_t{256} << 10;

Request ParseHead(std::string_view head) {
  Request request;
  const std::string_view first = head.substr(0, head.find("\r\n"));
  const size_t blank = first.find(' ');
  request.method = first.substr(0, blank);
  request.target = first.substr(blank + 1, first.rfind(' ') - blank - 1);
  HeadParser parser;
  parser.Feed("HTTP/1.1 200 OK");  // The parser is for answers; what follows is the same.
  while (head.find("\r\n") != std::string_view::npos) {
    head.remove_prefix(head.find("\r\n") + 2);
    parser.Feed(head.substr(0, head.find("\r\n")));
  }
  request.headers = parser.headers();
  return request;
}

}  // namespace

FaultServer::FaultServer(Responder& responder) : responder_(responder) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  stop_ = eventfd(0, EFD_CLOEXEC);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (listener_ < 0 || stop_ < 0 ||
      bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
}

FaultServer::~FaultServer() {
  const uint64_t one = 1;
  if (write(stop_, &one, sizeof(one)) != sizeof(one)) std::abort();
  if (acceptor_.joinable()) acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
  close(stop_);
}

void FaultServer::Listen() {
  if (acceptor_.joinable()) return;
  if (listen(listener_, 64) != 0) std::abort();
  acceptor_ = std::thread([this] { Accept(); });
}

std::vector<Request> FaultServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

size_t FaultServer::request_count() const {
  const std::lock_guard lock(mutex_);
  return requests_.size();
}

bool FaultServer::Await(int peer, short events) const {
  for (;;) {
    pollfd waiting[2] = {{peer, events, 0}, {stop_, POLLIN, 0}};
    if (poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents != 0) return false;
    if (waiting[0].revents != 0) return true;
  }
}

void FaultServer::Accept() {
  while (Await(listener_, POLLIN)) {
    const int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) continue;
    const int connection = accepted_++;
    threads_.emplace_back([this, peer, connection] { Serve(peer, connection); });
  }
}

bool FaultServer::Receive(int peer, std::string& into) const {
  if (!Await(peer, POLLIN)) return false;
  const size_t before = into.size();
  into.resize(before + kPiece);
  const ssize_t count = recv(peer, into.data() + before, kPiece, 0);
  into.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return count > 0;
}

bool FaultServer::Send(int peer, std::string_view bytes, size_t trickle) const {
  while (!bytes.empty()) {
    if (!Await(peer, POLLOUT)) return false;
    const size_t piece = trickle == 0 ? bytes.size() : std::min(trickle, bytes.size());
    const ssize_t count = send(peer, bytes.data(), piece, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
    if (trickle != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void FaultServer::Serve(int peer, int connection) {
  std::string buffer;
  std::string rest;
  for (bool open = true; open;) {
    size_t end = std::string::npos;
    while (open && (end = buffer.find("\r\n\r\n")) == std::string::npos) {
      open = Receive(peer, buffer);
    }
    if (!open) break;
    Request request = ParseHead(std::string_view(buffer).substr(0, end));
    request.connection = connection;
    buffer.erase(0, end + 4);
    size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = requests_.size();
      requests_.push_back(request);
    }
    if (responder_.OnHead(number, request)) {
      const size_t length = ParseDecimal(request.headers.Get("content-length")).value_or(0);
      while (open && buffer.size() < length) open = Receive(peer, buffer);
      if (!open) break;
      request.body = buffer.substr(0, length);
      request.body_read = true;
      buffer.erase(0, length);
      const std::lock_guard lock(mutex_);
      requests_[number] = request;
    }
    const Answer answer = responder_.OnRequest(number, request);
    open = Send(peer, answer.bytes, answer.trickle) && answer.ending == Ending::kKeep;
    switch (answer.ending) {
      case Ending::kKeep:
        break;
      case Ending::kClose:
        // A close with bytes unread would be a reset, and could overtake the answer.
        shutdown(peer, SHUT_WR);
        while (Receive(peer, rest)) rest.clear();
        break;
      case Ending::kReset: {
        const linger hard{1, 0};
        setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
        break;
      }
      case Ending::kStall:
        while (Receive(peer, rest)) rest.clear();
        break;
    }
  }
  close(peer);
}

}  // namespace airfreight::faults
