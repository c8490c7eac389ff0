#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>

#include "base/slicing_crc.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define AIRFREIGHT_CRC32C_HARDWARE 1
// The rest of the library is built for any x86-64; only these functions ask for SSE 4.2, and run
// only after the processor has said that it has it.
#define AIRFREIGHT_CRC32C_TARGET __attribute__((target("sse4.2")))
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define AIRFREIGHT_CRC32C_HARDWARE 1
#define AIRFREIGHT_CRC32C_TARGET
#endif

namespace airfreight::internal {
namespace {

// The polynomial 0x1EDC6F41 with its bits reversed, as RFC 3720 computes it.
constexpr uint32_t kPolynomial = 0x82F63B78;

using Slicing = SlicingCrc<uint32_t, kPolynomial>;
using Table = Slicing::Table;

}  // namespace

uint32_t ExtendCrc32cPortable(uint32_t crc, ByteView bytes) {
  return ~Slicing::Step(~crc, bytes.data(), bytes.size());
}

#ifdef AIRFREIGHT_CRC32C_HARDWARE

namespace {

// The instruction takes 8 bytes, can start every cycle and answers after three. Three independent
// streams, one for each third of a block, keep it busy; their checksums are then joined by moving
// the earlier ones over the length of the later ones, which is a linear map of 32 bits: four table
// look-ups. Two block sizes, so that the joins cost nothing for large inputs and medium ones gain
// as well.
constexpr size_t kLongStream = 8192;
constexpr size_t kShortStream = 256;

// Advance[k][b] is what byte k of a register, when it holds b, becomes after a number of zero
// bytes.
using Advance = std::array<Table, 4>;

constexpr uint32_t ApplyColumns(const std::array<uint32_t, 32>& columns, uint32_t value) {
  uint32_t result = 0;
  for (size_t bit = 0; bit < 32; ++bit) {
    if (((value >> bit) & 1) != 0) result ^= columns[bit];
  }
  return result;
}

// `length` is a power of two: the map over one zero byte is squared until it spans that many.
constexpr Advance MakeAdvance(size_t length) {
  std::array<uint32_t, 32> columns{};
  for (size_t bit = 0; bit < 32; ++bit) columns[bit] = Slicing::StepByte(uint32_t{1} << bit, 0);
  for (size_t span = 1; span < length; span *= 2) {
    std::array<uint32_t, 32> squared{};
    for (size_t bit = 0; bit < 32; ++bit) squared[bit] = ApplyColumns(columns, columns[bit]);
    columns = squared;
  }
  Advance advance{};
  for (size_t k = 0; k < 4; ++k) {
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const uint32_t rest = byte & (byte - 1);
      const auto lowest = static_cast<size_t>(std::countr_zero(byte));
      advance[k][byte] = advance[k][rest] ^ columns[8 * k + lowest];
    }
  }
  return advance;
}
constexpr Advance kOverLongStream = MakeAdvance(kLongStream);
constexpr Advance kOverShortStream = MakeAdvance(kShortStream);

uint32_t Move(const Advance& advance, uint32_t crc) {
  return advance[0][crc & 0xFF] ^ advance[1][(crc >> 8) & 0xFF] ^ advance[2][(crc >> 16) & 0xFF] ^
         advance[3][crc >> 24];
}

#if defined(__x86_64__)
AIRFREIGHT_CRC32C_TARGET inline uint64_t Step8(uint64_t crc, const std::byte* data) {
  return _mm_crc32_u64(crc, LoadLittleEndian(data));
}
AIRFREIGHT_CRC32C_TARGET inline uint32_t Step1(uint32_t crc, std::byte byte) {
  return _mm_crc32_u8(crc, std::to_integer<uint8_t>(byte));
}
#else
inline uint64_t Step8(uint64_t crc, const std::byte* data) {
  return __crc32cd(static_cast<uint32_t>(crc), LoadLittleEndian(data));
}
inline uint32_t Step1(uint32_t crc, std::byte byte) {
  return __crc32cb(crc, std::to_integer<uint8_t>(byte));
}
#endif

// Takes as many blocks of three streams off the front of `data` as there are.
template <size_t kStream>
AIRFREIGHT_CRC32C_TARGET uint64_t ThreeStreams(uint64_t crc, const Advance& advance,
                                               const std::byte** data, size_t* left) {
  while (*left >= 3 * kStream) {
    const std::byte* p = *data;
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kStream; i += 8) {
      crc = Step8(crc, p + i);
      second = Step8(second, p + kStream + i);
      third = Step8(third, p + 2 * kStream + i);
    }
    const uint32_t joined =
        Move(advance, static_cast<uint32_t>(crc)) ^ static_cast<uint32_t>(second);
    crc = Move(advance, joined) ^ static_cast<uint32_t>(third);
    *data += 3 * kStream;
    *left -= 3 * kStream;
  }
  return crc;
}

}  // namespace

AIRFREIGHT_CRC32C_TARGET uint32_t ExtendCrc32cHardware(uint32_t crc, ByteView bytes) {
  const std::byte* data = bytes.data();
  size_t left = bytes.size();
  uint64_t wide = ~crc;
  wide = ThreeStreams<kLongStream>(wide, kOverLongStream, &data, &left);
  wide = ThreeStreams<kShortStream>(wide, kOverShortStream, &data, &left);
  for (; left >= 8; left -= 8, data += 8) wide = Step8(wide, data);
  auto narrow = static_cast<uint32_t>(wide);
  for (; left > 0; --left, ++data) narrow = Step1(narrow, *data);
  return ~narrow;
}

bool HasHardwareCrc32c() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  return true;  // Compiled for processors that have it.
#endif
}

#else

uint32_t ExtendCrc32cHardware(uint32_t crc, ByteView bytes) {
  return ExtendCrc32cPortable(crc, bytes);
}
bool HasHardwareCrc32c() { return false; }

#endif

}  // namespace airfreight::internal

namespace airfreight {

uint32_t ExtendCrc32c(uint32_t crc, ByteView bytes) {
  return internal::HasHardwareCrc32c() ? internal::ExtendCrc32cHardware(crc, bytes)
                                       : internal::ExtendCrc32cPortable(crc, bytes);
}

namespace {

// Polynomials modulo that of CRC-32C, bits reversed as everywhere here: the highest bit is x^0.
constexpr uint32_t kOne = uint32_t{1} << 31;

using internal::Slicing;

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = Slicing::MultiplyByX(b);
  }
  return product;
}

// kPowers[k] is x^(8 * 2^k): moves a checksum over 2^k zero bytes.
constexpr std::array<uint32_t, 64> MakePowers() {
  std::array<uint32_t, 64> powers{};
  uint32_t power = kOne;
  for (int bit = 0; bit < 8; ++bit) power = Slicing::MultiplyByX(power);
  for (uint32_t& entry : powers) {
    entry = power;
    power = Multiply(power, power);
  }
  return powers;
}
constexpr std::array<uint32_t, 64> kPowers = MakePowers();

}  // namespace

Crc32cJoin::Crc32cJoin(uint64_t second_length) : second_length_(second_length), factor_(kOne) {
  for (size_t k = 0; second_length != 0; ++k, second_length >>= 1) {
    if ((second_length & 1) != 0) factor_ = Multiply(kPowers[k], factor_);
  }
}

uint32_t Crc32cJoin::operator()(uint32_t first, uint32_t second) const {
  return Multiply(factor_, first) ^ second;
}

}  // namespace airfreight
