#pragma once

/// \file
/// \brief Which machine this is.

#include <cstddef>
#include <string>

namespace airfreight {

/// Longest name that is kept: HOST_NAME_MAX of Linux (limits.h).
inline constexpr size_t kMaxHostBytes = 64;

/// The name that this machine has for itself (`hostname`); the pod's or the container's in one.
/// Always visible UTF-8 of at most kMaxHostBytes; empty when it has none.
std::string HostName();

}  // namespace airfreight
