#pragma once

/// \file
/// \brief Keys or tokens that end, asked for anew before they do, by one thread for all.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/checks.h"

namespace airfreight {

/// Keys, and until when they are good.
template <typename Keys>
struct Loaded {
  Keys keys;
  std::optional<int64_t> expires_unix;  ///< Absent: until someone takes them back.
};

/// When keys that end are asked for anew, in seconds before their end, as botocore has it
/// (credentials.py, RefreshableCredentials): from `advisory` on by one of those who need them,
/// while a failure does no harm yet; from `mandatory` on by whoever needs them, and the others
/// wait.
struct RefreshWindow {
  int64_t advisory = 0;
  int64_t mandatory = 0;
};

/// 15 and 5 minutes of an hour; the same shares of a life that is shorter, so that a session of a
/// minute is not asked for anew with each request. `lifetime` in seconds.
inline RefreshWindow RefreshWindowOf(int64_t lifetime) {
  constexpr int64_t kMaxAdvisory = int64_t{15} * 60;
  constexpr int64_t kMaxMandatory = int64_t{5} * 60;
  return {std::min(kMaxAdvisory, lifetime / 4), std::min(kMaxMandatory, lifetime / 12)};
}

/// \brief Holds keys of one kind (comparable, copyable) and loads new ones before they end.
///
/// Threads: Get and Refresh may be called from several at once; one of them loads, with no mutex
/// held, while the others go on with keys that are still good or wait for it. Blocking and
/// cancellation: as the function that loads; waiting looks at the context too. Fork: as
/// ObjectStore. Errors: those of the function that loads, which are each waiter's too, but for
/// Cancelled and Timeout, which are their caller's own.
template <typename Keys>
class Refreshing {
 public:
  using Load = std::function<Result<Loaded<Keys>>(const Context&)>;

  /// \param now seconds since 1970.
  Refreshing(Load load, std::function<int64_t()> now)
      : load_(std::move(load)), now_(std::move(now)) {}

  Result<Keys> Get(const Context& context) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (current_) {
        const int64_t now = now_();
        const bool must = current_->mandatory_at && now >= *current_->mandatory_at;
        const bool may = current_->advisory_at && now >= *current_->advisory_at;
        if (!must && (!may || loading_)) return current_->keys;
      }
      if (!loading_) return LoadAndPublish(lock, context);
      AIRFREIGHT_RETURN_IF_ERROR(AwaitLoad(lock, context));
    }
  }

  /// Loads again, after the store has said that `used` has expired; without loading where another
  /// thread has done so since.
  Result<Keys> Refresh(const Keys& used, const Context& context) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (current_ && !(current_->keys == used)) return current_->keys;
      if (!loading_) {
        // Refused by the store: from now on no one goes on with them.
        current_.reset();
        return LoadAndPublish(lock, context);
      }
      const uint64_t before = generation_;
      AIRFREIGHT_RETURN_IF_ERROR(AwaitLoad(lock, context));
      // The same again: nothing else is to be had.
      if (generation_ != before && last_succeeded_ && current_) return current_->keys;
    }
  }

 private:
  struct Current {
    Keys keys;
    std::optional<int64_t> advisory_at;   // From when on to ask anew; absent: keys do not end.
    std::optional<int64_t> mandatory_at;  // From when on there is no going on without.
  };

  // After an advisory refresh that failed: often enough within its ten minutes, rare enough not to
  // slow down every request while the service is away.
  static constexpr int64_t kNextAdvisory = 60;
  // Of keys that had ended when they came.
  static constexpr int64_t kAfterEnded = int64_t{5} * 60;
  // Context promises a look at cancellation every 200 ms.
  static constexpr std::chrono::milliseconds kPollInterval{100};

  // A failure of the caller's making, which says nothing to others.
  static bool IsOwn(const Error& error) {
    return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kTimeout;
  }

  Result<Keys> LoadAndPublish(std::unique_lock<std::mutex>& lock, const Context& context) {
    loading_ = true;
    lock.unlock();
    Result<Loaded<Keys>> loaded = load_(context);
    lock.lock();
    loading_ = false;
    ++generation_;
    last_error_.reset();
    last_succeeded_ = loaded.has_value();
    if (loaded) {
      current_ = Keep(*std::move(loaded));
    } else if (current_ && (!current_->mandatory_at || now_() < *current_->mandatory_at)) {
      // There is time left to try again.
      current_->advisory_at = now_() + kNextAdvisory;
    } else {
      last_error_ = std::move(loaded).error();
    }
    loaded_.notify_all();
    if (last_error_) return Fail(*last_error_);
    return current_->keys;
  }

  Current Keep(Loaded<Keys> loaded) const {
    Current current{std::move(loaded.keys), std::nullopt, std::nullopt};
    if (!loaded.expires_unix) return current;
    const int64_t now = now_();
    const int64_t lifetime = *loaded.expires_unix - now;
    if (lifetime <= 0) {
      // This machine's clock is off, or the service has no new ones for now and repeats the old (as
      // EC2's does in an outage). The store decides whether they are good; ask again in a while.
      current.advisory_at = now + kAfterEnded;
      return current;
    }
    const RefreshWindow window = RefreshWindowOf(lifetime);
    current.advisory_at = *loaded.expires_unix - window.advisory;
    current.mandatory_at = *loaded.expires_unix - window.mandatory;
    return current;
  }

  // Until the load under way is over. Its error, where it failed for reasons that are not its
  // caller's own.
  Status AwaitLoad(std::unique_lock<std::mutex>& lock, const Context& context) {
    const uint64_t before = generation_;
    while (generation_ == before) {
      loaded_.wait_for(lock, kPollInterval);
      if (generation_ != before) break;
      // Asking whether the caller still wants it may take Python's lock, which who loads may hold.
      lock.unlock();
      const Status wanted = CheckContext(context);
      lock.lock();
      AIRFREIGHT_RETURN_IF_ERROR(wanted);
    }
    if (last_error_ && !IsOwn(*last_error_)) return Fail(*last_error_);
    return {};
  }

  const Load load_;
  const std::function<int64_t()> now_;
  std::mutex mutex_;
  std::condition_variable loaded_;
  bool loading_ = false;
  uint64_t generation_ = 0;  // Of loads that have ended.
  bool last_succeeded_ = false;
  std::optional<Error> last_error_;  // What the last one's waiters are told.
  std::optional<Current> current_;
};

}  // namespace airfreight
