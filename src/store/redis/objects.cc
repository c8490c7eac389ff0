#include "store/redis/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "store/checks.h"
#include "store/redis/errors.h"
#include "store/redis/health.h"

namespace airfreight::redis {
namespace {

// Each round that is lost was won by another writer; no key has that many.
constexpr int kMaxRounds = 100;
// Commands of a chunk each that are on their way at a time: the server works on one while the next
// is sent, and an error is seen before much more is.
constexpr int kWindow = 2;
// Keys in one command.
constexpr size_t kKeysAtOnce = 1000;

void GetRange(Request& request, std::string_view key, size_t bytes) {
  request.Command({"GETRANGE", key, "0", std::to_string(bytes - 1)});
}

void AddUnlink(Request& request, const std::vector<std::string>& keys) {
  for (size_t start = 0; start < keys.size(); start += kKeysAtOnce) {
    const size_t count = std::min(kKeysAtOnce, keys.size() - start);
    request.Command(count + 1).Text("UNLINK");
    for (size_t i = start; i < start + count; ++i) request.Text(keys[i]);
  }
}

bool Holds(const Condition& condition, const std::optional<ObjectHead>& current) {
  switch (condition.kind) {
    case Condition::Kind::kNone:
      return true;
    case Condition::Kind::kAbsent:
      return !current;
    case Condition::Kind::kVersion:
      return current && current->generation == condition.version;
  }
  return false;
}

tl::unexpected<Error> NotHeld() {
  return Fail(ErrorCode::kConditionFailed, "the object is not the one that was to be changed");
}

// What lies at a key, of which `text` is the beginning.
Result<std::optional<ObjectHead>> WholeHead(Session& session, std::string_view key,
                                            const std::string& text) {
  size_t longer = 0;
  AIRFREIGHT_ASSIGN_OR_RETURN(auto head, HeadOf(text, &longer));
  if (longer == 0) return head;
  Request request;
  GetRange(request, key, longer);
  AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Reply reply, session.Expect());
  return HeadOf(reply.text, &longer);
}

Status Unwatch(Session& session) {
  Request request;
  request.Command({"UNWATCH"});
  AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
  AIRFREIGHT_RETURN_IF_ERROR(session.Expect().map([](const Reply&) {}));
  session.SetWatching(false);
  return {};
}

// The transaction that makes the change over `old`; how many of its commands make chunks last.
Request Transaction(const Change& change, const std::optional<ObjectHead>& old) {
  Request request;
  request.Command({"MULTI"});
  for (const std::string& chunk : change.chunks) {
    if (change.ttl_seconds) {
      request.Command({"EXPIRE", chunk, std::to_string(*change.ttl_seconds + kChunkGraceSeconds)});
    } else {
      request.Command({"PERSIST", chunk});
    }
  }
  if (change.head.empty()) {
    request.Command({"UNLINK", change.full_key});
  } else {
    request.Command(change.ttl_seconds ? 5 : 3).Text("SET").Text(change.full_key);
    request.Value(change.head, change.inline_body);
    if (change.ttl_seconds) request.Text("EX").Text(std::to_string(*change.ttl_seconds));
  }
  if (old) {
    AddUnlink(request, Objects::ChunkKeys(change.full_key, old->generation, old->ChunkCount()));
  }
  request.Command({"EXEC"});
  return request;
}

/// What a transaction came to.
enum class Executed { kYes, kDisturbed };

Result<Executed> Execute(Session& session, const Request& request, size_t chunks) {
  AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
  std::optional<Error> refused;  // The first says why; EXEC only that it did.
  for (int i = 1; i < request.commands(); ++i) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Reply queued, session.Receive());
    if (queued.IsError() && !refused) refused = session.ErrorOf(queued.text);
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const Reply done, session.Receive());
  session.SetWatching(false);
  if (refused) return Fail(*std::move(refused));
  if (done.IsError()) return Fail(session.ErrorOf(done.text));
  if (done.IsNil()) return Executed::kDisturbed;
  for (const Reply& one : done.elements) {
    if (one.IsError()) return Fail(session.ErrorOf(one.text));
  }
  for (size_t i = 0; i < chunks && i < done.elements.size(); ++i) {
    if (done.elements[i].integer != 1) {
      return Fail(ErrorCode::kUnavailable,
                  "Redis dropped a part of the value while the last of it was written: it has "
                  "expired or was evicted (maxmemory-policy)");
    }
  }
  return Executed::kYes;
}

