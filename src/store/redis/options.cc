#include "store/redis/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "store/checks.h"

namespace airfreight::redis {
namespace {

constexpr std::string_view kScheme = "redis";
// A hundred years; as long as any number here fits the server's clock in milliseconds.
constexpr int64_t kMostTtl = int64_t{100} * 366 * 24 * 3600;

Status TakeSentinels(StoreSettings& settings, RedisOptions& options) {
  std::string text = TakeText(settings, "sentinels");
  options.sentinel_master = TakeText(settings, "sentinel_master");
  options.sentinel_login.username = TakeText(settings, "sentinel_username");
  options.sentinel_login.password = Secret(TakeText(settings, "sentinel_password"));
  std::replace(text.begin(), text.end(), ',', ' ');
  size_t start = 0;
  while ((start = text.find_first_not_of(' ', start)) != std::string::npos) {
    const size_t end = std::min(text.find(' ', start), text.size());
    const std::string_view word = std::string_view(text).substr(start, end - start);
    auto address = ParseAddress(word, kDefaultSentinelPort);
    if (!address) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("{} has {}; right are hosts with their ports, separated by commas, "
                              "e.g. 'sentinel-1:26379, sentinel-2:26379'",
                              SettingName(kScheme, "sentinels"), Quoted(word)));
    }
    options.sentinels.push_back(*std::move(address));
    start = end;
  }
  if (options.sentinels.empty() && !options.sentinel_master.empty()) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("{} needs {} beside it, e.g. 'sentinel-1:26379, sentinel-2:26379'",
                    SettingName(kScheme, "sentinel_master"), SettingName(kScheme, "sentinels")));
  }
  // redis://mymaster/0 with the Sentinels' addresses says it all.
  if (options.sentinel_master.empty()) options.sentinel_master = options.address.host;
  return {};
}

Status TakeTls(StoreSettings& settings, bool of_scheme, RedisOptions& options) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const bool tls, TakeBool(settings, kScheme, "tls", false));
  options.tls = tls || of_scheme;
  options.ca_bundle = TakeText(settings, "ca_bundle");
  AIRFREIGHT_ASSIGN_OR_RETURN(options.verify, TakeBool(settings, kScheme, "verify", true));
  AIRFREIGHT_ASSIGN_OR_RETURN(options.check_hostname,
                              TakeBool(settings, kScheme, "check_hostname", true));
  options.certfile = TakeText(settings, "certfile");
  options.keyfile = TakeText(settings, "keyfile");
  if (!options.keyfile.empty() && options.certfile.empty()) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} needs {} beside it: the certificate to the key",
                            SettingName(kScheme, "keyfile"), SettingName(kScheme, "certfile")));
  }
  return {};
}

Status TakeTimes(StoreSettings& settings, RedisOptions& options) {
  using Seconds = std::chrono::duration<double>;
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const double connect,
      TakeSeconds(settings, kScheme, "connect_timeout", Seconds(options.connect_timeout).count()));
  options.connect_timeout = std::chrono::ceil<std::chrono::milliseconds>(Seconds(connect));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const double idle,
      TakeSeconds(settings, kScheme, "idle_timeout", Seconds(options.idle_timeout).count()));
  options.idle_timeout = std::chrono::ceil<std::chrono::milliseconds>(Seconds(idle));
  const std::string text = TakeText(settings, "ttl");
  if (text.empty()) return {};
  int64_t ttl = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ttl);
  if (error != std::errc() || end != text.data() + text.size() || ttl < 0 || ttl > kMostTtl) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} is {}; right is a whole number of seconds, e.g. '604800' for a "
                            "week, or 0 for no end",
                            SettingName(kScheme, "ttl"), Quoted(text)));
  }
  if (ttl > 0) options.ttl_seconds = ttl;
  return {};
}

}  // namespace

Result<RedisOptions> ParseRedisOptions(const StoreUri& uri, const StoreSettings& settings,
                                       const Environment& environment) {
  StoreSettings rest = settings;
  RedisOptions options;
  options.address = {uri.host, uri.port};
  options.database = uri.database;
  options.login.username = TakeText(rest, "username");
  options.login.password = Secret(TakeText(rest, "password"));
  if (options.login.password.empty()) {
    if (!options.login.username.empty()) {
      return Fail(ErrorCode::kInvalid,
                  "the Airflow connection of redis://conn_id@host has a login and no password");
    }
    if (auto password = environment.variable("REDISCLI_AUTH")) {
      options.login.password = Secret(*std::move(password));
    }
  }
  AIRFREIGHT_RETURN_IF_ERROR(TakeTls(rest, uri.scheme == "rediss", options));
  AIRFREIGHT_RETURN_IF_ERROR(TakeTimes(rest, options));
  AIRFREIGHT_RETURN_IF_ERROR(TakeSentinels(rest, options));
  AIRFREIGHT_RETURN_IF_ERROR(RefuseUnknown(
      rest, kScheme,
      {"username", "password", "tls", "ca_bundle", "verify", "check_hostname", "certfile",
       "keyfile", "ttl", "connect_timeout", "idle_timeout", "sentinels", "sentinel_master",
       "sentinel_username", "sentinel_password", "retry_timeout", "max_attempts"}));
  return options;
}

}  // namespace airfreight::redis
