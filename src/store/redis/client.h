#pragma once

/// \file
/// \brief The connections of one store: opened, logged in, kept, replaced.

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "base/fork_local.h"
#include "http/environment.h"
#include "store/checks.h"
#include "store/redis/options.h"
#include "store/redis/session.h"

namespace airfreight::redis {

/// \brief Hands out sessions with one server, or with the master that Sentinels name.
///
/// A session is given to one caller at a time, the last one used first, and kept afterwards. One
/// that the server has closed while it lay idle is replaced unseen: it is looked at before it is
/// used, and where it fails all the same before a byte has been answered, what was sent is sent
/// once more over a new one. The server may have carried out the first all the same; what that
/// means is for who knows the command.
///
/// After an answer that a replica or a closed master gives (a failover), all are dropped, and the
/// Sentinels are asked again.
///
/// Threads: Run may be called from several at once; the mutex is held for no wait. Fork: a child
/// has sessions of its own. Blocking, errors: as Connection and ObjectStore.
class RedisClient {
 public:
  RedisClient(RedisOptions options, Environment environment);

  const RedisOptions& options() const { return options_; }

  /// Calls `work(session)`, which returns a Result or Status, with a session.
  template <typename Work>
  auto Run(const Context& context, const Work& work) -> decltype(work(std::declval<Session&>())) {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    std::unique_ptr<Session> session = TakeIdle();
    for (bool kept = session != nullptr;; kept = false) {
      if (!kept) {
        auto opened = Open(context);
        if (!opened) return Fail(std::move(opened).error());
        session = *std::move(opened);
      }
      session->Use(context);
      auto result = work(*session);
      if (session->IsClean() && (result || !IsOfReplica(result.error()))) {
        Return(std::move(session));
        return result;
      }
      if (kept && session->WasLostIdle()) continue;
      if (!result) Forget(result.error());
      return result;
    }
  }

 private:
  struct Kept {
    std::unique_ptr<Session> session;
    Context::Clock::time_point since;
  };
  struct Pool {
    std::mutex mutex;
    std::vector<Kept> idle;  // The last one was used last.
    TlsContext tls;
    std::optional<Address> master;  // What a Sentinel said last.
    bool cluster_checked = false;
  };

  std::unique_ptr<Session> TakeIdle();
  void Return(std::unique_ptr<Session> session);
  /// Drops what is of no use after such an error.
  void Forget(const Error& error);
  static bool IsOfReplica(const Error& error);

  Result<SSL_CTX*> Tls();
  Result<std::unique_ptr<Session>> Open(const Context& context);
  Result<std::unique_ptr<Session>> OpenAt(const Address& address, const Login& login, int database,
                                          bool look_for_cluster, const Context& context);
  Result<Address> Master(const Context& context);
  Result<Address> AskSentinel(const Address& sentinel, const Context& context);

  const RedisOptions options_;
  const Environment environment_;
  ForkLocal<Pool> pool_;
};

}  // namespace airfreight::redis