tl::unexpected<Error> AlwaysDisturbed() {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format("another writer was first {} times", kMaxRounds);
  error.retryable = true;
  return Fail(std::move(error));
}

Status ApplyOnce(Session& session, const Change& change) {
  for (int round = 0; round < kMaxRounds; ++round) {
    Request look;
    look.Command(2 + change.chunks.size()).Text("WATCH").Text(change.full_key);
    for (const std::string& chunk : change.chunks) look.Text(chunk);
    GetRange(look, change.full_key, kHeadProbe);
    const bool counts = !change.chunks.empty();
    if (counts) {
      look.Command(1 + change.chunks.size()).Text("EXISTS");
      for (const std::string& chunk : change.chunks) look.Text(chunk);
    }
    session.SetWatching(true);
    AIRFREIGHT_RETURN_IF_ERROR(session.Send(look));
    AIRFREIGHT_RETURN_IF_ERROR(session.Expect().map([](const Reply&) {}));
    AIRFREIGHT_ASSIGN_OR_RETURN(const Reply text, session.Expect());
    int64_t there = 0;
    if (counts) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reply count, session.Expect());
      there = count.integer;
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto old, WholeHead(session, change.full_key, text.text));
    if (old && !change.head.empty() && old->generation == change.generation) {
      return Unwatch(session);  // Written by a call whose reply was lost.
    }
    if (!Holds(change.condition, old)) {
      AIRFREIGHT_RETURN_IF_ERROR(Unwatch(session));
      return NotHeld();
    }
    if (change.head.empty() && !old) return Unwatch(session);
    if (there != static_cast<int64_t>(change.chunks.size())) {
      AIRFREIGHT_RETURN_IF_ERROR(Unwatch(session));
      return Fail(ErrorCode::kNotFound,
                  fmt::format("{} of {} parts of the value are there no more: given up before, "
                              "evicted by Redis (maxmemory-policy), or written more than {} hours "
                              "ago",
                              change.chunks.size() - static_cast<size_t>(there),
                              change.chunks.size(), kLeaseSeconds / 3600));
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const Executed executed,
                                Execute(session, Transaction(change, old), change.chunks.size()));
    if (executed == Executed::kYes) return {};
  }
  return AlwaysDisturbed();
}

// The part of one chunk that is asked for.
struct Piece {
  uint64_t number = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool whole = false;
};

std::vector<Piece> PiecesOf(const ObjectHead& head, const Range& range) {
  std::vector<Piece> pieces;
  uint64_t number = 0;
  uint64_t begin = 0;
  const uint64_t end = range.offset + range.length;
  for (const ChunkRun& run : head.chunks) {
    for (uint64_t i = 0; i < run.count; ++i, begin += run.bytes) {
      ++number;
      const uint64_t from = std::max(begin, range.offset);
      const uint64_t to = std::min(begin + run.bytes, end);
      if (from >= to) continue;
      pieces.push_back({number, from - begin, to - from, to - from == run.bytes});
    }
  }
  return pieces;
}

/// \brief One read of an object, from its head to its last byte.
class Reading {
 public:
  Reading(std::string_view key, std::string full_key, const GetOptions& options, ReadSink& sink)
      : key_(key), full_key_(std::move(full_key)), options_(options), sink_(sink) {}

  /// Whether something has been given to the reader, so that nothing may be begun anew.
  bool begun() const { return begun_; }
  /// Whether a chunk was not there: removed with its generation, or evicted.
  bool lacks_chunk() const { return lacks_chunk_; }
  const std::string& generation() const { return head_.generation; }

  Result<ObjectInfo> Run(Session& session) {
    lacks_chunk_ = false;
    Request request;
    request.Command({"GET", full_key_});
    AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
    HeadSink into(*this);
    AIRFREIGHT_ASSIGN_OR_RETURN(const Reply reply, session.ReceiveInto(into));
    if (reply.IsNil()) return Missing();
    if (reply.kind != Reply::Kind::kBulk) return Unexpected("GET");
    AIRFREIGHT_RETURN_IF_ERROR(into.End());
    if (!head_.chunks.empty()) AIRFREIGHT_RETURN_IF_ERROR(ReadChunks(session));
    return head_.Info(key_);
  }

