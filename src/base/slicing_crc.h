#pragma once

/// \file
/// \brief A reflected CRC of 32 or 64 bits by tables: what base/crc32c.h and base/crc64.h fall back
/// to where the processor has no instruction for theirs, and finish with where it has one.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace airfreight::internal {

inline uint64_t LoadLittleEndian(const std::byte* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// \brief Slicing-by-8 (Kounavis and Berry, "Novel Table Lookup-Based Algorithms for
/// High-Performance CRC Generation", 2008).
///
/// \tparam Crc uint32_t or uint64_t. \tparam kPolynomial With its bits reversed: the highest bit of
/// a word is x^0.
///
/// Threads: may be shared; nothing changes.
template <typename Crc, Crc kPolynomial>
struct SlicingCrc {
  using Table = std::array<Crc, 256>;

  static constexpr Crc MultiplyByX(Crc crc) {
    return (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  }

  /// tables[k][b] is the checksum of byte b followed by k zero bytes.
  static constexpr std::array<Table, 8> MakeTables() {
    std::array<Table, 8> tables{};
    for (size_t byte = 0; byte < 256; ++byte) {
      auto crc = static_cast<Crc>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = MultiplyByX(crc);
      tables[0][byte] = crc;
    }
    for (size_t k = 1; k < 8; ++k) {
      for (size_t byte = 0; byte < 256; ++byte) {
        const Crc before = tables[k - 1][byte];
        tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
      }
    }
    return tables;
  }
  static constexpr std::array<Table, 8> kTables = MakeTables();

  /// The register after one more byte; the inversions before and after are the caller's.
  static constexpr Crc StepByte(Crc crc, uint8_t byte) {
    return (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xFF];
  }

  /// The register after `size` more bytes, likewise.
  static Crc Step(Crc crc, const std::byte* data, size_t size) {
    for (; size >= 8; size -= 8, data += 8) {
      const uint64_t word = LoadLittleEndian(data) ^ crc;
      crc = kTables[7][word & 0xFF] ^ kTables[6][(word >> 8) & 0xFF] ^
            kTables[5][(word >> 16) & 0xFF] ^ kTables[4][(word >> 24) & 0xFF] ^
            kTables[3][(word >> 32) & 0xFF] ^ kTables[2][(word >> 40) & 0xFF] ^
            kTables[1][(word >> 48) & 0xFF] ^ kTables[0][word >> 56];
    }
    for (; size > 0; --size, ++data) crc = StepByte(crc, std::to_integer<uint8_t>(*data));
    return crc;
  }
};

}  // namespace airfreight::internal
