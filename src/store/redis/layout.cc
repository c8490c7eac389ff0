#include "store/redis/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "store/checks.h"

namespace airfreight::redis {
namespace {

constexpr std::string_view kMagic = "airfreight 1 ";
constexpr size_t kGenerationDigits = 32;
// Decimal digits of kMaxHeadBytes.
constexpr size_t kLengthDigits = 7;
constexpr uint64_t kMaxSize = uint64_t{1} << 53;

template <typename T>
std::optional<T> Whole(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0) {
    return std::nullopt;
  }
  return number;
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsGeneration(std::string_view text) { return text.size() == kGenerationDigits && IsHex(text); }

std::string_view TakeUntil(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

// "16x4194304,1x100", which together are `size` bytes.
std::optional<std::vector<ChunkRun>> ParseRuns(std::string_view text, uint64_t size) {
  std::vector<ChunkRun> runs;
  uint64_t chunks = 0;
  uint64_t total = 0;
  while (!text.empty()) {
    std::string_view run = TakeUntil(text, ',');
    const auto count = Whole<int64_t>(TakeUntil(run, 'x'));
    const auto bytes = Whole<int64_t>(run);
    if (!count || !bytes || *count == 0 || *count > kMaxChunks ||
        *bytes > static_cast<int64_t>(kMaxChunkBytes)) {
      return std::nullopt;
    }
    runs.push_back({static_cast<uint64_t>(*count), static_cast<uint64_t>(*bytes)});
    chunks += runs.back().count;
    total += runs.back().count * runs.back().bytes;
    if (chunks > kMaxChunks) return std::nullopt;
  }
  if (runs.empty() || total != size) return std::nullopt;
  return runs;
}

}  // namespace

uint64_t ObjectHead::ChunkCount() const {
  uint64_t count = 0;
  for (const ChunkRun& run : chunks) count += run.count;
  return count;
}

ObjectInfo ObjectHead::Info(std::string_view key) const {
  return {std::string(key), size, generation, metadata, modified_unix};
}

Result<std::string> PrintHead(const ObjectHead& head) {
  std::string rest = fmt::format("content-type {}\n", head.content_type);
  if (!head.chunks.empty()) {
    rest += "chunks ";
    for (const ChunkRun& run : head.chunks) {
      rest += fmt::format("{}{}x{}", &run == &head.chunks.front() ? "" : ",", run.count, run.bytes);
    }
    rest += '\n';
  }
  for (const auto& [name, value] : head.metadata) {
    rest += fmt::format("meta {} {}\n", name, value);
  }
  const auto line = [&](size_t length) {
    return fmt::format("{}{} {:0{}} {} {}\n", kMagic, head.generation, length, kLengthDigits,
                       head.size, head.modified_unix);
  };
  const size_t length = line(0).size() + rest.size();
  if (length > kMaxHeadBytes) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("a description of {} bytes; {} are the most", length, kMaxHeadBytes));
  }
  return line(length) + rest;
}

std::optional<ObjectHead> ParseHeadLine(std::string_view text) {
  if (!text.starts_with(kMagic)) return std::nullopt;
  const size_t end = text.find('\n');
  if (end >= kHeadLineProbe) return std::nullopt;  // Also where there is none.
  std::string_view line = text.substr(0, end);
  line.remove_prefix(kMagic.size());
  ObjectHead head;
  head.generation = TakeUntil(line, ' ');
  const std::string_view length = TakeUntil(line, ' ');
  const auto head_bytes = Whole<int64_t>(length);
  const auto size = Whole<int64_t>(TakeUntil(line, ' '));
  const auto modified = Whole<int64_t>(line);
  if (!IsGeneration(head.generation) || length.size() != kLengthDigits || !head_bytes || !size ||
      !modified || static_cast<uint64_t>(*size) > kMaxSize ||
      static_cast<size_t>(*head_bytes) <= end || static_cast<size_t>(*head_bytes) > kMaxHeadBytes) {
    return std::nullopt;
  }
  head.head_bytes = static_cast<size_t>(*head_bytes);
  head.size = static_cast<uint64_t>(*size);
  head.modified_unix = *modified;
  return head;
}

std::optional<size_t> HeadBytes(std::string_view text) {
  const auto head = ParseHeadLine(text);
  if (!head) return std::nullopt;
  return head->head_bytes;
}

std::optional<ObjectHead> ParseHead(std::string_view text) {
  auto head = ParseHeadLine(text);
  if (!head || text.size() < head->head_bytes) return std::nullopt;
  std::string_view rest = text.substr(0, head->head_bytes);
  if (!rest.ends_with('\n')) return std::nullopt;
  TakeUntil(rest, '\n');
  bool typed = false;
  while (!rest.empty()) {
    std::string_view line = TakeUntil(rest, '\n');
    const std::string_view word = TakeUntil(line, ' ');
    if (word == "content-type" && !typed) {
      head->content_type = line;
      typed = true;
    } else if (word == "chunks" && head->chunks.empty()) {
      auto runs = ParseRuns(line, head->size);
      if (!runs) return std::nullopt;
      head->chunks = *std::move(runs);
    } else if (word == "meta") {
      const std::string_view name = TakeUntil(line, ' ');
      if (!head->metadata.emplace(name, line).second) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  if (!typed || !CheckMetadata(head->metadata)) return std::nullopt;
  PutOptions options;
  options.content_type = head->content_type;
  if (!CheckPutOptions(options, {})) return std::nullopt;
  return head;
}

std::string ChunkKey(std::string_view full_key, std::string_view generation, uint64_t number) {
  return fmt::format("{}//{}/{}", full_key, generation, number);
}

bool IsChunkKey(std::string_view full_key) { return full_key.find("//") != std::string_view::npos; }

std::optional<ChunkOwner> ParseChunkKey(std::string_view chunk_key) {
  const size_t between = chunk_key.find("//");
  if (between == std::string_view::npos || between == 0) return std::nullopt;
  const std::string_view rest = chunk_key.substr(between + 2);
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ChunkOwner owner{std::string(chunk_key.substr(0, between)), std::string(rest.substr(0, slash))};
  const auto number = Whole<int64_t>(rest.substr(slash + 1));
  // Spelt as ChunkKey spells it.
  if (!number || !IsGeneration(owner.generation) ||
      ChunkKey(owner.full_key, owner.generation, static_cast<uint64_t>(*number)) != chunk_key) {
    return std::nullopt;
  }
  return owner;
}

void AppendChunk(std::vector<ChunkRun>& runs, uint64_t bytes) {
  if (!runs.empty() && runs.back().bytes == bytes) {
    ++runs.back().count;
  } else {
    runs.push_back({1, bytes});
  }
}

uint64_t ChunkBytesFor(uint64_t size) {
  // Whole multiples, so that the last one does not come out as a few bytes.
  const uint64_t factor = size / (kChunkBytes * kMaxChunks) + 1;
  return kChunkBytes * factor;
}

std::string EscapeGlob(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\' || c == '^' || c == '-') {
      pattern += '\\';
    }
    pattern += c;
  }
  return pattern;
}

}  // namespace airfreight::redis
