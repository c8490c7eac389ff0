#include "seal/envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "seal/key_list.h"

namespace airfreight {
namespace {

constexpr std::string_view kMagic = "AFSEALED";

void AppendShort(uint64_t number, std::string* out) {
  *out += static_cast<char>(number >> 8U);
  *out += static_cast<char>(number & 0xffU);
}

tl::unexpected<Error> NoEnvelope(std::string_view what) {
  return Fail(ErrorCode::kCorrupt,
              fmt::format("the end of the object is not the envelope of a sealed one: {}", what));
}

// Takes what is known to be there.
class Fields {
 public:
  explicit Fields(ByteView rest) : rest_(rest) {}
  ByteView Take(size_t size) {
    const ByteView taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  uint64_t Byte() { return std::to_integer<uint64_t>(Take(1)[0]); }
  uint64_t Short() {
    const uint64_t high = Byte();
    return (high << 8U) | Byte();
  }
  ByteView rest() const { return rest_; }

 private:
  ByteView rest_;
};

}  // namespace

std::optional<uint64_t> PlainSize(uint64_t sealed) {
  constexpr uint64_t kTag = kSealedFrameBytes - kFrameBytes;
  if (sealed < kEnvelopeBytes + kTag) return std::nullopt;
  const uint64_t frames = sealed - kEnvelopeBytes;
  const uint64_t last = frames % kSealedFrameBytes;
  if (last < kTag) return std::nullopt;
  return frames / kSealedFrameBytes * kFrameBytes + last - kTag;
}

std::string Envelope::Encode() const {
  std::string out(kMagic);
  AppendShort(static_cast<uint64_t>(kSealedVersion), &out);
  out += AsText(salt);
  out += static_cast<char>(key_id.size());
  out += key_id;
  AppendShort(wrapped.size(), &out);
  out += wrapped;
  out.resize(kEnvelopeBytes, '\0');
  return out;
}

Result<Envelope> Envelope::Parse(ByteView bytes) {
  if (bytes.size() != kEnvelopeBytes) return NoEnvelope("it is too short");
  Fields fields(bytes);
  if (AsText(fields.Take(kMagic.size())) != kMagic) return NoEnvelope("it begins with other bytes");
  const uint64_t version = fields.Short();
  if (version > static_cast<uint64_t>(kSealedVersion)) {
    return Fail(
        ErrorCode::kNewerFormat,
        fmt::format("the object is sealed in version {}, and this release knows {}; install "
                    "the release of airfreight that wrote it",
                    version, kSealedVersion));
  }
  if (version == 0) return NoEnvelope("it has no version");
  Envelope envelope;
  const ByteView salt = fields.Take(envelope.salt.size());
  std::copy(salt.begin(), salt.end(), envelope.salt.begin());
  // (Both lengths together are within what is there: 64 and 900 of 1,024.)
  const uint64_t id_size = fields.Byte();
  if (id_size > kMaxKeyIdBytes) return NoEnvelope("its key id is too long");
  envelope.key_id = AsText(fields.Take(id_size));
  if (!IsKeyId(envelope.key_id)) return NoEnvelope("it has no key id");
  const uint64_t wrapped_size = fields.Short();
  if (wrapped_size == 0 || wrapped_size > kMaxWrappedBytes) {
    return NoEnvelope("its wrapped key has a length that none has");
  }
  envelope.wrapped = AsText(fields.Take(wrapped_size));
  const ByteView rest = fields.rest();
  if (std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return NoEnvelope("it does not end with zeros");
  }
  return envelope;
}

}  // namespace airfreight
