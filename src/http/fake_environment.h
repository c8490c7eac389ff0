#pragma once

/// \file
/// \brief An Environment of literals, for tests.

#include <map>
#include <optional>
#include <string>

#include "http/environment.h"

namespace airfreight {

struct FakeEnvironment {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;

  Environment Get() const {
    const auto find = [](const std::map<std::string, std::string>& in,
                         const std::string& name) -> std::optional<std::string> {
      const auto found = in.find(name);
      if (found == in.end()) return std::nullopt;
      return found->second;
    };
    Environment environment;
    environment.variable = [all = variables, find](const char* name) { return find(all, name); };
    environment.read_file = [all = files, find](const std::string& path) {
      return find(all, path);
    };
    environment.readable = [all = files](const std::string& path) { return all.contains(path); };
    return environment;
  }
};

}  // namespace airfreight
