// The input as an object's metadata, five fields separated by 0xFF. A stamp that is read is written
// and read as the same; of two stamps at most one is newer.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "freight/attempt.h"
#include "input.h"

namespace {

constexpr std::array<const char*, 5> kNames = {"af-coordinate", "af-attempt", "af-started",
                                               "af-write", "af-owner"};

std::optional<airfreight::WriteStamp> TakeStamp(std::string_view& text) {
  airfreight::Metadata metadata;
  for (const char* name : kNames) {
    std::string value = airfreight::TakeField(text);
    if (!value.empty()) metadata[name] = std::move(value);
  }
  return airfreight::ParseWriteMetadata(metadata);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using airfreight::IsNewer;
  std::string_view text = airfreight::FuzzText(data, size);
  const auto stamp = TakeStamp(text);
  if (!stamp) return 0;
  AIRFREIGHT_FUZZ_CHECK(stamp->attempt >= 0 && stamp->started_micros >= 0);
  AIRFREIGHT_FUZZ_CHECK(stamp->write.size() == 32 && stamp->coordinate.size() == 32);
  const airfreight::Metadata metadata = airfreight::MakeWriteMetadata(*stamp);
  for (const auto& [name, value] : metadata) {
    for (const char c : value) AIRFREIGHT_FUZZ_CHECK(c > 0x20 && c < 0x7f);
  }
  const auto again = airfreight::ParseWriteMetadata(metadata);
  AIRFREIGHT_FUZZ_CHECK(again);
  airfreight::WriteStamp stored = *stamp;
  stored.owner = airfreight::StoredOwner(stamp->owner);
  AIRFREIGHT_FUZZ_CHECK(*again == stored);
  AIRFREIGHT_FUZZ_CHECK(!IsNewer(*stamp, *stamp));
  if (const auto other = TakeStamp(text)) {
    AIRFREIGHT_FUZZ_CHECK(!IsNewer(*stamp, *other) || !IsNewer(*other, *stamp));
  }
  return 0;
}
