#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace airfreight {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr int64_t kSecondsPerDay = 86400;
constexpr int64_t kFirstSecond = -62167219200;  // 0000-01-01T00:00:00Z
constexpr int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z

struct Civil {
  int year;
  unsigned month, day, weekday;
  int64_t hour, minute, second;
};

Civil ToCivil(int64_t unix_seconds) {
  using std::chrono::days;
  const int64_t held = std::clamp(unix_seconds, kFirstSecond, kLastSecond);
  int64_t day = held / kSecondsPerDay;
  int64_t rest = held % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --day;
  }
  const std::chrono::sys_days date{days{day}};
  const std::chrono::year_month_day ymd{date};
  return {static_cast<int>(ymd.year()),
          static_cast<unsigned>(ymd.month()),
          static_cast<unsigned>(ymd.day()),
          std::chrono::weekday{date}.c_encoding(),
          rest / 3600,
          rest / 60 % 60,
          rest % 60};
}

// The number that `digits` characters at `pos` spell, -1 when they are not all digits.
int NumberAt(std::string_view text, size_t pos, size_t digits) {
  int value = 0;
  for (char c : text.substr(pos, digits)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// A leap second (:60) is taken as the second before it: clocks that keep Unix time have no other.
std::optional<int64_t> FromCivil(int year, int month, int day, int hour, int minute, int second) {
  if (year < 0 || month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return days * kSecondsPerDay + int64_t{hour} * 3600 + int64_t{minute} * 60 + std::min(second, 59);
}

template <typename Duration>
int64_t SinceEpoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Duration>(now).count();
}

}  // namespace

int64_t UnixSecondsNow() { return SinceEpoch<std::chrono::seconds>(); }
int64_t UnixMicrosNow() { return SinceEpoch<std::chrono::microseconds>(); }

std::string FormatIso8601(int64_t unix_seconds) {
  const Civil t = ToCivil(unix_seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", t.year, t.month, t.day, t.hour,
                     t.minute, t.second);
}

// Written out, because every request has one in it.
std::string FormatBasicIso8601(int64_t unix_seconds) {
  const Civil t = ToCivil(unix_seconds);
  std::string text = "yyyymmddThhmmssZ";
  const auto write = [&text](size_t end, size_t digits, int64_t number) {
    for (; digits > 0; --digits, number /= 10) text[--end] = static_cast<char>('0' + number % 10);
  };
  write(4, 4, t.year);
  write(6, 2, t.month);
  write(8, 2, t.day);
  write(11, 2, t.hour);
  write(13, 2, t.minute);
  write(15, 2, t.second);
  return text;
}

std::string FormatHttpDate(int64_t unix_seconds) {
  const Civil t = ToCivil(unix_seconds);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[t.weekday], t.day,
                     kMonths[t.month - 1], t.year, t.hour, t.minute, t.second);
}

std::optional<int64_t> ParseIso8601(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size() || text.back() != 'Z') return std::nullopt;
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] != 'd' && text[i] != kShape[i]) return std::nullopt;
  }
  const std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  if (!fraction.empty()) {
    const std::string_view digits = fraction.substr(1);
    if (fraction[0] != '.' || digits.empty()) return std::nullopt;
    if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  }
  return FromCivil(NumberAt(text, 0, 4), NumberAt(text, 5, 2), NumberAt(text, 8, 2),
                   NumberAt(text, 11, 2), NumberAt(text, 14, 2), NumberAt(text, 17, 2));
}

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  constexpr std::string_view kShape = "www, dd www dddd dd:dd:dd GMT";
  if (text.size() != kShape.size()) return std::nullopt;
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] != 'd' && kShape[i] != 'w' && text[i] != kShape[i]) return std::nullopt;
  }
  const auto* month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  return FromCivil(NumberAt(text, 12, 4), static_cast<int>(month - kMonths.begin()) + 1,
                   NumberAt(text, 5, 2), NumberAt(text, 17, 2), NumberAt(text, 20, 2),
                   NumberAt(text, 23, 2));
}

}  // namespace airfreight
