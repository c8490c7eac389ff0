#pragma once

/// \file
/// \brief A connection on which commands and replies are kept in step.

#include <memory>
#include <string>
#include <utility>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/redis/connection.h"
#include "store/redis/resp.h"

namespace airfreight::redis {

/// \brief Sends commands and receives their replies, in order.
///
/// Threads: one. Ownership: of the connection. Errors: Connection's, and where a server says why it
/// closes (a value that is too long, too many clients), that.
class Session {
 public:
  /// \param number of the database, for messages.
  Session(std::unique_ptr<Connection> connection, int database)
      : connection_(std::move(connection)), reader_(*connection_), database_(database) {}

  /// Begins one caller's work.
  void Use(const Context& context);
  Status Send(const Request& request);
  /// The next reply, also where it is an error.
  Result<Reply> Receive();
  /// The next reply, or the error that it is.
  Result<Reply> Expect();
  /// The next reply, of which a bulk string's bytes are given to `sink`, which is called with the
  /// piece and what is left after it. An error reply is an error here.
  template <typename Sink>
  Result<Reply> ReceiveInto(Sink&& sink) {
    Result<Reply> head = Step(reader_.ReadHead());
    if (!head) return head;
    if (head->IsError()) return Fail(ErrorOf(head->text));
    if (head->kind != Reply::Kind::kBulk) return head;
    auto left = static_cast<uint64_t>(head->integer);
    broken_ = true;  // Until all of it has been taken.
    AIRFREIGHT_RETURN_IF_ERROR(sink.Begin(left));
    while (left > 0) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const ByteView piece, reader_.Next(left));
      left -= piece.size();
      AIRFREIGHT_RETURN_IF_ERROR(sink.Write(piece));
    }
    AIRFREIGHT_RETURN_IF_ERROR(reader_.End());
    broken_ = false;
    return head;
  }

  /// Between WATCH and what ends it; a session is given back only without.
  void SetWatching(bool watching) { watching_ = watching; }

  /// Whether the next caller can use it.
  bool IsClean() const { return !broken_ && !watching_ && waiting_ == 0 && !reader_.HasRest(); }
  /// Whether it was closed while it lay idle, before anything of this caller's was answered.
  bool WasLostIdle() const { return kept_ && lost_ && connection_->received() == received_before_; }
  bool IsStale() const { return connection_->IsStale(); }
  void SetKept() { kept_ = true; }
  Error ErrorOf(const std::string& text) const;

 private:
  Result<Reply> Step(Result<Reply> reply);

  std::unique_ptr<Connection> connection_;
  ReplyReader reader_;
  const int database_;
  int waiting_ = 0;  // Replies that are still to come.
  bool broken_ = false;
  bool lost_ = false;
  bool watching_ = false;
  bool kept_ = false;
  uint64_t received_before_ = 0;
};

}  // namespace airfreight::redis
