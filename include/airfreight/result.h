#pragma once

/// \file
/// \brief How every fallible function of Airfreight answers: a value, or an Error that says what
/// went wrong, where, and whether trying again can help.

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace airfreight {

/// The kind of a failure. Python has one exception class for each (`airfreight/errors.py`).
enum class ErrorCode {
  kNotFound,          ///< No object at that key.
  kNotFoundOrDenied,  ///< S3 answers 403 for a missing key to those without ListBucket: both
                      ///< causes.
  kCorrupt,           ///< The object is there and is not what was written: length or digest differ.
  kReplaced,          ///< A whole object is there, but a later write put it there.
  kExpired,           ///< The retention of what is asked for has passed.
  kSuperseded,        ///< A push came too late: a newer attempt's object is already there.
  kForged,            ///< A reference whose signature or whose own parts contradict each other.
  kOutOfScope,        ///< A reference that points outside the stores and prefixes that are allowed.
  kNewerFormat,       ///< Written by a release whose format this one does not know.
  kDenied,            ///< The store refused the credentials or the action.
  kThrottled,         ///< The store asked us to slow down.
  kUnavailable,       ///< The store could not be reached or is failing.
  kTimeout,           ///< The deadline of the operation has passed.
  kCancelled,         ///< The caller asked to stop (a signal, or a task that is ending).
  kTooLarge,          ///< Above a limit of the store or of the settings.
  kConditionFailed,   ///< The condition of a write did not hold. Never leaves Freight.
  kUnsupported,       ///< The store does not implement what was asked, e.g. conditional writes.
  kInvalid,           ///< A wrong argument or setting; the message shows what right looks like.
  kInternal,          ///< A bug of ours, or an answer that no specification allows.
};

/// The stable name of a code, e.g. "NotFound".
std::string_view ErrorCodeName(ErrorCode code);

/// A failure. Each layer adds what it knows; no layer puts a secret or a value into it.
///
/// Plain data; copies are independent.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message = {};  ///< For a person: what happened and what to do about it.
  std::string store = {};    ///< The store's root, e.g. "s3://bucket/xcom"; empty when not known.
  std::string key = {};      ///< The object key within the store; empty when not known.
  int http_status = 0;       ///< 0 when no HTTP answer was had.
  std::string service_code = {};   ///< The store's own code, e.g. "NoSuchKey"; empty when none.
  std::string request_id = {};     ///< What the store's operator asks for; empty when none.
  bool retryable = false;          ///< The same request may succeed later.
  double retry_after_seconds = 0;  ///< The store's own `Retry-After`; 0 when it named none.

  /// One line: code, message, place, status and request id.
  std::string ToString() const;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// \brief Makes the error alternative of any Result.
inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return tl::unexpected<Error>(std::move(error));
}
inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace airfreight

#define AIRFREIGHT_CONCAT_INNER(a, b) a##b
#define AIRFREIGHT_CONCAT(a, b) AIRFREIGHT_CONCAT_INNER(a, b)

// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may be a declaration, `tmp` is a name.
/// Returns the error of `expr` (a Status) from the enclosing function, if it has one.
#define AIRFREIGHT_RETURN_IF_ERROR(expr)                               \
  do {                                                                 \
    if (auto airfreight_status = (expr); !airfreight_status) {         \
      return ::airfreight::Fail(std::move(airfreight_status).error()); \
    }                                                                  \
  } while (false)

#define AIRFREIGHT_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)       \
  auto tmp = (expr);                                           \
  if (!tmp) return ::airfreight::Fail(std::move(tmp).error()); \
  lhs = std::move(tmp).value()

/// Assigns the value of `expr` (a Result) to `lhs`, or returns its error.
#define AIRFREIGHT_ASSIGN_OR_RETURN(lhs, expr) \
  AIRFREIGHT_ASSIGN_OR_RETURN_IMPL(AIRFREIGHT_CONCAT(airfreight_result_, __LINE__), lhs, expr)
// NOLINTEND(bugprone-macro-parentheses)
