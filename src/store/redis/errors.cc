#include "store/redis/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "store/checks.h"

namespace airfreight::redis {
namespace {

// Longer first words are no codes.
constexpr size_t kMaxWord = 32;

constexpr std::string_view kCluster =
    "this server is part of a Redis Cluster, which Airfreight does not speak. Use a server without "
    "cluster mode (of a managed service: with cluster mode disabled), with Sentinel where it has "
    "to survive a failure, or another kind of store";

/// An error by its first word: what it is to us, whether it may pass by itself, and what to do.
struct Meaning {
  std::string_view word;
  ErrorCode code;
  bool retryable;
  std::string_view advice;
};

// The words of redis/src/server.c (createSharedObjects) and redis/src/acl.c.
constexpr Meaning kMeanings[] = {
    {"NOAUTH", ErrorCode::kDenied, false,
     "the server wants a password: name an Airflow connection that has it, "
     "redis://conn_id@host:port/db"},
    {"WRONGPASS", ErrorCode::kDenied, false,
     "the login or the password of the Airflow connection is wrong, or that user is off"},
    {"NOPERM", ErrorCode::kDenied, false,
     "the user may not do this: it needs the commands and keys that docs/redis.md lists"},
    {"DENIED", ErrorCode::kDenied, false,
     "the server is in protected mode, which lets in only its own machine: give it a password"},
    {"OOM", ErrorCode::kTooLarge, false,
     "the server's memory is full up to its maxmemory, and its maxmemory-policy lets nothing go: "
     "raise maxmemory, let values end (redis_ttl, or retention in a rule), or send large ones to "
     "another store"},
    {"LOADING", ErrorCode::kUnavailable, true, "the server is reading its data set"},
    {"BUSY", ErrorCode::kUnavailable, true, "a script of someone else's holds the server up"},
    {"MISCONF", ErrorCode::kUnavailable, false,
     "the server takes no writes since it cannot save to its disk (stop-writes-on-bgsave-error): "
     "its log says why"},
    {"READONLY", ErrorCode::kUnavailable, true,
     "this is a replica: name the master, or set [airfreight] redis_sentinels so that the "
     "master is asked for"},
    {"MASTERDOWN", ErrorCode::kUnavailable, true, "this is a replica that has lost its master"},
    {"NOREPLICAS", ErrorCode::kUnavailable, true,
     "the server takes no writes while too few replicas follow it (min-replicas-to-write)"},
    {"TRYAGAIN", ErrorCode::kUnavailable, true, ""},
    {"MOVED", ErrorCode::kUnsupported, false, kCluster},
    {"ASK", ErrorCode::kUnsupported, false, kCluster},
    {"CROSSSLOT", ErrorCode::kUnsupported, false, kCluster},
    {"CLUSTERDOWN", ErrorCode::kUnsupported, false, kCluster},
    {"WRONGTYPE", ErrorCode::kInvalid, false,
     "something else than an object of Airfreight's lies at this key: give Airfreight a prefix or "
     "a database of its own"},
};

// Those that begin with ERR, by a part of their text.
constexpr Meaning kPhrases[] = {
    {"max number of clients", ErrorCode::kThrottled, true,
     "the server has as many clients as its maxclients allows"},
    {"DB index is out of range", ErrorCode::kInvalid, false,
     "the database in the store's URI is not there: the server's `databases` says how many are"},
    {"invalid DB index", ErrorCode::kInvalid, false, "the database in the store's URI is none"},
    {"SELECT is not allowed in cluster mode", ErrorCode::kUnsupported, false, kCluster},
    {"invalid bulk length", ErrorCode::kTooLarge, false,
     "the server takes no value of this length: raise its proto-max-bulk-len, which has to be 64mb "
     "at least"},
    {"string exceeds maximum allowed size", ErrorCode::kTooLarge, false,
     "raise the server's proto-max-bulk-len"},
    {"without any password configured", ErrorCode::kDenied, false,
     "the server has no password, and the Airflow connection (or REDISCLI_AUTH) gives one: this "
     "may be another server than it is for"},
    {"invalid password", ErrorCode::kDenied, false, "the password is wrong"},
    {"wrong number of arguments for 'auth'", ErrorCode::kDenied, false,
     "this server is older than Redis 6 and knows no users: leave the login of the connection "
     "empty"},
    {"unknown command", ErrorCode::kUnsupported, false,
     "this server is older than Redis 4, or the command was renamed or turned off"},
};

}  // namespace

Error DecodeError(std::string_view text, int database) {
  Error error;
  const std::string_view word = text.substr(0, text.find(' '));
  error.service_code = VisibleText(word.substr(0, kMaxWord));
  error.code = ErrorCode::kInternal;
  const Meaning* meaning = nullptr;
  for (const Meaning& known : kMeanings) {
    if (word == known.word) meaning = &known;
  }
  for (const Meaning& known : kPhrases) {
    if (meaning == nullptr && text.find(known.word) != std::string_view::npos) meaning = &known;
  }
  if (meaning == nullptr) {
    error.message = fmt::format("Redis answered {}", Quoted(text));
    return error;
  }
  error.code = meaning->code;
  error.retryable = meaning->retryable;
  error.message = fmt::format("Redis answered {}", Quoted(text));
  if (!meaning->advice.empty()) error.message += fmt::format(": {}", meaning->advice);
  if (meaning->word == "DB index is out of range") {
    error.message += fmt::format(" (it is {} there)", database);
  }
  return error;
}

Result<Reply> Accepted(Result<Reply> reply, int database) {
  if (reply && reply->IsError()) return Fail(DecodeError(reply->text, database));
  return reply;
}

tl::unexpected<Error> Unexpected(std::string_view command) {
  return Fail(ErrorCode::kInternal,
              fmt::format("Redis answered {} with a reply of another kind than its own", command));
}

}  // namespace airfreight::redis
