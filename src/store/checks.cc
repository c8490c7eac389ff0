#include "store/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/utf8.h"

namespace airfreight {
namespace {

// Enough to recognise any setting by, little enough for a log line.
constexpr size_t kMaxQuotedBytes = 200;
// docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html says 2 KB for names and values
// together; `Metadata` promises to stay below.
constexpr size_t kMaxMetadataBytes = 2000;
// docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html, max-keys.
constexpr int kMaxListLimit = 1000;
// A week: no one waits longer for a store, and every clock can count it.
constexpr double kMostSeconds = 7 * 24 * 3600;

bool IsPrintable(char c) { return c >= 0x20 && c < 0x7f; }

bool IsMetadataNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

tl::unexpected<Error> RefuseSetting(std::string_view scheme, std::string_view name,
                                    std::string_view value, std::string_view right) {
  return Fail(ErrorCode::kInvalid, fmt::format("{} is {}; right is {}", SettingName(scheme, name),
                                               Quoted(value), right));
}

// Text that travels in a header of HTTP or on a line of its own.
Status CheckHeaderText(std::string_view what, std::string_view value) {
  const auto refuse = [&](std::string_view why) {
    return Fail(ErrorCode::kInvalid, fmt::format("{}: {}", what, why));
  };
  if (!std::all_of(value.begin(), value.end(), IsPrintable)) {
    return refuse("the value is not printable ASCII");
  }
  if (value.starts_with(' ') || value.ends_with(' ')) {
    return refuse("the value begins or ends with a blank");
  }
  return {};
}

// The value of a setting, which leaves `settings`.
std::optional<std::string> Take(StoreSettings& settings, const std::string& name) {
  auto node = settings.extract(name);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

}  // namespace

std::string Quoted(std::string_view text) {
  const bool cut = text.size() > kMaxQuotedBytes;
  return fmt::format("'{}{}'", VisibleText(text.substr(0, kMaxQuotedBytes)), cut ? "…" : "");
}

std::string SettingName(std::string_view scheme, std::string_view name) {
  if (name == "retry_timeout") return "[airfreight] timeout";
  if (scheme == "rediss") scheme = "redis";  // The same store, over TLS.
  return fmt::format("[airfreight] {}{}",
                     name == "shared" ? "file_store_" : fmt::format("{}_", scheme), name);
}

Error Located(Error error, std::string_view root, std::string_view key) {
  if (error.store.empty()) error.store = root;
  if (error.key.empty()) error.key = key;
  return error;
}

Status CheckKey(std::string_view key, std::string_view prefix) {
  const auto refuse = [&](std::string_view why) {
    return Fail(ErrorCode::kInvalid, fmt::format("object key {}: {}", Quoted(key), why));
  };
  if (key.empty()) return refuse("it is empty");
  if (key.find('\0') != std::string_view::npos) return refuse("it holds a NUL");
  const size_t full = key.size() + (prefix.empty() ? 0 : prefix.size() + 1);
  if (full > kMaxKeyBytes) {
    return refuse(fmt::format("with the store's prefix it has {} bytes, {} are the most", full,
                              kMaxKeyBytes));
  }
  for (size_t start = 0; start <= key.size();) {
    const size_t end = std::min(key.find('/', start), key.size());
    const std::string_view part = key.substr(start, end - start);
    if (part.empty()) return refuse("it has an empty part");
    if (part == "." || part == "..") return refuse("'.' and '..' may not be parts of it");
    start = end + 1;
  }
  return {};
}

Status CheckMetadata(const Metadata& metadata) {
  size_t total = 0;
  for (const auto& [name, value] : metadata) {
    total += name.size() + value.size();
    if (name.empty() || !std::all_of(name.begin(), name.end(), IsMetadataNameByte)) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("metadata {}: a name is made of a-z, 0-9 and '-'", Quoted(name)));
    }
    AIRFREIGHT_RETURN_IF_ERROR(CheckHeaderText("metadata " + Quoted(name), value));
  }
  if (total <= kMaxMetadataBytes) return {};
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} bytes of metadata, {} are the most", total, kMaxMetadataBytes));
}

