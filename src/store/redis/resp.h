#pragma once

/// \file
/// \brief Redis' serialization protocol, version 2: commands as they are sent, replies as they come
/// (redis.io/docs/latest/develop/reference/protocol-spec).
///
/// Of our own, and not hiredis': its formatter copies each body into the command, its reader each
/// reply into a string that is then copied once more, and Debian 12's (0.14) knows no TLS. What
/// would be left of it is the reading of five kinds of lines.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/result.h"

namespace airfreight::redis {

/// \brief Commands that are sent together (pipelined), as pieces of text and of other people's
/// memory: a body is not copied.
///
/// Threads, ownership: as a container; what was given as a view outlives it.
class Request {
 public:
  /// Begins a command of `count` arguments, its name included; that many follow, by Text and Value.
  Request& Command(size_t count);
  /// A whole command of short arguments.
  Request& Command(std::initializer_list<std::string_view> words);
  /// The next argument, copied.
  Request& Text(std::string_view text);
  /// The next argument: `head`, which is copied, and then the segments, which are not.
  Request& Value(std::string_view head, std::span<const ByteView> segments);

  int commands() const { return commands_; }
  uint64_t size() const { return size_; }
  /// What goes over the wire, in order; valid until the request changes.
  std::vector<ByteView> Pieces() const;

 private:
  struct Piece {
    const std::byte* foreign;  // Null: `length` bytes of text_ from `offset`.
    size_t offset;
    size_t length;
  };
  void Append(std::string_view text);

  std::string text_;
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
  int commands_ = 0;
};

/// One reply, all of it. Plain data.
struct Reply {
  enum class Kind { kStatus, kError, kInteger, kBulk, kNil, kArray };
  Kind kind = Kind::kNil;
  std::string text;             ///< Of a status, an error or a bulk string.
  int64_t integer = 0;          ///< Of an integer.
  std::vector<Reply> elements;  ///< Of an array.

  bool IsError() const { return kind == Kind::kError; }
  bool IsNil() const { return kind == Kind::kNil; }
};

/// Where a reader's bytes come from.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// At least one byte more, valid until the next call; an error where there are none.
  virtual Result<ByteView> More() = 0;
};

/// \brief Takes replies apart as they come.
///
/// Threads: one. Ownership: the source is the caller's. Errors: the source's, and Unavailable (as
/// damage on the way is) for what is no reply; nothing can be read after one.
class ReplyReader {
 public:
  /// A reply that is gathered is at most this long: a page of keys is far below, and no value is
  /// read this way.
  static constexpr uint64_t kMaxGathered = uint64_t{64} << 20;

  explicit ReplyReader(ByteSource& source) : source_(source) {}

  /// The next reply.
  Result<Reply> Read();

  /// The next reply, of which the bytes of a bulk string are left where they are: its `integer` is
  /// how many they are. They follow by Next, and then End.
  Result<Reply> ReadHead();
  /// Some of the bytes of a bulk string of which `left` are still to come; never empty.
  Result<ByteView> Next(uint64_t left);
  /// What follows the bytes of a bulk string.
  Status End();

  /// Bytes that have come so far and were used.
  uint64_t consumed() const { return consumed_; }
  /// Whether something lies here that no one has asked for.
  bool HasRest() const { return !rest_.empty(); }

 private:
  Status Fill();
  Result<std::string> Line();
  Result<Reply> Parse(bool gather, int depth, uint64_t& budget);

  ByteSource& source_;
  ByteView rest_;
  uint64_t consumed_ = 0;
};

}  // namespace airfreight::redis
