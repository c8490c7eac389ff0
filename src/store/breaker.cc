#include "store/breaker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace airfreight {

bool IsOutage(const Error& error, const Context& context) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kThrottled:
      return error.retryable;
    case ErrorCode::kTimeout:
      return error.retryable && !context.Expired();
    default:
      return false;
  }
}

Breaker::Entry Breaker::Enter() {
  const std::lock_guard lock(mutex_);
  if (!outage_) return Entry::kPass;
  const bool rested = outage_->given_up || now_() - outage_->since >= options_.rest;
  if (outage_->on_trial || !rested) return Entry::kRefuse;
  outage_->on_trial = true;
  return Entry::kTrial;
}

void Breaker::Answered() {
  const std::lock_guard lock(mutex_);
  outage_.reset();
}

void Breaker::Failed(const Error& error) {
  const std::lock_guard lock(mutex_);
  outage_ = Outage{error, now_()};
}

void Breaker::TrialGivenUp() {
  const std::lock_guard lock(mutex_);
  if (!outage_) return;
  outage_->on_trial = false;
  outage_->given_up = true;
}

Error Breaker::Refusal() const {
  const std::lock_guard lock(mutex_);
  // It was closed since the caller was refused: the caller may come again.
  Error error = outage_ ? outage_->error : Error{.code = ErrorCode::kUnavailable};
  error.retryable = true;
  const auto ago = outage_ ? now_() - outage_->since : Context::Clock::duration(0);
  const std::chrono::duration<double> left = options_.rest - ago;
  error.message = fmt::format(
      "the store did not answer {:.0f} s ago and is not asked again for another {:.0f} s; then: {}",
      std::chrono::duration<double>(ago).count(), std::max(0.0, left.count()), error.message);
  return error;
}

}  // namespace airfreight
