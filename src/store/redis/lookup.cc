#include "store/redis/lookup.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "store/checks.h"

namespace airfreight::redis {
namespace {

// As for a connection: half of what Context promises.
constexpr std::chrono::milliseconds kSlice{100};

struct Question {
  std::mutex mutex;
  std::condition_variable answered;
  bool done = false;
  int error = 0;
  Addresses addresses;
};

int Ask(const std::string& host, const std::string& port, int flags, Addresses& answer) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (error == 0) answer.reset(list);
  return error;
}

tl::unexpected<Error> Unknown(const Address& address, std::string_view why) {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format("{}: {}", address.ToString(), why);
  error.retryable = true;
  return Fail(std::move(error));
}

}  // namespace

Result<Addresses> LookUp(const Address& address, const Context& context,
                         Context::Clock::time_point until) {
  const std::string port = std::to_string(address.port);
  Addresses addresses;
  if (Ask(address.host, port, AI_NUMERICHOST, addresses) == 0) return addresses;

  auto question = std::make_shared<Question>();
  try {
    std::thread([question, host = address.host, port] {
      Addresses answer;
      const int error = Ask(host, port, AI_ADDRCONFIG, answer);
      const std::lock_guard lock(question->mutex);
      question->error = error;
      question->addresses = std::move(answer);
      question->done = true;
      question->answered.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return Unknown(address, "no thread to look the host up with");
  }
  std::unique_lock lock(question->mutex);
  while (!question->answered.wait_for(lock, kSlice, [&] { return question->done; })) {
    lock.unlock();
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    if (Context::Clock::now() >= until) {
      return Unknown(address,
                     "the host was not found in time ([airfreight] redis_connect_timeout)");
    }
    lock.lock();
  }
  if (question->error != 0) return Unknown(address, gai_strerror(question->error));
  return std::move(question->addresses);
}

}  // namespace airfreight::redis
