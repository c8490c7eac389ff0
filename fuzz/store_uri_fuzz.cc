// The input as a store's URI. What parses is in a form that every later check relies on: its root
// parses to itself, holds no connection, and no part of it climbs or is empty.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/store.h"
#include "check.h"
#include "input.h"
#include "store/checks.h"
#include "store/uri.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  const auto uri = airfreight::ParseStoreUri(text);
  if (!uri) {
    AIRFREIGHT_FUZZ_CHECK(uri.error().code == airfreight::ErrorCode::kInvalid);
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(uri.error().message));
    return 0;
  }
  const std::string root = uri->Root();
  AIRFREIGHT_FUZZ_CHECK(!root.ends_with('/'));
  const auto again = airfreight::ParseStoreUri(root);
  AIRFREIGHT_FUZZ_CHECK(again && again->Root() == root && again->connection.empty());
  AIRFREIGHT_FUZZ_CHECK(again->bucket == uri->bucket && again->prefix == uri->prefix &&
                        again->directory == uri->directory);
  AIRFREIGHT_FUZZ_CHECK(uri->prefix.size() <= airfreight::kMaxPrefixBytes);
  AIRFREIGHT_FUZZ_CHECK((uri->scheme == "file") != uri->directory.empty());
  AIRFREIGHT_FUZZ_CHECK((uri->scheme == "file") == uri->bucket.empty());
  // A prefix is a path of whole parts; NUL, which no path may hold, is for CheckKey.
  if (!uri->prefix.empty() && uri->prefix.find('\0') == std::string::npos) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::CheckKey(uri->prefix, ""));
  }
  return 0;
}
