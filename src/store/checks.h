#pragma once

/// \file
/// \brief What every store asks of its arguments and settings, so that all refuse the same things
/// in the same words.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/store.h"

namespace airfreight {

/// Text from outside for a message: in single quotes, what cannot be printed as `\xNN`, at most 200
/// bytes of it.
std::string Quoted(std::string_view text);

/// What the user calls a setting of a store: "[airfreight] s3_region" for "region" of "s3",
/// "[airfreight] timeout" for "retry_timeout" of any.
std::string SettingName(std::string_view scheme, std::string_view name);

/// Fills in store and key where a lower layer left them empty.
Error Located(Error error, std::string_view root, std::string_view key);

/// Invalid unless `key` is a relative path of non-empty parts, none of them `.` or `..`, without
/// NUL, and of at most kMaxKeyBytes together with `prefix`.
Status CheckKey(std::string_view key, std::string_view prefix);

/// Invalid unless names and values are what `Metadata` allows.
Status CheckMetadata(const Metadata& metadata);

/// CheckMetadata, and a content type and an encryption key of printable ASCII. Unsupported when
/// there is an encryption key that `capabilities` do not honour.
Status CheckPutOptions(const PutOptions& options, const Capabilities& capabilities);

/// The length of what parts become. Internal where they have gaps or no order, or there are none.
Result<uint64_t> SizeOf(const std::vector<UploadedPart>& parts);

/// Invalid unless `limit` is in 1–1000.
Status CheckListLimit(int limit);

/// Cancelled or Timeout when the caller wants no more.
Status CheckContext(const Context& context);

/// The part [offset, offset + length) of an object of `size` bytes. As in HTTP (RFC 9110, 14.1.2),
/// a range may end beyond the object and is cut; one that begins at or beyond its end is Invalid,
/// except the one that asks for all of an empty object.
struct Range {
  uint64_t offset = 0;
  uint64_t length = 0;
};
Result<Range> ClipRange(const GetOptions& options, uint64_t size);

/// Takes the setting out of `settings` and reads it; `scheme` for its name in a message. `fallback`
/// when it is not there; Invalid when it is not `true`/`false` (any case, and 1/0, yes/no, on/off
/// as Airflow's own configuration reads), or not a number in the range.
Result<bool> TakeBool(StoreSettings& settings, std::string_view scheme, const std::string& name,
                      bool fallback);
Result<double> TakeSeconds(StoreSettings& settings, std::string_view scheme,
                           const std::string& name, double fallback);
Result<int> TakeInt(StoreSettings& settings, std::string_view scheme, const std::string& name,
                    int fallback, int least, int most);

/// Takes a text out of `settings`; empty, or absent, when it is not there or empty.
std::string TakeText(StoreSettings& settings, const std::string& name);
std::optional<std::string> TakeOptional(StoreSettings& settings, const std::string& name);

/// Takes one of several words out of `settings` for what it stands for. Invalid when it is none of
/// them, naming all.
template <typename T>
Result<T> TakeChoice(StoreSettings& settings, std::string_view scheme, const std::string& name,
                     T fallback, std::initializer_list<std::pair<std::string_view, T>> choices) {
  const std::string text = TakeText(settings, name);
  if (text.empty()) return fallback;
  std::vector<std::string_view> words;
  for (const auto& [word, value] : choices) {
    if (text == word) return value;
    words.push_back(word);
  }
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} is {}; right is one of {}", SettingName(scheme, name), Quoted(text),
                          fmt::join(words, ", ")));
}

/// Invalid when anything is left, naming it and what the store knows.
Status RefuseUnknown(const StoreSettings& settings, std::string_view scheme,
                     std::initializer_list<std::string_view> known);

}  // namespace airfreight
