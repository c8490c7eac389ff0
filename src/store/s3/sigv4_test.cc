#include "store/s3/sigv4.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace airfreight::s3 {
namespace {

// The examples of docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, with the
// credentials that AWS made up for them.
constexpr char kAccessKey[] = "AKIAIOSFODNN7EXAMPLE";
constexpr char kSecretKey[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

class PublishedExampleTest : public ::testing::Test {
 protected:
  void Expect(const std::string& canonical, const std::string& canonical_hash,
              const std::string& signed_headers, const std::string& signature) {
    EXPECT_EQ(CanonicalRequest(parts_), canonical);
    EXPECT_EQ(StringToSign(canonical, scope_),
              "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n" +
                  canonical_hash);
    const Credentials credentials{kAccessKey, Secret(kSecretKey), Secret()};
    EXPECT_EQ(Authorization(parts_, credentials, scope_, keys_),
              "AWS4-HMAC-SHA256 "
              "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" +
                  signed_headers + ",Signature=" + signature);
  }

  SignedParts parts_{.method = "GET",
                     .canonical_uri = "/",
                     .query = {},
                     .headers = {{"Host", "examplebucket.s3.amazonaws.com"},
                                 {"x-amz-content-sha256", std::string(kEmptyPayloadHash)},
                                 {"x-amz-date", "20130524T000000Z"}},
                     .payload_hash = std::string(kEmptyPayloadHash)};
  SigningKeys keys_;
  SigningScope scope_{.unix_seconds = 1369353600, .region = "us-east-1", .service = "s3"};
};

TEST_F(PublishedExampleTest, GetObject) {
  parts_.canonical_uri = "/test.txt";
  parts_.headers.Set("Range", "bytes=0-9");
  Expect(
      "GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\nrange:bytes=0-9\n"
      "x-amz-content-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
      "x-amz-date:20130524T000000Z\n\nhost;range;x-amz-content-sha256;x-amz-date\n"
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
      "host;range;x-amz-content-sha256;x-amz-date",
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(PublishedExampleTest, PutObject) {
  parts_.method = "PUT";
  parts_.canonical_uri = "/test%24file.text";
  parts_.payload_hash = PayloadHash(Body("Welcome to Amazon S3."), {}).value();
  parts_.headers.Set("x-amz-content-sha256", parts_.payload_hash);
  parts_.headers.Set("Date", "Fri, 24 May 2013 00:00:00 GMT");
  parts_.headers.Set("x-amz-storage-class", "REDUCED_REDUNDANCY");
  Expect(
      "PUT\n/test%24file.text\n\ndate:Fri, 24 May 2013 00:00:00 GMT\n"
      "host:examplebucket.s3.amazonaws.com\n"
      "x-amz-content-sha256:44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\n"
      "x-amz-date:20130524T000000Z\nx-amz-storage-class:REDUCED_REDUNDANCY\n\n"
      "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class\n"
      "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
      "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_F(PublishedExampleTest, GetBucketLifecycle) {
  parts_.query = {{"lifecycle", ""}};
  Expect(
      "GET\n/\nlifecycle=\nhost:examplebucket.s3.amazonaws.com\n"
      "x-amz-content-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
      "x-amz-date:20130524T000000Z\n\nhost;x-amz-content-sha256;x-amz-date\n"
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
      "host;x-amz-content-sha256;x-amz-date",
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_F(PublishedExampleTest, ListObjects) {
  parts_.query = {{"prefix", "J"}, {"max-keys", "2"}};
  Expect(
      "GET\n/\nmax-keys=2&prefix=J\nhost:examplebucket.s3.amazonaws.com\n"
      "x-amz-content-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
      "x-amz-date:20130524T000000Z\n\nhost;x-amz-content-sha256;x-amz-date\n"
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
      "host;x-amz-content-sha256;x-amz-date",
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(CanonicalQueryTest, SortsByEncodedNameThenValue) {
  EXPECT_EQ(CanonicalQuery({{"b", "2"}, {"a", "+"}, {"a", " /"}, {"a-b", "é"}}),
            "a=%20%2F&a=%2B&a-b=%C3%A9&b=2");
  EXPECT_EQ(CanonicalQuery({}), "");
}

TEST(CanonicalRequestTest, BlanksInHeadersAreFolded) {
  const SignedParts parts{"PUT", "/", {}, {{"x-amz-meta-a", "  b \t c  "}}, "h"};
  EXPECT_EQ(CanonicalRequest(parts), "PUT\n/\n\nx-amz-meta-a:b c\n\nx-amz-meta-a\nh");
}

TEST(PayloadHashTest, DoesNotDependOnTheSegments) {
  Body parts("Welcome ");
  parts.Append(AsBytes("to Amazon "));
  parts.Append(AsBytes("S3."));
  EXPECT_EQ(PayloadHash(parts, {}).value(), PayloadHash(Body("Welcome to Amazon S3."), {}).value());
  EXPECT_EQ(PayloadHash(Body(), {}).value(), kEmptyPayloadHash);
}

TEST(PayloadHashTest, EndsWhenTheCallerWantsNoMore) {
  const std::string megabyte(1 << 20, 'x');
  Body body;
  for (int i = 0; i < 40; ++i) body.Append(AsBytes(megabyte));
  int looks = 0;
  Context context;
  context.cancelled = [&looks] { return ++looks == 3; };
  const auto cancelled = PayloadHash(body, context);
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(looks, 3);
  context = {};
  context.deadline = Context::Clock::time_point();
  const auto late = PayloadHash(body, context);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
}

TEST(SigningKeysTest, AKeyIsKeptForItsSecretDayRegionAndServiceOnly) {
  SigningKeys kept;
  const Secret secret(kSecretKey);
  const Sha256Value first = kept.Get(secret, "20130524", "us-east-1", "s3");
  EXPECT_EQ(kept.Get(secret, "20130524", "us-east-1", "s3"), first);
  for (const auto& [other, day, region, service] :
       {std::tuple{Secret("another"), "20130524", "us-east-1", "s3"},
        {secret, "20130525", "us-east-1", "s3"},
        {secret, "20130524", "us-east-2", "s3"},
        {secret, "20130524", "us-east-1", "sts"}}) {
    SigningKeys fresh;
    const Sha256Value key = kept.Get(other, day, region, service);
    EXPECT_NE(key, first);
    EXPECT_EQ(key, fresh.Get(other, day, region, service));
  }
  EXPECT_EQ(kept.Get(secret, "20130524", "us-east-1", "s3"), first);
}

}  // namespace
}  // namespace airfreight::s3