Status CheckPutOptions(const PutOptions& options, const Capabilities& capabilities) {
  if (!options.encryption_key.empty() && !capabilities.encryption_key) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("the encryption key {}: a store of this kind takes none",
                            Quoted(options.encryption_key)));
  }
  AIRFREIGHT_RETURN_IF_ERROR(CheckHeaderText("the encryption key", options.encryption_key));
  AIRFREIGHT_RETURN_IF_ERROR(CheckHeaderText("the content type", options.content_type));
  return CheckMetadata(options.metadata);
}

Result<uint64_t> SizeOf(const std::vector<UploadedPart>& parts) {
  uint64_t size = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].number != static_cast<int>(i) + 1 || parts[i].offset != size) {
      return Fail(ErrorCode::kInternal, "the parts of an upload have gaps or no order");
    }
    size += parts[i].size;
  }
  if (parts.empty()) return Fail(ErrorCode::kInternal, "an upload without a part");
  return size;
}

Status CheckListLimit(int limit) {
  if (limit >= 1 && limit <= kMaxListLimit) return {};
  return Fail(ErrorCode::kInvalid,
              fmt::format("a page of {} objects; 1 to {} are possible", limit, kMaxListLimit));
}

Status CheckContext(const Context& context) {
  if (context.IsCancelled()) return Fail(ErrorCode::kCancelled, "the caller asked to stop");
  if (context.Expired()) return Fail(ErrorCode::kTimeout, "the deadline has passed");
  return {};
}

Result<Range> ClipRange(const GetOptions& options, uint64_t size) {
  const bool whole = options.offset == 0 && !options.length;
  if (options.offset >= size && !(whole && size == 0)) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("a range that begins at byte {} of an object of {}", options.offset, size));
  }
  const uint64_t rest = size - options.offset;
  return Range{options.offset, std::min(options.length.value_or(rest), rest)};
}

Result<bool> TakeBool(StoreSettings& settings, std::string_view scheme, const std::string& name,
                      bool fallback) {
  const auto text = Take(settings, name);
  if (!text) return fallback;
  std::string lower = *text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // The words of Airflow's own AirflowConfigParser.getboolean, and Python's configparser.
  for (const std::string_view word : {"true", "t", "1", "yes", "on"}) {
    if (lower == word) return true;
  }
  for (const std::string_view word : {"false", "f", "0", "no", "off"}) {
    if (lower == word) return false;
  }
  return RefuseSetting(scheme, name, *text, "'true' or 'false'");
}

Result<double> TakeSeconds(StoreSettings& settings, std::string_view scheme,
                           const std::string& name, double fallback) {
  const auto text = Take(settings, name);
  if (!text) return fallback;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(seconds) ||
      seconds < 0 || seconds > kMostSeconds) {
    return RefuseSetting(
        scheme, name, *text,
        fmt::format("a number of seconds from 0 to {:.0f}, e.g. '60'", kMostSeconds));
  }
  return seconds;
}

Result<int> TakeInt(StoreSettings& settings, std::string_view scheme, const std::string& name,
                    int fallback, int least, int most) {
  const auto text = Take(settings, name);
  if (!text) return fallback;
  int number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < least ||
      number > most) {
    return RefuseSetting(
        scheme, name, *text,
        fmt::format("a whole number from {} to {}, e.g. '{}'", least, most, fallback));
  }
  return number;
}

std::string TakeText(StoreSettings& settings, const std::string& name) {
  return Take(settings, name).value_or(std::string());
}

std::optional<std::string> TakeOptional(StoreSettings& settings, const std::string& name) {
  auto text = Take(settings, name);
  if (text && text->empty()) return std::nullopt;
  return text;
}

Status RefuseUnknown(const StoreSettings& settings, std::string_view scheme,
                     std::initializer_list<std::string_view> known) {
  if (settings.empty()) return {};
  // The value is not shown: what a store does not know may well be a secret of another's.
  return Fail(ErrorCode::kInvalid,
              fmt::format("setting {} is not known to a {} store; it knows {}",
                          Quoted(settings.begin()->first), scheme, fmt::join(known, ", ")));
}

}  // namespace airfreight
