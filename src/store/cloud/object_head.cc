#include "store/cloud/object_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "http/headers.h"
#include "store/checks.h"

namespace airfreight {

std::string RangeText(const GetOptions& get) {
  if (get.offset == 0 && !get.length) return {};
  std::string range = fmt::format("bytes={}-", get.offset);
  if (get.length) {
    const uint64_t length = std::max<uint64_t>(*get.length, 1);
    const uint64_t room = UINT64_MAX - get.offset;
    range += std::to_string(get.offset + std::min(length - 1, room));
  }
  return range;
}

Result<ObjectInfo> DecodeObjectHead(std::string_view key, const HttpResponse& response,
                                    const HeadNames& names) {
  ObjectInfo info;
  info.key = key;
  std::optional<uint64_t> size = response.content_length;
  if (response.status == 206) {
    const std::string_view range = response.headers.Get("content-range");
    const size_t slash = range.find('/');
    size = slash == std::string_view::npos ? std::nullopt : ParseDecimal(range.substr(slash + 1));
    if (!size) return NotOfService(names.service, "a part without the whole's length");
  }
  info.size = size.value_or(0);
  info.version = response.headers.Get(names.version);
  if (info.version.empty()) {
    return NotOfService(names.service, fmt::format("no {}", names.version));
  }
  info.modified_unix = ParseHttpDate(response.headers.Get("last-modified")).value_or(0);
  const size_t prefix = names.metadata.size();
  for (const auto& [name, value] : response.headers) {
    if (!EqualsIgnoreCase(std::string_view(name).substr(0, prefix), names.metadata)) continue;
    std::string lower = name.substr(prefix);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    info.metadata[lower] = value;
  }
  return info;
}

Result<ObjectInfo> WrittenInfo(std::string_view key, uint64_t size, const Metadata& metadata,
                               const HttpResponse& response) {
  ObjectInfo info;
  info.key = key;
  info.size = size;
  info.version = response.headers.Get("etag");
  info.metadata = metadata;
  if (info.version.empty()) {
    return Fail(ErrorCode::kInternal, "the store confirmed a write without an ETag");
  }
  return info;
}

Status GoneIsFine(const Result<HttpResponse>& response) {
  if (response || response.error().code == ErrorCode::kNotFound) return {};
  return Fail(response.error());
}

tl::unexpected<Error> NotOfService(std::string_view service, std::string_view what) {
  return Fail(ErrorCode::kInternal,
              fmt::format("the store's answer is not {}'s: {}", service, what));
}

}  // namespace airfreight
