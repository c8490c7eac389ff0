#pragma once

/// \file
/// \brief Heads and chunks on a server: read, replaced and removed so that no reader sees half.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"
#include "store/redis/client.h"
#include "store/redis/layout.h"
#include "store/uri.h"

namespace airfreight::redis {

using Clock = std::function<int64_t()>;  ///< Seconds since 1970.

/// How long chunks stay whose head never came: what a writer that was killed leaves behind. Longer
/// than any one value is on its way.
inline constexpr int64_t kLeaseSeconds = int64_t{24} * 3600;
/// By so much the chunks outlive their head: whoever has read that can still read them.
inline constexpr int64_t kChunkGraceSeconds = 3600;

/// One change of what lies at a key, made where the condition holds and not otherwise.
struct Change {
  std::string full_key;
  Condition condition;
  std::string generation;  ///< Of what is written; where it lies there already, all is done.
  std::vector<std::string> chunks;  ///< That have to be there; they are made to last.
  std::optional<int64_t> ttl_seconds;
  std::string head;                   ///< Empty: what lies there is removed.
  std::vector<ByteView> inline_body;  ///< Follows the head.
};

/// \brief What the store and its uploads do with heads and chunks. Threads, fork, blocking, errors:
/// as ObjectStore, without the place in the errors.
class Objects {
 public:
  Objects(StoreUri uri, RedisOptions options, Environment environment, Clock clock)
      : uri_(std::move(uri)),
        client_(std::move(options), std::move(environment)),
        clock_(std::move(clock)) {}

  const StoreUri& uri() const { return uri_; }
  RedisClient& client() { return client_; }
  int64_t Now() const { return clock_(); }

  /// A head for a new object, of a generation of its own.
  Result<ObjectHead> NewHead(const PutOptions& options, uint64_t size) const;
  /// How long the object stays; absent: for ever.
  std::optional<int64_t> Ttl(const PutOptions& options) const;

  /// Writes the head by one command, where nothing lies. False when something does.
  Result<bool> PutAbsent(const Change& change, const Context& context);
  /// Two round trips: WATCH and a look, then MULTI; once more where something came in between.
  Status Apply(const Change& change, const Context& context);
  /// Sends chunks that end with their lease, a few commands at a time.
  Status SendChunks(const std::vector<std::string>& keys, const std::vector<Body>& bodies,
                    const Context& context);
  /// Removes chunks that no head names.
  Status Discard(const std::vector<std::string>& chunks, const Context& context);
  /// Removes chunks of a generation unless the head at their key names it, in one transaction.
  Status DiscardUnnamed(const std::string& full_key, std::string_view generation,
                        const std::vector<std::string>& chunks, const Context& context);
  /// Before chunks are sent: whether the change's condition holds, and whether a value of `size`
  /// bytes can fit, as far as the server tells. One round trip.
  Status CheckBefore(const Change& change, uint64_t size, const Context& context);

  Result<ObjectHead> Look(std::string_view full_key, const Context& context);
  /// As ObjectStore::Read.
  Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                          const Context& context);

  static std::vector<std::string> ChunkKeys(std::string_view full_key, std::string_view generation,
                                            uint64_t count);

 private:
  StoreUri uri_;
  RedisClient client_;
  Clock clock_;
};

/// The head in what GETRANGE answered; nothing where nothing lies. Invalid where something else
/// does, NewerFormat where a later release wrote it; `longer` is set to the length where the head
/// is longer than `text`.
Result<std::optional<ObjectHead>> HeadOf(std::string_view text, size_t* longer);

/// For an object that is not there.
tl::unexpected<Error> Missing();

}  // namespace airfreight::redis
