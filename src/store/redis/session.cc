#include "store/redis/session.h"

#include <utility>

#include "store/redis/errors.h"

namespace airfreight::redis {

void Session::Use(const Context& context) {
  connection_->Use(context);
  received_before_ = connection_->received();
}

Error Session::ErrorOf(const std::string& text) const { return DecodeError(text, database_); }

Status Session::Send(const Request& request) {
  waiting_ += request.commands();
  auto sent = connection_->Send(request.Pieces());
  if (sent) return {};
  broken_ = true;
  lost_ = sent.error().code == ErrorCode::kUnavailable;
  if (!lost_) return sent;
  // A server that refuses a value says so and closes, while we are still sending.
  while (auto reply = reader_.Read()) {
    if (reply->IsError()) return Fail(ErrorOf(reply->text));
  }
  return sent;
}

Result<Reply> Session::Step(Result<Reply> reply) {
  --waiting_;
  if (!reply) {
    broken_ = true;
    lost_ = reply.error().code == ErrorCode::kUnavailable;
  }
  return reply;
}

Result<Reply> Session::Receive() { return Step(reader_.Read()); }

Result<Reply> Session::Expect() {
  auto reply = Receive();
  if (reply && reply->IsError()) return Fail(ErrorOf(reply->text));
  return reply;
}

}  // namespace airfreight::redis
