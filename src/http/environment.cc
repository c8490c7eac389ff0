#include "http/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace airfreight {
namespace {

// Settings files are written by hand. Whoever points us at a disk image gets its beginning.
constexpr std::streamsize kMaxFile = 1 << 20;

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content(static_cast<size_t>(kMaxFile), '\0');
  file.read(content.data(), kMaxFile);
  if (file.bad()) return std::nullopt;
  content.resize(static_cast<size_t>(file.gcount()));
  return content;
}

}  // namespace

Environment Environment::OfProcess() {
  Environment environment;
  environment.variable = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
  environment.read_file = ReadFile;
  environment.readable = [](const std::string& path) { return access(path.c_str(), R_OK) == 0; };
  return environment;
}

}  // namespace airfreight
