// Any text as signing keys, and any row under them: keys are read or refused in one line, and only
// what they signed is accepted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/reference.h"
#include "check.h"
#include "input.h"
#include "seal/signature.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using airfreight::Reference;
  using airfreight::SigningKeys;
  std::string_view input = airfreight::FuzzText(data, size);
  const std::string text = airfreight::TakeField(input);
  const auto keys = SigningKeys::Parse(text);
  if (!keys) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(keys.error().message));
    return 0;
  }
  auto reference = Reference::Parse(input);
  if (!reference) return 0;
  const bool accepted = keys->Verify(*reference).has_value();
  const std::string signature = reference->signature;
  if (!keys->Sign(&*reference)) return 0;
  AIRFREIGHT_FUZZ_CHECK(keys->Verify(*reference).has_value());
  // With several keys another than the first may have signed it.
  if (accepted && keys->Ids().size() == 1) AIRFREIGHT_FUZZ_CHECK(signature == reference->signature);
  return 0;
}
