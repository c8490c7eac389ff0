#pragma once

/// \file
/// \brief What answers without success mean on all services, and the errors that they become.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "http/headers.h"

namespace airfreight {

/// What an answer without success comes to.
struct Meaning {
  ErrorCode code = ErrorCode::kInternal;
  bool retryable = false;
  std::string_view advice = {};  ///< The end of the message; empty: none.
};

/// A service's code that says more than its status.
struct KnownCode {
  std::string_view service_code;
  ErrorCode code;
  bool retryable;
  std::string_view advice;
};
/// Absent when the code is not known.
std::optional<Meaning> FindMeaning(std::span<const KnownCode> known, std::string_view service_code);

/// What the status alone says. A service by which it says something else looks at that first.
/// `elsewhere` is the advice for one that sends to another address.
Meaning MeaningOfStatus(int status, std::string_view elsewhere);

/// What every service's answer without success has.
struct Refusal {
  int status = 0;
  const Headers* headers = nullptr;
  std::string_view service_code;
  std::string_view request_id;
};

/// The error of an answer that means this, without its message. `now` is for a Retry-After that
/// names a date: seconds since 1970.
Error ErrorOf(const Meaning& meaning, const Refusal& refusal, int64_t now);

/// Makes it the error of a store whose bucket is not there: Invalid. `what` says so.
Error NoSuchPlace(Error error, std::string_view what);

/// The message of an error: what the store has said, without a dot at its end, or what there is to
/// say where that is empty; and the advice.
std::string MessageOf(ErrorCode code, std::string said, std::string_view advice);

}  // namespace airfreight
