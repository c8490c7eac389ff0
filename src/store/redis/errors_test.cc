#include "store/redis/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace airfreight::redis {
namespace {

using testing::HasSubstr;

struct Case {
  const char* reply;  // As redis-server 7.0 says it.
  ErrorCode code;
  bool retryable;
  const char* advice;
};

TEST(RedisErrorsTest, EachReplyIsWhatItMeansAndSaysWhatToDo) {
  const Case cases[] = {
      {"NOAUTH Authentication required.", ErrorCode::kDenied, false, "connection"},
      {"WRONGPASS invalid username-password pair or user is disabled.", ErrorCode::kDenied, false,
       "password"},
      {"NOPERM this user has no permissions to run the 'set' command", ErrorCode::kDenied, false,
       "docs/redis.md"},
      {"DENIED Redis is running in protected mode", ErrorCode::kDenied, false, "protected mode"},
      {"OOM command not allowed when used memory > 'maxmemory'.", ErrorCode::kTooLarge, false,
       "maxmemory"},
      {"LOADING Redis is loading the dataset in memory", ErrorCode::kUnavailable, true, "reading"},
      {"BUSY Redis is busy running a script.", ErrorCode::kUnavailable, true, "script"},
      {"MISCONF Redis is configured to save RDB snapshots, but", ErrorCode::kUnavailable, false,
       "disk"},
      {"READONLY You can't write against a read only replica.", ErrorCode::kUnavailable, true,
       "redis_sentinels"},
      {"MASTERDOWN Link with MASTER is down", ErrorCode::kUnavailable, true, "replica"},
      {"NOREPLICAS Not enough good replicas to write.", ErrorCode::kUnavailable, true, "replicas"},
      {"MOVED 3999 127.0.0.1:6381", ErrorCode::kUnsupported, false, "cluster mode"},
      {"ASK 3999 127.0.0.1:6381", ErrorCode::kUnsupported, false, "cluster mode"},
      {"CROSSSLOT Keys in request don't hash to the same slot", ErrorCode::kUnsupported, false,
       "Sentinel"},
      {"CLUSTERDOWN Hash slot not served", ErrorCode::kUnsupported, false, "cluster mode"},
      {"ERR SELECT is not allowed in cluster mode", ErrorCode::kUnsupported, false, "Sentinel"},
      {"ERR max number of clients reached", ErrorCode::kThrottled, true, "maxclients"},
      {"ERR DB index is out of range", ErrorCode::kInvalid, false, "(it is 99 there)"},
      {"ERR Protocol error: invalid bulk length", ErrorCode::kTooLarge, false,
       "proto-max-bulk-len"},
      {"ERR AUTH <password> called without any password configured for the default user.",
       ErrorCode::kDenied, false, "has no password"},
      {"ERR unknown command 'UNLINK'", ErrorCode::kUnsupported, false, "renamed"},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", ErrorCode::kInvalid,
       false, "prefix"},
  };
  for (const Case& one : cases) {
    const Error error = DecodeError(one.reply, 99);
    EXPECT_EQ(error.code, one.code) << one.reply;
    EXPECT_EQ(error.retryable, one.retryable) << one.reply;
    EXPECT_THAT(error.message, HasSubstr(one.advice)) << one.reply;
    const std::string reply = one.reply;
    EXPECT_EQ(error.service_code, reply.substr(0, reply.find(' ')));
  }
}

TEST(RedisErrorsTest, WhatIsNotKnownIsQuotedOnOneLine) {
  const Error error = DecodeError("ERR something\nnew\x01");
  EXPECT_EQ(error.code, ErrorCode::kInternal);
  EXPECT_THAT(error.message, HasSubstr("ERR something\\x0anew\\x01"));
}

}  // namespace
}  // namespace airfreight::redis
