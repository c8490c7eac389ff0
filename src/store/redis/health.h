#pragma once

/// \file
/// \brief What a Redis server says of itself that bears on keeping values there.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/uri.h"

namespace airfreight::redis {

class RedisClient;

/// The answer to INFO, "name:value" on each line, without its section headings.
using Info = std::map<std::string, std::string, std::less<>>;
Info ParseInfo(std::string_view text);

/// TooLarge when a value of `size` bytes cannot fit a server that says this of its memory: naming
/// maxmemory and what is used of it. A success where it does not say.
Status RoomFor(const Info& memory, uint64_t size);

/// Plain data; absent is what the server does not tell this user.
struct RedisHealth {
  std::string version;
  std::string role;  ///< "master" or "slave".
  uint64_t used_memory = 0;
  uint64_t maxmemory = 0;  ///< 0: no limit.
  std::optional<std::string> maxmemory_policy;
  std::optional<bool> append_only;  ///< AOF is on.
  std::optional<bool> snapshots;    ///< RDB is on: `save` is not empty.
  std::optional<bool> last_snapshot_failed;
};

/// What is to be warned of: values that Redis may drop, or lose when it ends. One sentence each,
/// with the setting of the server that it is about. Pure.
std::vector<std::string> Warnings(const RedisHealth& health);

/// Asks the server: INFO, and CONFIG GET where the user may. Some round trips.
Result<RedisHealth> FindHealth(RedisClient& client, const Context& context);
/// As above, for a store that is not open. Errors: as ObjectStore.
Result<RedisHealth> FindHealth(const StoreUri& uri, const StoreSettings& settings,
                               const Context& context);

}  // namespace airfreight::redis
