#include "store/s3/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Endpoint Parse(std::string_view url) {
  const auto endpoint = ParseEndpoint(url, "endpoint_url");
  EXPECT_TRUE(endpoint.has_value()) << url;
  return endpoint.value_or(Endpoint{});
}

TEST(ParseEndpointTest, TakesHostPortAndPath) {
  EXPECT_EQ(Parse("https://S3.Example.com"), (Endpoint{true, "s3.example.com", ""}));
  EXPECT_EQ(Parse("HTTP://minio:9000/"), (Endpoint{false, "minio:9000", ""}));
  EXPECT_EQ(Parse("http://127.0.0.1:7070/s3//"), (Endpoint{false, "127.0.0.1:7070", "/s3"}));
  EXPECT_EQ(Parse("https://[::1]:9000"), (Endpoint{true, "[::1]:9000", ""}));
  EXPECT_EQ(Parse("https://[::1]"), (Endpoint{true, "[::1]", ""}));
}

// The Host header of the scheme's own port has no port, and the Host header is signed.
TEST(ParseEndpointTest, TheSchemesOwnPortIsDropped) {
  EXPECT_EQ(Parse("https://h:443").host, "h");
  EXPECT_EQ(Parse("http://h:80").host, "h");
  EXPECT_EQ(Parse("http://h:443").host, "h:443");
}

TEST(ParseEndpointTest, RefusesWhatIsNoEndpointAndNamesTheSetting) {
  for (const std::string_view url :
       {"", "minio:9000", "ftp://h", "https://", "https://:9000", "https://h:0", "https://h:99999",
        "https://h:x", "https://h?x=1", "https://h#f", "https://h h", "https://h/a b",
        "https://[::1", "https://h\r\nx: y"}) {
    const auto endpoint = ParseEndpoint(url, "AWS_ENDPOINT_URL");
    ASSERT_FALSE(endpoint.has_value()) << url;
    EXPECT_EQ(endpoint.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(endpoint.error().message, HasSubstr("AWS_ENDPOINT_URL"));
    EXPECT_THAT(endpoint.error().message, HasSubstr("https://minio.example.com:9000"));
  }
}

TEST(ParseEndpointTest, APasswordInTheUrlIsNotShown) {
  const auto endpoint = ParseEndpoint("https://user:hunter2@h", "endpoint_url");
  ASSERT_FALSE(endpoint.has_value());
  EXPECT_THAT(endpoint.error().message, Not(HasSubstr("hunter2")));
}

TEST(AwsEndpointTest, FollowsTheRegionAndItsPartition) {
  EXPECT_EQ(AwsEndpoint("eu-central-1")->host, "s3.eu-central-1.amazonaws.com");
  EXPECT_EQ(AwsEndpoint("cn-north-1")->host, "s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(AwsEndpoint("us-gov-west-1")->host, "s3.us-gov-west-1.amazonaws.com");
}

TEST(AwsEndpointTest, ARegionCannotNameAnotherHost) {
  for (const std::string_view region : {"", "evil.com/", "a.b", "x@y", "EU", "-a", "a-"}) {
    EXPECT_FALSE(AwsEndpoint(region).has_value()) << region;
  }
}

TEST(IsAwsTest, KnowsVpcEndpointsAndNotLookAlikes) {
  EXPECT_TRUE(IsAws(Parse("https://bucket.vpce-1.s3.us-east-1.vpce.amazonaws.com")));
  EXPECT_TRUE(IsAws(Parse("https://s3.cn-north-1.amazonaws.com.cn")));
  EXPECT_FALSE(IsAws(Parse("https://s3.amazonaws.com.evil.org")));
  EXPECT_FALSE(IsAws(Parse("https://notamazonaws.com")));
}

TEST(LocateTest, AutoPutsTheBucketIntoTheHostAtAwsUnlessItHasDots) {
  const Endpoint aws = *AwsEndpoint("us-east-1");
  EXPECT_EQ(Locate(aws, AddressingStyle::kAuto, "b", "k"),
            (Address{"b.s3.us-east-1.amazonaws.com", "/k"}));
  EXPECT_EQ(Locate(aws, AddressingStyle::kAuto, "b.c", "k"),
            (Address{"s3.us-east-1.amazonaws.com", "/b.c/k"}));
  EXPECT_EQ(Locate(Parse("http://minio:9000"), AddressingStyle::kAuto, "b", "k"),
            (Address{"minio:9000", "/b/k"}));
}

TEST(LocateTest, TheStyleCanBeSet) {
  const Endpoint minio = Parse("http://minio:9000/base");
  EXPECT_EQ(Locate(minio, AddressingStyle::kVirtual, "b", "k"),
            (Address{"b.minio:9000", "/base/k"}));
  EXPECT_EQ(Locate(minio, AddressingStyle::kPath, "b", "k"), (Address{"minio:9000", "/base/b/k"}));
}

TEST(LocateTest, AnEmptyKeyIsTheBucket) {
  const Endpoint minio = Parse("http://m");
  EXPECT_EQ(Locate(minio, AddressingStyle::kPath, "b", "").path, "/b");
  EXPECT_EQ(Locate(minio, AddressingStyle::kVirtual, "b", "").path, "/");
}

// aws/aws-sdk-js-v3#283, durch/rust-s3#148 and five more: what is signed is what is sent, encoded
// once.
TEST(LocateTest, EachByteIsEncodedExactlyOnce) {
  EXPECT_EQ(Locate(Parse("http://m"), AddressingStyle::kPath, "b",
                   "manual__2026-01-01T00:00:00+00:00/a b/%2F/=@&'()~é日//x")
                .path,
            "/b/manual__2026-01-01T00%3A00%3A00%2B00%3A00/a%20b/%252F/%3D%40%26%27%28%29~%C3%A9"
            "%E6%97%A5//x");
}

}  // namespace
}  // namespace airfreight::s3
