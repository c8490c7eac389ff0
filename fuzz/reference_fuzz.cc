// Whatever parses can be written, and what is written is read as the same and written the same
// again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/reference.h"
#include "check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using airfreight::Reference;
  const auto parsed = Reference::Parse({reinterpret_cast<const char*>(data), size});
  if (!parsed) return 0;
  const auto json = parsed->ToJson();
  if (!json) {
    // Escaped, names take up to six times what they took.
    AIRFREIGHT_FUZZ_CHECK(json.error().code == airfreight::ErrorCode::kTooLarge);
    return 0;
  }
  for (char c : *json) AIRFREIGHT_FUZZ_CHECK(c >= 0x20 && c < 0x7F);
  const auto again = Reference::Parse(*json);
  AIRFREIGHT_FUZZ_CHECK(again);
  AIRFREIGHT_FUZZ_CHECK(again->coordinate == parsed->coordinate);
  AIRFREIGHT_FUZZ_CHECK(again->uri == parsed->uri && again->digest == parsed->digest);
  AIRFREIGHT_FUZZ_CHECK(again->size_bytes == parsed->size_bytes && again->rows == parsed->rows);
  AIRFREIGHT_FUZZ_CHECK(again->tail.has_value() == parsed->tail.has_value());
  if (parsed->tail) {
    AIRFREIGHT_FUZZ_CHECK(again->tail->offset == parsed->tail->offset);
    AIRFREIGHT_FUZZ_CHECK(again->tail->digest == parsed->tail->digest);
    // What a partial read relies on before it has read anything.
    AIRFREIGHT_FUZZ_CHECK(parsed->tail->offset <= parsed->size_bytes);
    AIRFREIGHT_FUZZ_CHECK(parsed->tail->digest.starts_with("crc32c:"));
  }
  // Whether it may be read still.
  AIRFREIGHT_FUZZ_CHECK(again->expires == parsed->expires);
  // What is for people is cut, never made up.
  AIRFREIGHT_FUZZ_CHECK(again->columns.size() <= parsed->columns.size());
  AIRFREIGHT_FUZZ_CHECK(again->nulls.empty() || again->nulls.size() == again->columns.size());
  AIRFREIGHT_FUZZ_CHECK(again->preview.size() <= parsed->preview.size());
  AIRFREIGHT_FUZZ_CHECK(again->ToJson().value_or("") == *json);
  return 0;
}
