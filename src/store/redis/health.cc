#include "store/redis/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "store/redis/client.h"

namespace airfreight::redis {
namespace {

std::optional<std::string> Find(const Info& info, std::string_view name) {
  const auto found = info.find(name);
  if (found == info.end()) return std::nullopt;
  return found->second;
}

uint64_t Number(const Info& info, std::string_view name) {
  const std::string text = Find(info, name).value_or("");
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

}  // namespace

Info ParseInfo(std::string_view text) {
  Info info;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#')) continue;
    info.insert_or_assign(std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
  }
  return info;
}

Status RoomFor(const Info& memory, uint64_t size) {
  const uint64_t most = Number(memory, "maxmemory");
  const uint64_t used = Number(memory, "used_memory");
  if (most == 0) return {};
  const std::string policy = Find(memory, "maxmemory_policy").value_or("");
  // Other policies make room, as far as there is any at all.
  const bool fits = policy == "noeviction" ? used + size <= most : size <= most;
  if (fits) return {};
  return Fail(
      ErrorCode::kTooLarge,
      fmt::format("a value of {} bytes does not fit: the server's maxmemory is {} bytes, of "
                  "which {} are used (maxmemory-policy {}). Raise maxmemory, let values "
                  "end (redis_ttl, or retention in a rule), or send large values to "
                  "another store",
                  size, most, used, policy.empty() ? "not known" : policy));
}

std::vector<std::string> Warnings(const RedisHealth& health) {
  std::vector<std::string> warnings;
  if (health.maxmemory_policy && health.maxmemory_policy->starts_with("allkeys-")) {
    warnings.push_back(fmt::format(
        "maxmemory-policy is {}: when its memory is full the server drops values that rows still "
        "refer to. Right is noeviction, or volatile-ttl with values that end (redis_ttl)",
        *health.maxmemory_policy));
  }
  if (health.append_only == false && health.snapshots == false) {
    warnings.push_back(
        "the server keeps nothing on its disk (appendonly is no and save is empty): a restart "
        "loses every value. Right is appendonly yes");
  } else if (health.append_only == false && health.snapshots == true) {
    warnings.push_back(
        "the server saves snapshots only: a crash loses the values since the last one. Right is "
        "appendonly yes");
  }
  if (health.last_snapshot_failed == true) {
    warnings.push_back(
        "the server's last snapshot failed (rdb_last_bgsave_status): its log says why");
  }
  if (health.role == "slave") {
    warnings.push_back(
        "the server is a replica, which takes no writes: name the master, or set [airfreight] "
        "redis_sentinels");
  }
  return warnings;
}

Result<RedisHealth> FindHealth(RedisClient& client, const Context& context) {
  return client.Run(context, [](Session& session) -> Result<RedisHealth> {
    Request request;
    for (const std::string_view section : {"server", "memory", "persistence", "replication"}) {
      request.Command({"INFO", section});
    }
    request.Command({"CONFIG", "GET", "save"});
    AIRFREIGHT_RETURN_IF_ERROR(session.Send(request));
    Info info;
    std::optional<std::string> refused;
    for (int i = 1; i < request.commands(); ++i) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Reply reply, session.Receive());
      if (reply.IsError()) {
        refused = reply.text;
      } else {
        info.merge(ParseInfo(reply.text));
      }
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const Reply save, session.Receive());
    if (refused) return Fail(session.ErrorOf(*refused));
    RedisHealth health;
    health.version = Find(info, "redis_version").value_or("");
    health.role = Find(info, "role").value_or("");
    health.used_memory = Number(info, "used_memory");
    health.maxmemory = Number(info, "maxmemory");
    health.maxmemory_policy = Find(info, "maxmemory_policy");
    if (const auto on = Find(info, "aof_enabled")) health.append_only = *on == "1";
    if (const auto last = Find(info, "rdb_last_bgsave_status")) {
      health.last_snapshot_failed = *last != "ok";
    }
    if (save.elements.size() == 2) health.snapshots = !save.elements[1].text.empty();
    return health;
  });
}

Result<RedisHealth> FindHealth(const StoreUri& uri, const StoreSettings& settings,
                               const Context& context) {
  const Environment environment = Environment::OfProcess();
  StoreSettings own = settings;
  for (const char* of_retries : {"retry_timeout", "max_attempts"}) own.erase(of_retries);
  AIRFREIGHT_ASSIGN_OR_RETURN(RedisOptions options, ParseRedisOptions(uri, own, environment));
  RedisClient client(std::move(options), environment);
  return FindHealth(client, context);
}

}  // namespace airfreight::redis
