#include "store/retrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "base/random.h"

namespace airfreight {
namespace {

using Seconds = std::chrono::duration<double>;

// Half of what Context promises between two polls of `cancelled`.
constexpr Seconds kSlice{0.1};

// Uniform in [0, 1). Asks the kernel each time: a generator with state of its own would be copied
// by fork, and all tasks of one worker would wait for the same times.
double Random() {
  constexpr size_t kDigits = 13;  // 52 bits, as many as a double takes.
  const auto hex = RandomHex128();
  uint64_t bits = 0;
  if (!hex || std::from_chars(hex->data(), hex->data() + kDigits, bits, 16).ec != std::errc()) {
    return 0.5;  // No generator: the middle wait.
  }
  return std::ldexp(static_cast<double>(bits), -4 * static_cast<int>(kDigits));
}

}  // namespace

RetryHooks RetryHooks::Real() {
  return {
      [] { return Context::Clock::now(); },
      [](Seconds wait) { std::this_thread::sleep_for(wait); },
      [] { return Random(); },
  };
}

Seconds Retrier::Wait(int attempts, const Error& error) const {
  const Seconds ceiling = std::min(options_.cap, options_.base * std::exp2(attempts - 1));
  // A NaN becomes 0 as well.
  return Seconds(std::max(0.0, error.retry_after_seconds)) + ceiling * hooks_.random();
}

bool Retrier::Sleep(Seconds wait, const Context& context) const {
  while (wait > Seconds(0)) {
    if (context.IsCancelled()) return false;
    const Seconds slice = std::min(wait, kSlice);
    hooks_.sleep(slice);
    wait -= slice;
  }
  return !context.IsCancelled();
}

std::optional<Error> Retrier::WaitForNext(const Spent& spent, Error error,
                                          const Context& context) const {
  // Of the two ends the nearer one; none where both are absent or beyond what a clock can say.
  const auto ends_before = [&](Context::Clock::time_point moment) {
    if (context.deadline && moment >= *context.deadline) return true;
    return Seconds(moment - spent.start) > options_.timeout;
  };
  const Seconds wait = Wait(spent.attempts, error);
  const auto now = hooks_.now();
  // A store may ask for a wait of years; it is compared before it becomes a time point.
  const bool enough = options_.max_attempts > 0 && spent.attempts >= options_.max_attempts;
  const bool last = enough || wait > options_.timeout ||
                    ends_before(now + std::chrono::duration_cast<Context::Clock::duration>(wait));
  if (last) {
    error.message +=
        fmt::format(" (tried {} time{} in {:.1f} s)", spent.attempts,
                    spent.attempts == 1 ? "" : "s", Seconds(now - spent.start).count());
    return error;
  }
  if (!Sleep(wait, context)) {
    error.code = ErrorCode::kCancelled;
    error.retryable = false;
    error.message = fmt::format("the caller asked to stop between attempts; after {} of them: {}",
                                spent.attempts, error.message);
    return error;
  }
  return std::nullopt;
}

}  // namespace airfreight