 private:
  /// Takes the head off the value, and gives the reader what is asked for of the rest.
  class HeadSink {
   public:
    explicit HeadSink(Reading& reading) : reading_(reading) {}

    Status Begin(uint64_t length) {
      length_ = length;
      return {};
    }
    Status Write(ByteView piece) {
      if (!complete_) {
        const size_t wanted = std::max(wanted_, kHeadLineProbe);
        const size_t taken = std::min<size_t>(piece.size(), wanted - text_.size());
        text_ += AsText(piece.first(taken));
        piece = piece.subspan(taken);
        AIRFREIGHT_RETURN_IF_ERROR(TakeHead(false));
        if (!complete_ && !piece.empty()) return Write(piece);
        if (!complete_) return {};
      }
      return Give(piece);
    }
    Status End() { return complete_ ? Status() : TakeHead(true); }

   private:
    Status TakeHead(bool all) {
      if (wanted_ == 0) {
        if (!all && text_.size() < kHeadLineProbe && text_.size() < length_) return {};
        size_t longer = 0;
        AIRFREIGHT_RETURN_IF_ERROR(HeadOf(text_, &longer).map([](const auto&) {}));
        wanted_ = HeadBytes(text_).value_or(0);
      }
      if (text_.size() < wanted_) {
        if (length_ >= wanted_ && !all) return {};
        return Fail(ErrorCode::kCorrupt, "the object's head in Redis is cut short");
      }
      auto head = ParseHead(text_);
      if (!head) return Fail(ErrorCode::kCorrupt, "the object's head in Redis is damaged");
      complete_ = true;
      const std::string rest = text_.substr(wanted_);
      AIRFREIGHT_RETURN_IF_ERROR(reading_.SetHead(*std::move(head), length_ - wanted_));
      return Give(AsBytes(rest));
    }
    Status Give(ByteView piece) {
      const uint64_t begin = at_;
      at_ += piece.size();
      if (!reading_.head_.chunks.empty()) return {};
      const Range& range = reading_.range_;
      const uint64_t from = std::max(begin, range.offset);
      const uint64_t to = std::min(at_, range.offset + range.length);
      if (from >= to) return {};
      return reading_.sink_.Write(piece.subspan(from - begin, to - from));
    }

    Reading& reading_;
    uint64_t length_ = 0;
    std::string text_;
    size_t wanted_ = 0;  // The head's length, once that is known.
    bool complete_ = false;
    uint64_t at_ = 0;
  };

  /// Gives the reader one chunk.
  class ChunkSink {
   public:
    ChunkSink(Reading& reading, const Piece& piece) : reading_(reading), piece_(piece) {}

    Status Begin(uint64_t length) {
      if (length == 0) {
        reading_.lacks_chunk_ = true;
        return Missing();
      }
      if (length != piece_.length) {
        return Fail(ErrorCode::kCorrupt,
                    fmt::format("chunk {} of the object has {} bytes where {} were written",
                                piece_.number, length, piece_.length));
      }
      return reading_.Begin();
    }
    Status Write(ByteView bytes) { return reading_.sink_.Write(bytes); }

   private:
    Reading& reading_;
    const Piece& piece_;
  };

