#pragma once

/// \file
/// \brief The settings of a Redis store, read and checked.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/environment.h"
#include "store/cloud/secret.h"
#include "store/redis/address.h"
#include "store/uri.h"

namespace airfreight::redis {

/// Who logs in; without a password no one does.
struct Login {
  std::string username;  ///< Empty: the server's default user (and Redis before 6).
  Secret password;
};

struct RedisOptions {
  Address address;
  int database = 0;
  Login login;
  bool tls = false;
  std::string ca_bundle;  ///< Empty: see FindCaBundle.
  bool verify = true;
  bool check_hostname = true;
  std::string certfile;  ///< Of this client, for servers that ask for one.
  std::string keyfile;
  /// Of objects that no rule gives a time; absent: they stay.
  std::optional<int64_t> ttl_seconds;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds idle_timeout{60'000};
  std::vector<Address> sentinels;  ///< Not empty: ask them where the master is.
  std::string sentinel_master;
  Login sentinel_login;
};

/// Reads `settings`, for the place that `uri` names. Invalid when one is not known or wrong: the
/// message names it and shows a right one. The password is, where no connection gives one, that of
/// REDISCLI_AUTH, as redis-cli takes it (redis.io/docs/latest/develop/tools/cli).
Result<RedisOptions> ParseRedisOptions(const StoreUri& uri, const StoreSettings& settings,
                                       const Environment& environment);

}  // namespace airfreight::redis
