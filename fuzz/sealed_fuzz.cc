// Any bytes as the end of a sealed object, as frames, and as the keys that they are opened with:
// nothing is opened but what was sealed, and what was sealed is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "freight/seal_value.h"
#include "input.h"
#include "seal/envelope.h"
#include "seal/frames.h"
#include "seal/sealing_keys.h"

namespace {

using airfreight::AsBytes;
using airfreight::Envelope;

void ReadEnvelope(std::string_view input) {
  std::string text(input.substr(0, airfreight::kEnvelopeBytes));
  text.resize(airfreight::kEnvelopeBytes);
  const auto envelope = Envelope::Parse(AsBytes(text));
  if (!envelope) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(envelope.error().message));
    return;
  }
  AIRFREIGHT_FUZZ_CHECK(envelope->Encode() == text);
  static const auto keys =
      airfreight::SealingKeys::Parse("s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").value();
  AIRFREIGHT_FUZZ_CHECK(!keys.Unwrap(*envelope));
}

void OpenFrames(std::string_view input) {
  const airfreight::Secret key(std::string(airfreight::kAesKeyBytes, 'k'));
  airfreight::FrameOpener made_up(key, {"c", "w"}, input.size());
  std::vector<std::byte> frame(airfreight::kFrameBytes);
  const size_t size = std::min<size_t>(made_up.SealedBytes(0), input.size());
  AIRFREIGHT_FUZZ_CHECK(!made_up.Open(0, AsBytes(input.substr(0, size)), frame.data()));

  airfreight::FrameSealer sealer(key, {"c", "w"});
  std::string stored;
  const auto out = [&](airfreight::ByteView bytes) -> airfreight::Status {
    stored += airfreight::AsText(bytes);
    return {};
  };
  AIRFREIGHT_FUZZ_CHECK(sealer.Append(AsBytes(input), out).has_value());
  AIRFREIGHT_FUZZ_CHECK(sealer.Finish(out).has_value());
  AIRFREIGHT_FUZZ_CHECK(stored.size() + airfreight::kEnvelopeBytes ==
                        airfreight::SealedSize(input.size()));
  airfreight::FrameOpener opener(key, {"c", "w"}, input.size());
  std::string_view rest = stored;
  std::string plain;
  for (uint64_t index = 0; index <= opener.last(); ++index) {
    const std::string_view sealed = rest.substr(0, opener.SealedBytes(index));
    AIRFREIGHT_FUZZ_CHECK(opener.Open(index, AsBytes(sealed), frame.data()));
    plain += airfreight::AsText(airfreight::ByteView(frame).first(opener.PlainBytes(index)));
    rest = rest.substr(sealed.size());
  }
  AIRFREIGHT_FUZZ_CHECK(plain == input);
}

// As the body of a row, which anybody may have written.
void OpenWhole(std::string_view input) {
  static const auto keys =
      airfreight::SealingKeys::Parse("s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").value();
  airfreight::DataKeys data_keys(keys);
  const auto made_up = airfreight::OpenValue(AsBytes(input), {"c", "w"}, data_keys);
  AIRFREIGHT_FUZZ_CHECK(!made_up && airfreight::IsOneLine(made_up.error().message));
  const auto sealed = airfreight::SealValue(airfreight::Body(input), {"c", "w"}, data_keys);
  AIRFREIGHT_FUZZ_CHECK(sealed.has_value());
  const auto opened = airfreight::OpenValue(sealed->view(), {"c", "w"}, data_keys);
  AIRFREIGHT_FUZZ_CHECK(opened && airfreight::AsText(opened->view()) == input);
  AIRFREIGHT_FUZZ_CHECK(!airfreight::OpenValue(sealed->view(), {"c", "v"}, data_keys));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = airfreight::FuzzText(data, size);
  if (const auto keys = airfreight::SealingKeys::Parse(input); !keys) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(keys.error().message));
  }
  ReadEnvelope(input);
  OpenFrames(input);
  OpenWhole(input);
  return 0;
}
