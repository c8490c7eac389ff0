#pragma once

/// \file
/// \brief What a process is told from outside, as an argument, so that whatever reads it can be
/// tested without changing the process.

#include <functional>
#include <optional>
#include <string>

#include "airfreight/result.h"

namespace airfreight {

/// \brief Access to environment variables and to small files.
struct Environment {
  /// The value of a variable. Absent when it is not set or empty: no one means to set an empty
  /// endpoint or an empty key.
  std::function<std::optional<std::string>(const char* name)> variable;
  /// The content of a file; absent when there is none or it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
  /// Whether a path is there and readable by this process.
  std::function<bool(const std::string& path)> readable;

  /// Those of this process.
  static Environment OfProcess();
};

}  // namespace airfreight
