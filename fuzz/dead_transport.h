#pragma once

/// \file
/// \brief An HttpTransport that reaches nothing: a fuzz target asks no one.

#include "http/transport.h"

namespace airfreight {

/// Threads, blocking: never blocks. Errors: Unavailable, always.
class DeadTransport final : public HttpTransport {
 public:
  Result<HttpResponse> Perform(const HttpRequest& /*request*/, const Context& /*context*/,
                               ResponseSink* /*sink*/) override {
    return Fail(ErrorCode::kUnavailable, "a fuzz target has no network");
  }
};

}  // namespace airfreight
