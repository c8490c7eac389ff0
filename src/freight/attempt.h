#pragma once

/// \file
/// \brief Which of two writers of one coordinate is the later one, and the object metadata that
/// answers it. Specification: `formats/reference.md`, "Attempts".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/store.h"

namespace airfreight {

/// What an object says of the write that made it.
struct WriteStamp {
  std::string coordinate;      ///< Coordinate::Hash().
  int64_t attempt = 0;         ///< Airflow's try number; 0 when not known.
  int64_t started_micros = 0;  ///< Start of the task instance, microseconds since 1970.
  std::string write;           ///< Write id: 32 hex digits.
  std::string owner;           ///< The deployment that wrote; empty when it has no id.

  bool operator==(const WriteStamp&) const = default;
};

/// Starts this near to each other are ordered by attempt number: hosts whose clocks are kept by NTP
/// differ by far less, and a retry of Airflow starts later by its delay (five minutes by default).
inline constexpr int64_t kStartSkewMicros = 5'000'000;

/// The metadata for an object. An owner is percent-encoded: metadata is printable ASCII.
Metadata MakeWriteMetadata(const WriteStamp& stamp);

/// The inverse; nothing when an entry is missing or malformed, as on an object that is not ours.
std::optional<WriteStamp> ParseWriteMetadata(const Metadata& metadata);

/// What ParseWriteMetadata gives for an owner: one that is too long for a key's part comes back in
/// its shortened form, which still tells two owners apart.
std::string StoredOwner(std::string_view owner);

/// Whether `existing` was written by a newer attempt than `mine`, so that mine must not replace it:
/// it started later by more than kStartSkewMicros, or about when mine did with a higher attempt.
bool IsNewer(const WriteStamp& existing, const WriteStamp& mine);

}  // namespace airfreight
