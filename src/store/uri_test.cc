#include "store/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "airfreight/store.h"
#include "conformance/matchers.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Message(std::string_view uri) {
  const auto parsed = ParseStoreUri(uri);
  EXPECT_TRUE(IsError(parsed, ErrorCode::kInvalid)) << uri;
  return parsed ? "" : parsed.error().message;
}

TEST(StoreUriTest, BucketAndPrefix) {
  const auto uri = ParseStoreUri("s3://bucket/a/prefix");
  ASSERT_TRUE(IsOk(uri));
  EXPECT_EQ(uri->scheme, "s3");
  EXPECT_EQ(uri->bucket, "bucket");
  EXPECT_EQ(uri->prefix, "a/prefix");
  EXPECT_EQ(uri->connection, "");
  EXPECT_EQ(uri->Root(), "s3://bucket/a/prefix");
  EXPECT_EQ(uri->FullKey("k/x"), "a/prefix/k/x");
}

TEST(StoreUriTest, EmptyPrefixIsLegalAndLeavesNoSlash) {  // dagster-io/dagster#33490
  for (const char* text : {"s3://bucket", "s3://bucket/", "s3://bucket///"}) {
    const auto uri = ParseStoreUri(text);
    ASSERT_TRUE(IsOk(uri)) << text;
    EXPECT_EQ(uri->Root(), "s3://bucket");
    EXPECT_EQ(uri->FullKey("k"), "k");
  }
}

TEST(StoreUriTest, ConnectionIsNoPartOfTheRoot) {  // apache/airflow#39602
  const auto uri = ParseStoreUri("s3://my_conn@bucket/xcom/");
  ASSERT_TRUE(IsOk(uri));
  EXPECT_EQ(uri->connection, "my_conn");
  EXPECT_EQ(uri->bucket, "bucket");
  EXPECT_EQ(uri->Root(), "s3://bucket/xcom");
}

TEST(StoreUriTest, AzureUnderEachOfItsSchemesIsOne) {
  for (const char* scheme : {"az", "abfs", "abfss", "wasb", "wasbs"}) {
    const auto uri = ParseStoreUri(std::string(scheme) + "://my_conn@my-box/xcom/");
    ASSERT_TRUE(IsOk(uri)) << scheme;
    EXPECT_EQ(uri->scheme, "az");
    EXPECT_EQ(uri->connection, "my_conn");
    EXPECT_EQ(uri->bucket, "my-box");
    EXPECT_EQ(uri->Root(), "az://my-box/xcom");
  }
  EXPECT_THAT(Message("az://My_Box/x"), HasSubstr("small letters, digits and single '-'"));
  for (const char* const uri : {"az://-box", "az://box-", "az://my--box"}) {
    EXPECT_THAT(Message(uri), HasSubstr("single '-'")) << uri;
  }
  EXPECT_THAT(Message("az://" + std::string(64, 'a')), HasSubstr("3 to 63 characters"));
}

TEST(StoreUriTest, HadoopsSpellingOfAzureIsRefusedWithOurs) {
  EXPECT_THAT(Message("abfss://box@myaccount.dfs.core.windows.net/xcom"),
              AllOf(HasSubstr("az://box/prefix"), HasSubstr("az_account = myaccount")));
}

TEST(StoreUriTest, DirectoryIsAbsolute) {
  const auto uri = ParseStoreUri("file:///srv/air flow/é%20/");
  ASSERT_TRUE(IsOk(uri));
  EXPECT_EQ(uri->directory, "/srv/air flow/é%20");
  EXPECT_EQ(uri->Root(), "file:///srv/air flow/é%20");
  EXPECT_EQ(uri->prefix, "");
  EXPECT_THAT(Message("file://srv/airflow"), HasSubstr("three slashes"));
  EXPECT_THAT(Message("file:///"), HasSubstr("no directory"));
}

TEST(StoreUriTest, MemoryHasANameAndAPrefix) {
  const auto uri = ParseStoreUri("memory://name/p");
  ASSERT_TRUE(IsOk(uri));
  EXPECT_EQ(uri->bucket, "name");
  EXPECT_EQ(uri->Root(), "memory://name/p");
  EXPECT_THAT(Message("memory://conn@name"), HasSubstr("memory takes no connection id"));
}

TEST(StoreUriTest, RedisHasAHostADatabaseAndAPrefix) {
  const auto uri = ParseStoreUri("redis://my_redis@cache.example.com:6380/2/xcom/eu/");
  ASSERT_TRUE(IsOk(uri));
  EXPECT_EQ(uri->connection, "my_redis");
  EXPECT_EQ(uri->host, "cache.example.com");
  EXPECT_EQ(uri->port, 6380);
  EXPECT_EQ(uri->database, 2);
  EXPECT_EQ(uri->prefix, "xcom/eu");
  EXPECT_EQ(uri->Root(), "redis://cache.example.com:6380/2/xcom/eu");
  EXPECT_EQ(uri->FullKey("k"), "xcom/eu/k");
}

