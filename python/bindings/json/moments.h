#pragma once

/// \file
/// \brief Dates and times between ISO 8601 text, as `isoformat` writes it, and the bytes in which
/// Python pickles them: a date is year (two bytes, the higher first), month and day; a time hour,
/// minute, second and microsecond (three bytes).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace airfreight::json {

constexpr size_t kDateBytes = 4;
constexpr size_t kTimeBytes = 6;
/// Room for the text of both.
using MomentText = std::array<char, 32>;
using MomentState = std::array<unsigned char, kDateBytes + kTimeBytes>;

namespace internal {

inline char* SpellDigits(unsigned value, int count, char* at) {
  for (char* digit = at + count; digit != at; value /= 10) {
    *--digit = static_cast<char>('0' + value % 10);
  }
  return at + count;
}

// The number that `count` digits spell; -1: they are none.
inline int ReadDigits(std::string_view text, size_t at, size_t count) {
  int value = 0;
  for (const char digit : text.substr(at, count)) {
    if (digit < '0' || digit > '9') return -1;
    value = value * 10 + (digit - '0');
  }
  return value;
}

}  // namespace internal

/// `2026-01-01`. Returns the end of the text.
inline char* SpellDate(const unsigned char* state, char* at) {
  at = internal::SpellDigits(static_cast<unsigned>(state[0] << 8 | state[1]), 4, at);
  *at++ = '-';
  at = internal::SpellDigits(state[2], 2, at);
  *at++ = '-';
  return internal::SpellDigits(state[3], 2, at);
}

/// `12:30:00`, or `12:30:00.000001`. Returns the end of the text.
inline char* SpellTime(const unsigned char* state, char* at) {
  at = internal::SpellDigits(state[0], 2, at);
  *at++ = ':';
  at = internal::SpellDigits(state[1], 2, at);
  *at++ = ':';
  at = internal::SpellDigits(state[2], 2, at);
  const auto micros = static_cast<unsigned>(state[3] << 16 | state[4] << 8 | state[5]);
  if (micros == 0) return at;
  *at++ = '.';
  return internal::SpellDigits(micros, 6, at);
}

/// The inverse of `SpellDate`; false for any other text.
inline bool ReadDate(std::string_view text, unsigned char* state) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const int year = internal::ReadDigits(text, 0, 4);
  const int month = internal::ReadDigits(text, 5, 2);
  const int day = internal::ReadDigits(text, 8, 2);
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (day > kDays[static_cast<size_t>(month - 1)] + (month == 2 && leap ? 1 : 0)) return false;
  state[0] = static_cast<unsigned char>(year >> 8);
  state[1] = static_cast<unsigned char>(year & 0xFF);
  state[2] = static_cast<unsigned char>(month);
  state[3] = static_cast<unsigned char>(day);
  return true;
}

/// The inverse of `SpellTime`; false for any other text.
inline bool ReadTime(std::string_view text, unsigned char* state) {
  const bool fraction = text.size() == 15 && text[8] == '.';
  if ((text.size() != 8 && !fraction) || text[2] != ':' || text[5] != ':') return false;
  const int hour = internal::ReadDigits(text, 0, 2);
  const int minute = internal::ReadDigits(text, 3, 2);
  const int second = internal::ReadDigits(text, 6, 2);
  const int micros = fraction ? internal::ReadDigits(text, 9, 6) : 0;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
  if (second < 0 || second > 59 || micros < 0) return false;
  state[0] = static_cast<unsigned char>(hour);
  state[1] = static_cast<unsigned char>(minute);
  state[2] = static_cast<unsigned char>(second);
  state[3] = static_cast<unsigned char>(micros >> 16);
  state[4] = static_cast<unsigned char>(micros >> 8 & 0xFF);
  state[5] = static_cast<unsigned char>(micros & 0xFF);
  return true;
}

}  // namespace airfreight::json
