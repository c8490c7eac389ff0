#pragma once

/// \file
/// \brief Where an XCom belongs, and the object key that follows from it. Specification:
/// `formats/key.md`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"

namespace airfreight {

/// Longest encoded part of a key before it is shortened to a readable head and a hash. File systems
/// refuse names above 255 bytes (limits.h NAME_MAX), and stores that keep files need room for a
/// suffix.
inline constexpr size_t kMaxPartBytes = 200;

/// \brief Which one of a task's instances, in the form that the Airflow release has.
struct Instance {
  enum class Kind {
    kMap,    ///< `map_<i>`: Airflow up to 3.3; -1 when the task is not mapped.
    kTi,     ///< `ti-<ti_id>`: Airflow 3.4, where every attempt keeps its rows.
    kWrite,  ///< `write-<random>`: Airflow 3.4 where one task writes for another.
  };
  Kind kind = Kind::kMap;
  int64_t map_index = -1;  ///< With kMap only.
  std::string id;          ///< With kTi and kWrite only.

  static Instance Map(int64_t index) { return {Kind::kMap, index, {}}; }
  static Instance Ti(std::string id) { return {Kind::kTi, -1, std::move(id)}; }
  static Instance Write(std::string id) { return {Kind::kWrite, -1, std::move(id)}; }
  bool operator==(const Instance&) const = default;
};

/// \brief The full name of one XCom value: five fields, and a sixth for objects put by hand.
///
/// Plain data. Fields are UTF-8 text without NUL; everything else is legal, including the empty
/// string, `..` and `/`.
struct Coordinate {
  std::string dag;
  std::string run;
  std::string task;
  Instance instance;
  std::string key;
  /// Set for an object that `airfreight.put` wrote: its name or ordinal. Its object lies under
  /// `…/<instance>/_put/`, where `key` plays no part (and is empty).
  std::optional<std::string> put_name;

  bool operator==(const Coordinate&) const = default;

  /// Invalid when a field is not UTF-8 or holds a NUL, naming the field.
  Status Validate() const;

  /// The object key without the store's prefix: `<dag>/<run>/<task>/<instance>/<key>.<extension>`.
  /// One-to-one: two different (coordinate, extension) pairs never share a key (beyond a 128-bit
  /// hash for parts above kMaxPartBytes). `extension` must match `[a-z0-9]{1,16}`.
  Result<std::string> ObjectKey(std::string_view extension) const;

  /// The inverse of ObjectKey. Invalid when `key` is none of ours; NotFound when a part was
  /// shortened to a hash, so that the coordinate cannot be read back from the key alone.
  static Result<Coordinate> FromObjectKey(std::string_view key, std::string* extension = nullptr);

  /// 128 bits of SHA-256 over all fields, as 32 hex digits: what an object's metadata carries to
  /// name its coordinate in little room.
  std::string Hash() const;

  /// For messages: `dag 'a', run 'r', task 't', map index -1, key 'k'`.
  std::string ToString() const;
};

/// One part of a key: bytes outside `[A-Za-z0-9._-]` as `%XX`; `.` and `..` whole; the empty part
/// as `~`; longer than kMaxPartBytes as `<head>~<32 hex digits>`.
std::string EncodePart(std::string_view part);

/// The inverse. Invalid when `encoded` is not what EncodePart gives; NotFound when it was hashed.
Result<std::string> DecodePart(std::string_view encoded);

}  // namespace airfreight
