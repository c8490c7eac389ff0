#pragma once

/// \file
/// \brief When what failed is tried again, and when no more.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

struct RetryOptions {
  /// No attempt starts later than this after the first. A Celery or Kubernetes worker that waits
  /// longer than a minute holds a slot that another task could use; Airflow's own retry is next.
  std::chrono::duration<double> timeout{60};
  /// Attempts in all, the first included; 0: as many as `timeout` has room for. With the waits
  /// below that is some 27 where each fails at once: the first six waits take 3.2 s on average, all
  /// later ones 2.5 s each.
  int max_attempts = 0;
  /// Upper end of the first wait; it doubles with each attempt.
  std::chrono::duration<double> base{0.1};
  /// Upper end of any wait that the store has not asked for itself.
  std::chrono::duration<double> cap{5};
};

/// What a test replaces to see the waits without waiting.
struct RetryHooks {
  std::function<Context::Clock::time_point()> now;
  /// Called with at most 100 ms at a time; the caller's `cancelled` is polled in between.
  std::function<void(std::chrono::duration<double>)> sleep;
  std::function<double()> random;  ///< Uniform in [0, 1).

  static RetryHooks Real();
};

/// \brief Repeats an attempt that failed in a way that may pass.
///
/// Waits are drawn from [0, min(cap, base * 2^n)], the "full jitter" of
/// aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter: of two hundred mapped tasks
/// that are throttled together no two come back together. A store's own `Retry-After` is the least
/// wait and the jitter comes on top. Where the next attempt could only start after the budget,
/// which is the nearer of the caller's deadline and RetryOptions::timeout, the last error is
/// returned at once, with the number of attempts and the time they took in its message. An attempt
/// that is under way is not cut short by the timeout, only by the deadline.
///
/// Threads: may be used by several at once; has no state that changes. Blocking: waits in slices of
/// at most 100 ms and polls `cancelled` between them. Errors: those of the attempt; Cancelled when
/// it was told to stop while waiting.
class Retrier {
 public:
  Retrier(RetryOptions options, RetryHooks hooks) : options_(options), hooks_(std::move(hooks)) {}

  /// What has been spent of the budget.
  struct Spent {
    Context::Clock::time_point start;
    int attempts = 0;
  };

  /// Runs `attempt` until it succeeds, fails for good or the budget is spent. Where `progress()`
  /// says after an attempt that it has got somewhere, the budget begins anew.
  template <typename Attempt, typename Progress>
  auto Run(const Context& context, const Attempt& attempt, const Progress& progress) const
      -> decltype(attempt()) {
    Spent spent{hooks_.now(), 0};
    for (;;) {
      auto result = attempt();
      if (result || !result.error().retryable) return result;
      if (progress()) spent = {hooks_.now(), 0};
      ++spent.attempts;
      if (auto last = WaitForNext(spent, std::move(result).error(), context)) {
        return Fail(*std::move(last));
      }
    }
  }
  template <typename Attempt>
  auto Run(const Context& context, const Attempt& attempt) const -> decltype(attempt()) {
    return Run(context, attempt, [] { return false; });
  }

 private:
  /// Waits before the next attempt. The error that ends it all instead, where there is none.
  std::optional<Error> WaitForNext(const Spent& spent, Error error, const Context& context) const;
  /// The wait before the next attempt; counts from 1, the number of attempts made.
  std::chrono::duration<double> Wait(int attempts, const Error& error) const;
  /// False when the wait was cancelled.
  bool Sleep(std::chrono::duration<double> wait, const Context& context) const;

  RetryOptions options_;
  RetryHooks hooks_;
};

}  // namespace airfreight
