#pragma once

/// \file
/// \brief What an object is in Redis: the names of its keys and the head that describes it.
/// Specification: `formats/redis.md`. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::redis {

/// A value up to this lies in the head's own key, and is written and read by one command. With a
/// head it stays below 4 MiB, and so does a chunk with what Redis puts before it: its allocator
/// gives 5 MiB to whatever has a byte more (jemalloc.net/jemalloc.3.html, size classes).
inline constexpr uint64_t kInlineBytes = (uint64_t{4} << 20) - (uint64_t{8} << 10);
/// Above, chunks have this, or a multiple where that would make too many of them. A command of
/// 4 MiB holds up the server's other clients for about a millisecond.
inline constexpr uint64_t kChunkBytes = (uint64_t{4} << 20) - 64;
/// Redis itself takes 512 MiB (proto-max-bulk-len); no one else is served while it copies that.
inline constexpr uint64_t kMaxChunkBytes = uint64_t{64} << 20;
inline constexpr int kMaxChunks = 10'000;
/// What is asked for of a head at first: all of nearly any.
inline constexpr size_t kHeadProbe = 4096;
/// The first line and no more: for listing.
inline constexpr size_t kHeadLineProbe = 160;
inline constexpr size_t kMaxHeadBytes = size_t{1} << 20;

/// So many chunks of one size, one after the other.
struct ChunkRun {
  uint64_t count = 0;
  uint64_t bytes = 0;
  bool operator==(const ChunkRun&) const = default;
};

/// What the head says. Plain data.
struct ObjectHead {
  std::string generation;  ///< 32 hexadecimal digits; the object's version.
  size_t head_bytes = 0;   ///< Length of the head itself; the bytes of the value follow.
  uint64_t size = 0;
  int64_t modified_unix = 0;
  std::string content_type;
  Metadata metadata;
  std::vector<ChunkRun> chunks;  ///< Empty: the bytes follow the head.

  uint64_t ChunkCount() const;
  ObjectInfo Info(std::string_view key) const;
};

/// The head as text. Invalid when it is longer than kMaxHeadBytes.
Result<std::string> PrintHead(const ObjectHead& head);

/// How long the head is that begins with `text`; nothing when it is none of ours. `text` has
/// kHeadLineProbe bytes, or all there are.
std::optional<size_t> HeadBytes(std::string_view text);

/// The first line alone: generation, size and time.
std::optional<ObjectHead> ParseHeadLine(std::string_view text);

/// The head that `text` begins with, which holds all of it. Nothing when it is none, is of a newer
/// version, or its parts contradict each other.
std::optional<ObjectHead> ParseHead(std::string_view text);

/// The key of a chunk, from 1. No object key holds "//", so that none is a chunk's.
std::string ChunkKey(std::string_view full_key, std::string_view generation, uint64_t number);
bool IsChunkKey(std::string_view full_key);
/// Whose chunk it is. Nothing for the key of none.
struct ChunkOwner {
  std::string full_key;
  std::string generation;
};
std::optional<ChunkOwner> ParseChunkKey(std::string_view chunk_key);

/// Sizes one after the other, as runs.
void AppendChunk(std::vector<ChunkRun>& runs, uint64_t bytes);
/// The size of each chunk of an object of `size` bytes that is written at once.
uint64_t ChunkBytesFor(uint64_t size);

/// `text` as a pattern that matches nothing else (redis.io/docs/latest/commands/keys).
std::string EscapeGlob(std::string_view text);

}  // namespace airfreight::redis
