#include "store/azure/metadata.h"

#include <algorithm>

#include "base/percent.h"

namespace airfreight::azure {
namespace {

constexpr std::string_view kMark = "n-";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

std::string EncodeMetadataName(std::string_view name) {
  const bool digit = !name.empty() && name.front() >= '0' && name.front() <= '9';
  std::string encoded = digit || name.starts_with(kMark) ? std::string(kMark) : std::string();
  encoded += name;
  std::replace(encoded.begin(), encoded.end(), '-', '_');
  return encoded;
}

std::string DecodeMetadataName(std::string_view encoded) {
  std::string name(encoded);
  std::transform(name.begin(), name.end(), name.begin(), Lower);
  std::replace(name.begin(), name.end(), '_', '-');
  if (name.starts_with(kMark)) name.erase(0, kMark.size());
  return name;
}

std::string EncodeMetadataValue(std::string_view value) {
  std::string encoded;
  for (size_t i = 0; i < value.size(); ++i) {
    const bool folded = value[i] == ' ' && (i == 0 || i + 1 == value.size() || value[i - 1] == ' ');
    if (folded) {
      encoded += "%20";
    } else if (value[i] == '%') {
      encoded += "%25";
    } else {
      encoded += value[i];
    }
  }
  return encoded;
}

std::string DecodeMetadataValue(std::string_view encoded) {
  return PercentDecode(encoded).value_or(std::string(encoded));
}

}  // namespace airfreight::azure
