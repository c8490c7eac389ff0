#include "store/file/sidecar.h"

#include <fmt/format.h>

#include <cstdint>

#include "store/checks.h"

namespace airfreight {
namespace {

constexpr std::string_view kFirstLine = "airfreight object metadata 1";
constexpr std::string_view kLastLine = "end";
constexpr std::string_view kContentType = "content-type";
// As S3 writes them in headers, so that whoever opens the file knows what they are.
constexpr std::string_view kUserPrefix = "x-meta-";

// Takes the text up to the next line end; nothing when there is no whole line left.
std::optional<std::string_view> TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string SidecarToken(const struct stat& file) {
#ifdef __APPLE__
  const timespec& modified = file.st_mtimespec;
#else
  const timespec& modified = file.st_mtim;
#endif
  const uint64_t nanoseconds = static_cast<uint64_t>(modified.tv_sec) * 1'000'000'000 +
                               static_cast<uint64_t>(modified.tv_nsec);
  return fmt::format("{:x}-{:x}", static_cast<uint64_t>(file.st_size), nanoseconds);
}

std::string FileVersion(const struct stat& file) {
  return fmt::format("\"{:x}-{}\"", static_cast<uint64_t>(file.st_ino), SidecarToken(file));
}

std::string SidecarNamePrefix(std::string_view name) {
  return fmt::format("{}{}@", kReservedPrefix, name);
}

std::string SidecarName(std::string_view name, std::string_view token) {
  return SidecarNamePrefix(name).append(token);
}

std::string PrintSidecar(const Sidecar& sidecar) {
  std::string text = fmt::format("{}\n{}: {}\n", kFirstLine, kContentType, sidecar.content_type);
  for (const auto& [name, value] : sidecar.metadata) {
    text += fmt::format("{}{}: {}\n", kUserPrefix, name, value);
  }
  return text.append(kLastLine).append("\n");
}

std::optional<Sidecar> ParseSidecar(std::string_view text) {
  if (TakeLine(text) != kFirstLine) return std::nullopt;
  Sidecar sidecar;
  while (const auto line = TakeLine(text)) {
    if (*line == kLastLine && text.empty()) {
      return CheckMetadata(sidecar.metadata) ? std::optional(std::move(sidecar)) : std::nullopt;
    }
    const size_t colon = line->find(": ");
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view name = line->substr(0, colon);
    const std::string_view value = line->substr(colon + 2);
    if (name == kContentType) {
      sidecar.content_type = value;
    } else if (name.starts_with(kUserPrefix)) {
      sidecar.metadata.emplace(name.substr(kUserPrefix.size()), value);
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace airfreight
