#pragma once

/// \file
/// \brief The small file beside an object's file: content type and metadata.

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "airfreight/store.h"

namespace airfreight {

/// What every name of the store's own begins with. No key that a Coordinate gives has an `@`.
inline constexpr std::string_view kReservedPrefix = ".@";

/// Longest file name that leaves room for its sidecar's: NAME_MAX (255, linux/limits.h) less `.@`,
/// `@` and the longest token, two numbers of 16 hexadecimal digits with a dash between.
inline constexpr size_t kMaxNameBytes = 255 - 2 - 1 - 33;

/// \brief What binds a sidecar to one state of its file: length and modification time.
///
/// Not the inode number, so that a copy which keeps times keeps metadata.
std::string SidecarToken(const struct stat& file);

/// The object's version: as the token, and the inode number, which no two files have at one time.
std::string FileVersion(const struct stat& file);

/// `.@<name>@<token>`
std::string SidecarName(std::string_view name, std::string_view token);

/// The start of the names of all sidecars of `name`, whatever their token.
std::string SidecarNamePrefix(std::string_view name);

struct Sidecar {
  std::string content_type;
  Metadata metadata;
};

/// Lines of `name: value`, the first one with the format's version, the last one `end`, so that one
/// that a power failure has cut short is known as such.
std::string PrintSidecar(const Sidecar& sidecar);

/// Nothing when the text is not a whole sidecar of this version.
std::optional<Sidecar> ParseSidecar(std::string_view text);

}  // namespace airfreight
