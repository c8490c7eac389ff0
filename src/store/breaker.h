#pragma once

/// \file
/// \brief Whether a store that did not answer a moment ago is asked again already.

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

struct BreakerOptions {
  /// How long a store that is away is not asked. Short beside an outage that anybody notices, long
  /// beside what a trial may take.
  std::chrono::duration<double> rest{30};
  /// How long the question may take that finds out whether it is back.
  std::chrono::duration<double> trial{5};
};

/// Whether a failure, after all its retries, says that the store is away, and not that it refuses,
/// lacks or damages something. What trying again could not mend (a certificate, say) is no outage,
/// nor is it that the caller's own time was over.
bool IsOutage(const Error& error, const Context& context);

/// \brief Three states, of one store in one process:
///
///     closed     every request is made. One that fails because the store is away → open.
///     open       none is made, each has the error that opened it at once, until the rest is over;
///                then the next caller is to make a trial → half-open.
///     half-open  as open for all but the one who makes the trial. An answer, whatever it says →
///                closed; none → open, for another rest. A trial that was given up → open, and the
///                next caller makes one.
///
/// An answer to any request that was under way closes it too.
///
/// Threads: may be shared. Blocking: never; makes no request itself. Fork: as ObjectStore.
class Breaker {
 public:
  using Now = std::function<Context::Clock::time_point()>;
  explicit Breaker(
      BreakerOptions options = {}, Now now = [] { return Context::Clock::now(); })
      : options_(options), now_(std::move(now)) {}

  enum class Entry {
    kPass,   ///< Make the request.
    kTrial,  ///< Find out whether the store is back, and tell: Answered, Failed or TrialGivenUp.
    kRefuse  ///< Have Refusal.
  };
  Entry Enter();
  /// The store has answered something.
  void Answered();
  /// It is away, as this says.
  void Failed(const Error& error);
  void TrialGivenUp();
  /// What is said in place of a request. Only while not closed.
  Error Refusal() const;

  const BreakerOptions& options() const { return options_; }
  Context::Clock::time_point now() const { return now_(); }

 private:
  struct Outage {
    Error error;
    Context::Clock::time_point since;  // Of its last sign.
    bool on_trial = false;
    bool given_up = false;  // The last trial: its rest is over.
  };

  const BreakerOptions options_;
  const Now now_;
  mutable std::mutex mutex_;
  std::optional<Outage> outage_;  // Absent: closed.
};

}  // namespace airfreight
