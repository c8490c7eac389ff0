// The input as the file beside an object's file, cut short at each of its line ends too. What
// parses is printed and read as the same, is metadata that a store takes, and was whole.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/checks.h"
#include "store/file/sidecar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  const auto sidecar = airfreight::ParseSidecar(text);
  if (!sidecar) return 0;
  AIRFREIGHT_FUZZ_CHECK(airfreight::CheckMetadata(sidecar->metadata));
  AIRFREIGHT_FUZZ_CHECK(sidecar->content_type.find('\n') == std::string_view::npos);
  const std::string printed = airfreight::PrintSidecar(*sidecar);
  const auto again = airfreight::ParseSidecar(printed);
  AIRFREIGHT_FUZZ_CHECK(again);
  AIRFREIGHT_FUZZ_CHECK(again->metadata == sidecar->metadata);
  AIRFREIGHT_FUZZ_CHECK(again->content_type == sidecar->content_type);
  // A power failure leaves the beginning of a file: that is no sidecar.
  for (size_t end = 0; end < printed.size(); ++end) {
    AIRFREIGHT_FUZZ_CHECK(!airfreight::ParseSidecar(std::string_view(printed).substr(0, end)));
    if (printed.size() > 4096) break;
  }
  return 0;
}
