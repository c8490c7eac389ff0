#include "freight/attempt.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "airfreight/coordinate.h"
#include "base/hex.h"

namespace airfreight {
namespace {

constexpr char kCoordinateName[] = "af-coordinate";
constexpr char kAttemptName[] = "af-attempt";
constexpr char kStartedName[] = "af-started";
constexpr char kWriteName[] = "af-write";
constexpr char kOwnerName[] = "af-owner";

std::optional<std::string> Find(const Metadata& metadata, const char* name) {
  const auto entry = metadata.find(name);
  if (entry == metadata.end()) return std::nullopt;
  return entry->second;
}

std::optional<std::string> FindHex128(const Metadata& metadata, const char* name) {
  std::optional<std::string> text = Find(metadata, name);
  if (text && !IsLowerHex(*text, 32)) return std::nullopt;
  return text;
}

// Digits only: neither sign nor blank.
std::optional<int64_t> FindDecimal(const Metadata& metadata, const char* name) {
  const std::optional<std::string> text = Find(metadata, name);
  if (!text || text->empty() || text->front() == '-') return std::nullopt;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [parsed, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return value;
}

}  // namespace

Metadata MakeWriteMetadata(const WriteStamp& stamp) {
  Metadata metadata = {{kCoordinateName, stamp.coordinate},
                       {kAttemptName, fmt::format("{}", stamp.attempt)},
                       {kStartedName, fmt::format("{}", stamp.started_micros)},
                       {kWriteName, stamp.write}};
  if (!stamp.owner.empty()) metadata[kOwnerName] = EncodePart(stamp.owner);
  return metadata;
}

std::optional<WriteStamp> ParseWriteMetadata(const Metadata& metadata) {
  std::optional<std::string> coordinate = FindHex128(metadata, kCoordinateName);
  std::optional<std::string> write = FindHex128(metadata, kWriteName);
  const std::optional<int64_t> attempt = FindDecimal(metadata, kAttemptName);
  const std::optional<int64_t> started = FindDecimal(metadata, kStartedName);
  if (!coordinate || !write || !attempt || !started) return std::nullopt;
  WriteStamp stamp{*std::move(coordinate), *attempt, *started, *std::move(write), {}};
  if (const std::optional<std::string> owner = Find(metadata, kOwnerName)) {
    stamp.owner = DecodePart(*owner).value_or(*owner);
  }
  return stamp;
}

std::string StoredOwner(std::string_view owner) {
  const std::string encoded = EncodePart(owner);
  return DecodePart(encoded).value_or(encoded);
}

bool IsNewer(const WriteStamp& existing, const WriteStamp& mine) {
  if (existing.started_micros - mine.started_micros > kStartSkewMicros) return true;
  if (mine.started_micros - existing.started_micros > kStartSkewMicros) return false;
  return existing.attempt > mine.attempt;
}

}  // namespace airfreight