TEST(StoreUriTest, PortOfRedisIsPartOfTheRootAlsoWhereItIsTheUsualOne) {
  for (const char* text : {"rediss://cache/0", "rediss://cache:6379/0/", "rediss://c@cache/0"}) {
    const auto uri = ParseStoreUri(text);
    ASSERT_TRUE(IsOk(uri)) << text;
    EXPECT_EQ(uri->Root(), "rediss://cache:6379/0");
  }
  const auto uri = ParseStoreUri("redis://[::1]:7000/0/p");
  ASSERT_TRUE(IsOk(uri));
  EXPECT_EQ(uri->host, "::1");
  EXPECT_EQ(uri->Root(), "redis://[::1]:7000/0/p");
}

TEST(StoreUriTest, RedisWithoutARightHostPortOrDatabaseIsRefused) {
  for (const char* text :
       {"redis:///0", "redis://host:0/0", "redis://host:65536/0", "redis://host:x/0",
        "redis://host:/0", "redis://ho st/0", "redis://[::1/0", "redis://[host]/0",
        "redis://@host/0", "redis://::1/0"}) {
    EXPECT_THAT(Message(text), HasSubstr(text)) << text;
  }
  for (const char* text : {"redis://host", "redis://host/", "redis://host/xcom", "redis://host/-1",
                           "redis://host/01", "redis://host/1x", "redis://host//0"}) {
    EXPECT_THAT(Message(text), HasSubstr("number of a database")) << text;
  }
  EXPECT_THAT(Message("redis://host/0/a//b"), HasSubstr("two slashes"));
  EXPECT_THAT(Message("redis://host/0/../b"), HasSubstr("'..'"));
  EXPECT_THAT(Message("redis://user:secret@host:6379/0"), Not(HasSubstr("secret@")));
}

TEST(StoreUriTest, RefusalQuotesWhatWasSetAndShowsARightOne) {
  for (const char* text :
       {"bucket/xcom", "s3://", "s3:///prefix", "s3://@bucket", "s3://a b/x", "s3://bu",
        "s3://bucket/../x", "s3://bucket/a/./b", "s3://bucket/a//b", "s3://bucket/x?region=eu",
        "s3://bucket/x#y", "file:///a/../b", "file:///a//b", "file://host/dir", "gopher://x"}) {
    EXPECT_THAT(Message(text), AllOf(HasSubstr(text), HasSubstr("s3://bucket/xcom"))) << text;
  }
  EXPECT_THAT(Message(""), HasSubstr("s3://bucket/xcom"));
}

TEST(StoreUriTest, ControlCharactersAreRefusedAndShownEscaped) {
  using std::string_view_literals::operator""sv;
  EXPECT_THAT(Message("s3://bucket/a\0b"sv), HasSubstr("\\x00"));
  EXPECT_THAT(Message("s3://bucket/a\nb"), HasSubstr("\\x0a"));
  EXPECT_THAT(Message("s3://bucket/a\xff"), HasSubstr("UTF-8"));
}

TEST(StoreUriTest, UnknownSchemeListsTheKnownOnes) {
  EXPECT_THAT(Message("ftp://bucket/x"), AllOf(HasSubstr("'ftp'"), HasSubstr("known ones are s3")));
  EXPECT_THAT(Message("S3://bucket/x"), HasSubstr("'S3'"));
}

TEST(StoreUriTest, PrefixThatLeavesNoRoomForKeysIsRefused) {
  EXPECT_TRUE(IsOk(ParseStoreUri("s3://bucket/" + std::string(kMaxPrefixBytes, 'p'))));
  EXPECT_THAT(Message("s3://bucket/" + std::string(kMaxPrefixBytes + 1, 'p')),
              HasSubstr("longer than 150 bytes"));
}

TEST(StoreUriTest, DirectoryBucketIsRefusedByItsName) {  // qdrant/qdrant#9757
  EXPECT_THAT(Message("s3://b--use1-az4--x-s3/xcom"),
              AllOf(HasSubstr("S3 Express"), HasSubstr("not supported")));
}

TEST(StoreUriTest, SecretInTheUriIsRefusedAndNotShown) {
  for (const char* text :
       {"s3://AKIAEXAMPLE:topsecret@bucket/x", "s3://AKIAEXAMPLE:top/secret@bucket",
        "s3://AKIAEXAMPLE:top?secret@bucket", "redis://:topsecret@host"}) {
    EXPECT_THAT(Message(text),
                AllOf(Not(HasSubstr("secret@")), Not(HasSubstr("AKIA")), HasSubstr("not shown")))
        << text;
  }
}

TEST(StoreUriTest, ColonAndAtSignInAPrefixAreNoSecret) {
  EXPECT_TRUE(IsOk(ParseStoreUri("s3://bucket/a:b@c")));
  EXPECT_TRUE(IsOk(ParseStoreUri("file:///a:b@c")));
}

}  // namespace
}  // namespace airfreight
