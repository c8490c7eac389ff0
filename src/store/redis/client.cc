#include "store/redis/client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "store/redis/errors.h"

namespace airfreight::redis {
namespace {

// As many threads as that can be at work without reconnecting.
constexpr size_t kMaxIdle = 16;
// Routers and firewalls forget a silent connection without a word to either end, some after a
// minute; to find out takes until the idle time-out.
constexpr std::chrono::seconds kMaxIdleAge{30};

constexpr std::string_view kIsCluster = "MOVED (INFO says cluster_enabled:1)";

}  // namespace

RedisClient::RedisClient(RedisOptions options, Environment environment)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      pool_([] { return std::make_unique<Pool>(); }) {}

std::unique_ptr<Session> RedisClient::TakeIdle() {
  Pool& pool = pool_.Get();
  const auto oldest = Context::Clock::now() - kMaxIdleAge;
  std::vector<Kept> dropped;  // Closed after the lock.
  const std::lock_guard lock(pool.mutex);
  while (!pool.idle.empty()) {
    Kept kept = std::move(pool.idle.back());
    pool.idle.pop_back();
    if (kept.since >= oldest && !kept.session->IsStale()) return std::move(kept.session);
    dropped.push_back(std::move(kept));
  }
  return nullptr;
}

void RedisClient::Return(std::unique_ptr<Session> session) {
  session->SetKept();
  Pool& pool = pool_.Get();
  const std::lock_guard lock(pool.mutex);
  if (pool.idle.size() < kMaxIdle) {
    pool.idle.push_back({std::move(session), Context::Clock::now()});
  }
}

bool RedisClient::IsOfReplica(const Error& error) {
  return error.service_code == "READONLY" || error.service_code == "MASTERDOWN";
}

void RedisClient::Forget(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return;
  Pool& pool = pool_.Get();
  std::vector<Kept> dropped;
  const std::lock_guard lock(pool.mutex);
  dropped.swap(pool.idle);
  pool.master.reset();
}

Result<SSL_CTX*> RedisClient::Tls() {
  if (!options_.tls) return nullptr;
  Pool& pool = pool_.Get();
  {
    const std::lock_guard lock(pool.mutex);
    if (pool.tls != nullptr) return pool.tls.get();
  }
  // Without the mutex: it reads files, and keeps others from forking.
  AIRFREIGHT_ASSIGN_OR_RETURN(TlsContext fresh, MakeTlsContext(options_, environment_));
  const std::lock_guard lock(pool.mutex);
  if (pool.tls == nullptr) pool.tls = std::move(fresh);
  return pool.tls.get();
}

Result<std::unique_ptr<Session>> RedisClient::OpenAt(const Address& address, const Login& login,
                                                     int database, bool look_for_cluster,
                                                     const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(SSL_CTX* const tls, Tls());
  AIRFREIGHT_ASSIGN_OR_RETURN(auto connection, Connection::Open(address, options_, tls, context));
  auto session = std::make_unique<Session>(std::move(connection), database);
  session->Use(context);
  // All at once, in one round trip.
  Request hello;
  const bool log_in = !login.password.empty();
  if (log_in && login.username.empty()) {
    hello.Command({"AUTH", login.password.Reveal()});
  } else if (log_in) {
    hello.Command({"AUTH", login.username, login.password.Reveal()});
  }
  if (database != 0) hello.Command({"SELECT", std::to_string(database)});
  if (look_for_cluster) hello.Command({"INFO", "cluster"});
  if (hello.commands() == 0) return session;
  AIRFREIGHT_RETURN_IF_ERROR(session->Send(hello));
  if (log_in) AIRFREIGHT_RETURN_IF_ERROR(session->Expect().map([](const Reply&) {}));
  if (database != 0) AIRFREIGHT_RETURN_IF_ERROR(session->Expect().map([](const Reply&) {}));
  if (look_for_cluster) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Reply info, session->Receive());
    // A user who may not ask is not told: then the first redirection says it.
    if (info.text.find("cluster_enabled:1") != std::string::npos) {
      return Fail(session->ErrorOf(std::string(kIsCluster)));
    }
    if (info.text.starts_with("NOAUTH")) return Fail(session->ErrorOf(info.text));
  }
  return session;
}

Result<std::unique_ptr<Session>> RedisClient::Open(const Context& context) {
  Pool& pool = pool_.Get();
  Address address = options_.address;
  if (!options_.sentinels.empty()) {
    AIRFREIGHT_ASSIGN_OR_RETURN(address, Master(context));
  }
  bool look = false;
  {
    const std::lock_guard lock(pool.mutex);
    look = !pool.cluster_checked;
  }
  auto session = OpenAt(address, options_.login, options_.database, look, context);
  if (!session) {
    Forget(session.error());
    return session;
  }
  const std::lock_guard lock(pool.mutex);
  pool.cluster_checked = true;
  return session;
}

Result<Address> RedisClient::AskSentinel(const Address& sentinel, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const auto session,
                              OpenAt(sentinel, options_.sentinel_login, 0, false, context));
  Request request;
  request.Command({"SENTINEL", "get-master-addr-by-name", options_.sentinel_master});
  AIRFREIGHT_RETURN_IF_ERROR(session->Send(request));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Reply reply, session->Expect());
  if (reply.IsNil()) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("the Sentinel at {} knows no master of the name {}: right is the name "
                            "in its `sentinel monitor`, in {}",
                            sentinel.ToString(), Quoted(options_.sentinel_master),
                            SettingName("redis", "sentinel_master")));
  }
  if (reply.elements.size() != 2) return Unexpected("SENTINEL get-master-addr-by-name");
  Address master{reply.elements[0].text, 0};
  const std::string& port = reply.elements[1].text;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), master.port);
  if (error != std::errc() || end != port.data() + port.size() || master.port == 0) {
    return Unexpected("SENTINEL get-master-addr-by-name");
  }
  return master;
}

Result<Address> RedisClient::Master(const Context& context) {
  Pool& pool = pool_.Get();
  {
    const std::lock_guard lock(pool.mutex);
    if (pool.master) return *pool.master;
  }
  std::vector<std::string> failed;
  std::optional<Error> refused;
  for (const Address& sentinel : options_.sentinels) {
    auto master = AskSentinel(sentinel, context);
    if (master) {
      const std::lock_guard lock(pool.mutex);
      pool.master = *master;
      return master;
    }
    if (master.error().code == ErrorCode::kCancelled ||
        master.error().code == ErrorCode::kTimeout) {
      return master;
    }
    if (!master.error().retryable) refused = master.error();
    failed.push_back(master.error().message);
  }
  if (refused) return Fail(*std::move(refused));
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format("no Sentinel says where the master is: {}", fmt::join(failed, "; "));
  error.retryable = true;
  return Fail(std::move(error));
}

}  // namespace airfreight::redis