  Status SetHead(ObjectHead head, uint64_t rest) {
    head_ = std::move(head);
    if (!options_.if_version.empty() && options_.if_version != head_.generation) {
      return Fail(ErrorCode::kConditionFailed, "the object has changed");
    }
    if (rest != (head_.chunks.empty() ? head_.size : 0)) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("{} bytes follow the object's head in Redis, where {} were written",
                              rest, head_.size));
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(range_, ClipRange(options_, head_.size));
    if (head_.chunks.empty() || range_.length == 0) return Begin();
    return {};
  }

  Status Begin() {
    if (begun_) return {};
    begun_ = true;
    return sink_.Begin(head_.Info(key_));
  }

  Status ReadChunks(Session& session) {
    const std::vector<Piece> pieces = PiecesOf(head_, range_);
    size_t sent = 0;
    for (size_t next = 0; next < pieces.size(); ++next) {
      Request request;
      for (; sent < pieces.size() && sent < next + kWindow; ++sent) {
        const Piece& piece = pieces[sent];
        const std::string chunk = ChunkKey(full_key_, head_.generation, piece.number);
        if (piece.whole) {
          request.Command({"GET", chunk});
        } else {
          request.Command({"GETRANGE", chunk, std::to_string(piece.offset),
                           std::to_string(piece.offset + piece.length - 1)});
        }
      }
      if (request.commands() > 0) AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
      ChunkSink into(*this, pieces[next]);
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reply reply, session.ReceiveInto(into));
      if (reply.IsNil()) {
        lacks_chunk_ = true;
        return Missing();
      }
      if (reply.kind != Reply::Kind::kBulk) return Unexpected("GET");
    }
    return {};
  }

  const std::string_view key_;
  const std::string full_key_;
  const GetOptions& options_;
  ReadSink& sink_;
  ObjectHead head_;
  Range range_;
  bool begun_ = false;
  bool lacks_chunk_ = false;
};

}  // namespace

tl::unexpected<Error> Missing() {
  return Fail(ErrorCode::kNotFound,
              "no object at this key: it was removed, its time is over (redis_ttl, or retention in "
              "a rule), or Redis evicted it for want of memory (maxmemory, maxmemory-policy)");
}

Result<std::optional<ObjectHead>> HeadOf(std::string_view text, size_t* longer) {
  *longer = 0;
  if (text.empty()) return std::nullopt;
  const auto length = HeadBytes(text);
  if (!length) {
    if (text.starts_with("airfreight ") && !text.starts_with("airfreight 1 ")) {
      return Fail(ErrorCode::kNewerFormat,
                  "a later release of Airfreight wrote this object in Redis; upgrade this one");
    }
    return Fail(ErrorCode::kInvalid,
                "something else than an object of Airfreight's lies at this key in Redis: give "
                "Airfreight a prefix or a database of its own");
  }
  if (*length > text.size()) {
    *longer = *length;
    return std::nullopt;
  }
  auto head = ParseHead(text);
  if (!head) return Fail(ErrorCode::kCorrupt, "the object's head in Redis is damaged");
  return head;
}

std::vector<std::string> Objects::ChunkKeys(std::string_view full_key, std::string_view generation,
                                            uint64_t count) {
  std::vector<std::string> keys;
  keys.reserve(count);
  for (uint64_t number = 1; number <= count; ++number) {
    keys.push_back(ChunkKey(full_key, generation, number));
  }
  return keys;
}

Result<ObjectHead> Objects::NewHead(const PutOptions& options, uint64_t size) const {
  ObjectHead head;
  AIRFREIGHT_ASSIGN_OR_RETURN(head.generation, RandomHex128());
  head.size = size;
  head.modified_unix = clock_();
  head.content_type = options.content_type;
  head.metadata = options.metadata;
  return head;
}

std::optional<int64_t> Objects::Ttl(const PutOptions& options) const {
  // Zero and below would be refused by Redis: what has ended already goes at once.
  if (options.expires_unix) return std::max<int64_t>(*options.expires_unix - clock_(), 1);
  return client_.options().ttl_seconds;
}

Result<bool> Objects::PutAbsent(const Change& change, const Context& context) {
  Request request;
  request.Command(change.ttl_seconds ? 6 : 4).Text("SET").Text(change.full_key);
  request.Value(change.head, change.inline_body).Text("NX");
  if (change.ttl_seconds) request.Text("EX").Text(std::to_string(*change.ttl_seconds));
  return client_.Run(context, [&](Session& session) -> Result<bool> {
    AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
    return session.Expect().map([](const Reply& reply) { return !reply.IsNil(); });
  });
}

Status Objects::Apply(const Change& change, const Context& context) {
  return client_.Run(context, [&](Session& session) { return ApplyOnce(session, change); });
}

Status Objects::SendChunks(const std::vector<std::string>& keys, const std::vector<Body>& bodies,
                           const Context& context) {
  const std::string lease = std::to_string(kLeaseSeconds);
  return client_.Run(context, [&](Session& session) -> Status {
    size_t answered = 0;
    for (size_t sent = 0; answered < keys.size();) {
      if (sent < keys.size() && sent < answered + kWindow) {
        Request request;
        request.Command(5).Text("SET").Text(keys[sent]).Value({}, bodies[sent].segments());
        request.Text("EX").Text(lease);
        AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
        ++sent;
        continue;
      }
      AIRFREIGHT_RETURN_IF_ERROR(session.Expect().map([](const Reply&) {}));
      ++answered;
    }
    return {};
  });
}

