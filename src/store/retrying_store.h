#pragma once

/// \file
/// \brief The layer that tries again.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

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

/// \brief An ObjectStore that repeats what failed in a way that may pass.
///
/// Waits are drawn from [0, min(cap, base * 2^n)], the "full jitter" of
/// aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter: of two hundred mapped tasks
/// that are throttled together no two come back together. A store's own `Retry-After` is the least
/// wait and the jitter comes on top. Where the next attempt could only start after the budget,
/// which is the nearer of the caller's deadline and RetryOptions::timeout, the last error is
/// returned at once, with the number of attempts and the time they took in its message. An attempt
/// that is under way is not cut short by the timeout, only by the deadline.
///
/// A conditional Put whose reply was lost meets its own first write when it is repeated, and
/// answers ConditionFailed. Only the caller can tell that write from another's (Freight does, by
/// the write id); this layer hands the answer up.
///
/// Threads: as the store inside; has no state of its own that changes. Ownership: shares the store.
/// Blocking: waits in slices of at most 100 ms and polls `cancelled` between them. Errors: those of
/// the store inside; Cancelled when it was told to stop while waiting.
class RetryingStore final : public ObjectStore {
 public:
  RetryingStore(std::shared_ptr<ObjectStore> inner, RetryOptions options,
                RetryHooks hooks = RetryHooks::Real());

  const std::string& root() const override { return inner_->root(); }
  std::string_view scheme() const override { return inner_->scheme(); }
  Capabilities capabilities() const override { return inner_->capabilities(); }

  Result<ObjectInfo> Put(std::string_view key, const Body& body, const PutOptions& options,
                         const Context& context) override;
  Result<GetResult> Get(std::string_view key, const GetOptions& options,
                        const Context& context) override;
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context) override {
    return inner_->Read(key, options, sink, context);
  }
  Result<std::unique_ptr<PartUpload>> StartUpload(std::string_view key, const PutOptions& options,
                                                  const Context& context) override {
    return inner_->StartUpload(key, options, context);
  }
  Result<ObjectInfo> Head(std::string_view key, const Context& context) override;
  Status Remove(std::string_view key, const Condition& condition, const Context& context) override;
  Result<ListPage> List(std::string_view prefix, std::string_view token, int limit,
                        const Context& context) override;

 private:
  /// Runs `attempt` until it succeeds, fails for good or the budget is spent.
  template <typename Attempt>
  auto Run(const Context& context, const Attempt& attempt) -> decltype(attempt());
  /// The wait before the next attempt; counts from 1, the number of attempts made.
  std::chrono::duration<double> Wait(int attempts, const Error& error) const;
  /// False when the wait was cancelled.
  bool Sleep(std::chrono::duration<double> wait, const Context& context) const;

  std::shared_ptr<ObjectStore> inner_;
  RetryOptions options_;
  RetryHooks hooks_;
};

}  // namespace airfreight
