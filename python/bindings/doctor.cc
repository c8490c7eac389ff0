#include "doctor.h"

#include <curl/curl.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <openssl/crypto.h>

#include <string>
#include <utility>

#include "airfreight/store.h"
#include "calls.h"
#include "store/redis/health.h"
#include "store/s3/bucket_facts.h"
#include "store/uri.h"

namespace airfreight {
namespace {

using namespace nb::literals;  // NOLINT(google-build-using-namespace): argument names.

// (value or None, why it is not known)
template <typename T>
nb::tuple Pair(const s3::Told<T>& told) {
  nb::object value = nb::none();
  if constexpr (std::is_same_v<T, s3::LifecycleFacts>) {
    if (told.value) {
      nb::dict days;
      days["abort_uploads"] = told.value->abort_uploads;
      days["old_versions"] = told.value->old_versions;
      days["everything"] = told.value->everything;
      value = days;
    }
  } else {
    if (told.value) value = nb::cast(*told.value);
  }
  return nb::make_tuple(value, told.why);
}

nb::dict AskS3(const StoreUri& uri, const StoreSettings& settings) {
  const s3::BucketFacts facts =
      WithoutGil([&](const Context& context) { return s3::AskBucket(uri, settings, context); });
  nb::dict told;
  told["clock_offset"] = facts.clock_offset ? nb::cast(*facts.clock_offset) : nb::none();
  told["versioning"] = Pair(facts.versioning);
  told["lifecycle"] = Pair(facts.lifecycle);
  told["open_to_public"] = Pair(facts.open_to_public);
  told["access_log"] = Pair(facts.access_log);
  return told;
}

nb::dict AskRedis(const StoreUri& uri, const StoreSettings& settings) {
  const redis::RedisHealth health =
      WithoutGil([&](const Context& context) { return redis::FindHealth(uri, settings, context); });
  nb::list warnings;
  for (const std::string& warning : redis::Warnings(health)) warnings.append(warning);
  nb::dict told;
  told["version"] = health.version;
  told["warnings"] = warnings;
  return told;
}

nb::dict AskStore(const std::string& uri, const StoreSettings& settings) {
  const StoreUri parsed = ValueOrRaise(ParseStoreUri(uri));
  if (parsed.scheme == "s3") return AskS3(parsed, settings);
  if (parsed.scheme == "redis" || parsed.scheme == "rediss") return AskRedis(parsed, settings);
  return nb::dict();
}

}  // namespace

void BindDoctor(nb::module_& module) {
  module.def("ask_store", &AskStore, "uri"_a, "settings"_a,
             nb::sig("def ask_store(uri: str, settings: Mapping[str, str]) -> dict[str, Any]"),
             "What a bucket of S3 or a Redis server says of itself; empty for other stores. Of S3 "
             "each answer is (what it says or None, why it is not known).");
  module.def(
      "libraries",
      [] {
        nb::dict versions;
        versions["libcurl"] = std::string(curl_version());
        versions["libssl"] = std::string(OpenSSL_version(OPENSSL_VERSION));
        return versions;
      },
      nb::sig("def libraries() -> dict[str, str]"),
      "The versions of the libraries that the core runs with.");
}

}  // namespace airfreight
