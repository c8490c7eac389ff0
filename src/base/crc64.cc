#include "base/crc64.h"

#include <array>
#include <cstddef>

#include "base/slicing_crc.h"

#if defined(__x86_64__)
#include <wmmintrin.h>
#define AIRFREIGHT_CRC64_HARDWARE 1
// The rest of the library is built for any x86-64; only these functions ask for PCLMULQDQ, and run
// only after the processor has said that it has it.
#define AIRFREIGHT_CRC64_TARGET __attribute__((target("pclmul")))
#endif

namespace airfreight::internal {
namespace {

// The polynomial 0xAD93D23594C93659 with its bits reversed. Bit i of a word stands for x^(63 - i).
constexpr uint64_t kPolynomial = 0x9A6C9329AC4BC9B5;

using Slicing = SlicingCrc<uint64_t, kPolynomial>;

}  // namespace

uint64_t ExtendCrc64Portable(uint64_t crc, ByteView bytes) {
  return ~Slicing::Step(~crc, bytes.data(), bytes.size());
}

#ifdef AIRFREIGHT_CRC64_HARDWARE

namespace {

// x^n modulo the polynomial.
constexpr uint64_t PowerOfX(unsigned n) {
  uint64_t power = uint64_t{1} << 63;
  for (; n > 0; --n) power = Slicing::MultiplyByX(power);
  return power;
}

// Folding (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009): 128 bits that have `distance` bits behind them have, modulo the
// polynomial, the same rest as 128 bits `distance` further on. Their first half counts x^64 more
// than the second; a product of two words with reversed bits comes out with x^1 too many.
struct Fold {
  uint64_t first;
  uint64_t second;
};
constexpr Fold FoldOver(unsigned distance) {
  return {PowerOfX(distance + 64 - 1), PowerOfX(distance - 1)};
}
constexpr size_t kLane = 16;          // Bytes of a register.
constexpr size_t kBlock = 4 * kLane;  // Four of them, since an answer takes several cycles.
constexpr Fold kOverBlock = FoldOver(8 * kBlock);
constexpr Fold kOverLane = FoldOver(8 * kLane);

AIRFREIGHT_CRC64_TARGET inline __m128i Load(const std::byte* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

AIRFREIGHT_CRC64_TARGET inline __m128i Constant(const Fold& fold) {
  return _mm_set_epi64x(static_cast<int64_t>(fold.second), static_cast<int64_t>(fold.first));
}

AIRFREIGHT_CRC64_TARGET inline __m128i FoldInto(__m128i value, __m128i fold, __m128i next) {
  const __m128i first = _mm_clmulepi64_si128(value, fold, 0x00);
  const __m128i second = _mm_clmulepi64_si128(value, fold, 0x11);
  return _mm_xor_si128(_mm_xor_si128(first, second), next);
}

}  // namespace

AIRFREIGHT_CRC64_TARGET uint64_t ExtendCrc64Hardware(uint64_t crc, ByteView bytes) {
  const std::byte* data = bytes.data();
  size_t left = bytes.size();
  crc = ~crc;
  if (left >= 2 * kBlock) {
    __m128i lanes[4] = {_mm_xor_si128(Load(data), _mm_set_epi64x(0, static_cast<int64_t>(crc))),
                        Load(data + kLane), Load(data + 2 * kLane), Load(data + 3 * kLane)};
    const __m128i over_block = Constant(kOverBlock);
    for (data += kBlock, left -= kBlock; left >= kBlock; data += kBlock, left -= kBlock) {
      for (size_t i = 0; i < 4; ++i) {
        lanes[i] = FoldInto(lanes[i], over_block, Load(data + i * kLane));
      }
    }
    const __m128i over_lane = Constant(kOverLane);
    __m128i joined = lanes[0];
    for (size_t i = 1; i < 4; ++i) joined = FoldInto(joined, over_lane, lanes[i]);
    std::array<std::byte, kLane> rest;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), joined);
    crc = Slicing::Step(0, rest.data(), rest.size());
  }
  return ~Slicing::Step(crc, data, left);
}

bool HasHardwareCrc64() { return __builtin_cpu_supports("pclmul") != 0; }

#else

uint64_t ExtendCrc64Hardware(uint64_t crc, ByteView bytes) {
  return ExtendCrc64Portable(crc, bytes);
}

bool HasHardwareCrc64() { return false; }

#endif

}  // namespace airfreight::internal

namespace airfreight {

uint64_t ExtendCrc64(uint64_t crc, ByteView bytes) {
  static const bool hardware = internal::HasHardwareCrc64();
  return hardware ? internal::ExtendCrc64Hardware(crc, bytes)
                  : internal::ExtendCrc64Portable(crc, bytes);
}

}  // namespace airfreight