Status Objects::Discard(const std::vector<std::string>& chunks, const Context& context) {
  Request request;
  AddUnlink(request, chunks);
  return client_.Run(context, [&](Session& session) -> Status {
    AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
    for (int i = 0; i < request.commands(); ++i) {
      AIRFREIGHT_RETURN_IF_ERROR(session.Expect().map([](const Reply&) {}));
    }
    return {};
  });
}

Status Objects::DiscardUnnamed(const std::string& full_key, std::string_view generation,
                               const std::vector<std::string>& chunks, const Context& context) {
  if (chunks.empty()) return {};
  return client_.Run(context, [&](Session& session) -> Status {
    for (int round = 0; round < kMaxRounds; ++round) {
      Request look;
      look.Command({"WATCH", full_key});
      GetRange(look, full_key, kHeadLineProbe);
      session.SetWatching(true);
      AIRFREIGHT_RETURN_IF_ERROR(session.Send(look));
      AIRFREIGHT_RETURN_IF_ERROR(session.Expect().map([](const Reply&) {}));
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reply text, session.Expect());
      const auto head = ParseHeadLine(text.text);
      if (head && head->generation == generation) return Unwatch(session);
      Request transaction;
      transaction.Command({"MULTI"});
      AddUnlink(transaction, chunks);
      transaction.Command({"EXEC"});
      AIRFREIGHT_ASSIGN_OR_RETURN(const Executed executed, Execute(session, transaction, 0));
      if (executed == Executed::kYes) return {};
    }
    return AlwaysDisturbed();
  });
}

Status Objects::CheckBefore(const Change& change, uint64_t size, const Context& context) {
  return client_.Run(context, [&](Session& session) -> Status {
    Request request;
    GetRange(request, change.full_key, kHeadProbe);
    request.Command({"INFO", "memory"});
    AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
    AIRFREIGHT_ASSIGN_OR_RETURN(const Reply text, session.Receive());
    AIRFREIGHT_ASSIGN_OR_RETURN(const Reply info, session.Receive());
    if (text.IsError()) return Fail(session.ErrorOf(text.text));
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto old, WholeHead(session, change.full_key, text.text));
    if (!Holds(change.condition, old)) return NotHeld();
    if (info.kind != Reply::Kind::kBulk)
      return {};  // Not allowed to ask: then the write will tell.
    return RoomFor(ParseInfo(info.text), size);
  });
}

Result<ObjectHead> Objects::Look(std::string_view full_key, const Context& context) {
  return client_.Run(context, [&](Session& session) -> Result<ObjectHead> {
    size_t bytes = kHeadProbe;
    for (;;) {
      Request request;
      GetRange(request, full_key, bytes);
      AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reply reply, session.Expect());
      size_t longer = 0;
      AIRFREIGHT_ASSIGN_OR_RETURN(auto head, HeadOf(reply.text, &longer));
      if (head) return *std::move(head);
      if (longer == 0) return Missing();
      if (longer <= bytes) return Fail(ErrorCode::kCorrupt, "the object's head is cut short");
      bytes = longer;
    }
  });
}

Result<ObjectInfo> Objects::Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                                 const Context& context) {
  Reading reading(key, uri_.FullKey(key), options, sink);
  std::string lacking;  // The generation of which a chunk was not there.
  for (;;) {
    auto read = client_.Run(context, [&](Session& session) { return reading.Run(session); });
    if (read || !reading.lacks_chunk()) return read;
    // Replaced between the head and the chunk, or the chunk is lost.
    if (reading.begun()) {
      const auto now = Look(uri_.FullKey(key), context);
      if (now && now->generation != reading.generation()) {
        return Fail(ErrorCode::kConditionFailed, "the object was replaced while it was read");
      }
      return read;
    }
    if (lacking == reading.generation()) return read;
    lacking = reading.generation();
  }
}

}  // namespace airfreight::redis
