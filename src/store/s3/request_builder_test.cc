#include "store/s3/request_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace airfreight::s3 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What stands in a request's fields, or "-".
std::string Field(const Headers& headers, std::string_view name) {
  return std::string(headers.Find(name).value_or("-"));
}

Signer Example() {
  Signer signer;
  signer.endpoint = {true, "s3.us-east-1.amazonaws.com", ""};
  signer.bucket = "bucket";
  signer.credentials = {"AKID", Secret("secret"), Secret()};
  signer.scope = {1369353600, "us-east-1", "s3"};
  return signer;
}

HttpRequest SignWith(const S3Request& request, const Signer& signer) {
  SigningKeys keys;
  return Sign(request, signer, keys);
}

TEST(BuildPutTest, ConditionsAndMetadataAreHeaders) {
  PutOptions put;
  put.content_type = "text/x";
  put.metadata = {{"write", "7f"}, {"coordinate", "ab"}};
  put.condition = Condition::Absent();
  const S3Request absent = BuildPut("a/k", Body("body"), put, {});
  EXPECT_EQ(Field(absent.headers, "If-None-Match"), "*");
  EXPECT_EQ(Field(absent.headers, "If-Match"), "-");
  EXPECT_EQ(Field(absent.headers, "Content-Type"), "text/x");
  EXPECT_EQ(Field(absent.headers, "x-amz-meta-write"), "7f");
  EXPECT_TRUE(absent.conditional);

  put.condition = Condition::Version("\"9a-3\"");
  const S3Request version = BuildPut("a/k", Body("body"), put, {});
  EXPECT_EQ(Field(version.headers, "If-Match"), "\"9a-3\"");
  EXPECT_EQ(Field(version.headers, "If-None-Match"), "-");
}

TEST(BuildPutTest, NoConditionIsSentToAServerThatHasNone) {
  S3Options options;
  options.conditional_writes = false;
  PutOptions put;
  put.condition = Condition::Absent();
  const S3Request request = BuildPut("k", Body(), put, options);
  EXPECT_EQ(Field(request.headers, "If-None-Match"), "-");
  EXPECT_FALSE(request.conditional);
}

// boto/boto3#4392: stores that do not know the new checksums refuse uploads that have them.
TEST(BuildPutTest, AChecksumIsAHeaderOrNothingAndNeverAChunkedCoding) {
  PutOptions put;
  put.crc32c = 0x263fc950;  // Of "body".
  const S3Request request = BuildPut("k", Body("body"), put, {});
  Signer with = Example();
  with.checksums = true;
  EXPECT_EQ(Field(SignWith(request, with).headers, "x-amz-checksum-crc32c"), "Jj/JUA==");
  EXPECT_THAT(Field(SignWith(request, with).headers, "Authorization"),
              HasSubstr("x-amz-checksum-crc32c;"));
  const HttpRequest http = SignWith(request, Example());
  for (const auto& [name, value] : http.headers) {
    EXPECT_THAT(name, Not(HasSubstr("checksum")));
    EXPECT_THAT(value, Not(HasSubstr("aws-chunked")));
    EXPECT_THAT(value, Not(HasSubstr("STREAMING")));
  }
}

// awslabs/mountpoint-s3#534: the header belongs on writes, and only there.
TEST(BuildPutTest, EncryptionIsAskedForOnWritesOnly) {
  S3Options options;
  options.sse = "aws:kms";
  options.sse_kms_key_id = "arn:key";
  const S3Request put = BuildPut("k", Body(), {}, options);
  EXPECT_EQ(Field(put.headers, "x-amz-server-side-encryption"), "aws:kms");
  EXPECT_EQ(Field(put.headers, "x-amz-server-side-encryption-aws-kms-key-id"), "arn:key");
  for (const S3Request& other : {BuildGet("k", {}, options), BuildHead("k", options),
                                 BuildRemove("k", {}, options), BuildList("", "", 1, options)}) {
    EXPECT_TRUE(other.headers.empty());
  }
}

// drivendataorg/cloudpathlib#180.
TEST(RequestPayerTest, IsSentWithEveryRequest) {
  S3Options options;
  options.request_payer = true;
  for (const S3Request& request :
       {BuildPut("k", Body(), {}, options), BuildGet("k", {}, options), BuildHead("k", options),
        BuildRemove("k", {}, options), BuildList("", "", 1, options)}) {
    EXPECT_EQ(Field(request.headers, "x-amz-request-payer"), "requester");
  }
}

TEST(BuildGetTest, RangesIncludeTheirLastByte) {
  const auto range = [](uint64_t offset, std::optional<uint64_t> length) {
    GetOptions get;
    get.offset = offset;
    get.length = length;
    return Field(BuildGet("k", get, {}).headers, "Range");
  };
  EXPECT_EQ(range(0, std::nullopt), "-");
  EXPECT_EQ(range(7, std::nullopt), "bytes=7-");
  EXPECT_EQ(range(0, 1), "bytes=0-0");
  EXPECT_EQ(range(10, 5), "bytes=10-14");
  EXPECT_EQ(range(10, 0), "bytes=10-10");
  EXPECT_EQ(range(1, UINT64_MAX), "bytes=1-18446744073709551615");
}

TEST(Crc32cHeaderTest, IsBase64OfFourBytes) {
  EXPECT_EQ(Crc32cHeader(0), "AAAAAA==");
  EXPECT_EQ(Crc32cHeader(0xffffffff), "/////w==");
}

TEST(BuildPutTest, EveryKindOfKeyServiceSettingHasItsHeader) {
  S3Options options;
  options.sse = "aws:kms";
  options.sse_kms_context = R"({"a": "b"})";
  options.sse_bucket_key = true;
  for (const S3Request& request :
       {BuildPut("k", Body(), {}, options), BuildCreateUpload("k", {}, options)}) {
    EXPECT_EQ(Field(request.headers, "x-amz-server-side-encryption-context"), "eyJhIjogImIifQ==");
    EXPECT_EQ(Field(request.headers, "x-amz-server-side-encryption-bucket-key-enabled"), "true");
  }
  EXPECT_TRUE(BuildUploadPart("k", "id", 1, Body(), 0, options).headers.empty());
  EXPECT_TRUE(BuildAbortUpload("k", "id", options).headers.empty());
}

TEST(BuildPutTest, RetentionIsATagWhereTheSettingsAskForIt) {
  PutOptions week;
  week.retention_class = "7d";
  S3Options options;
  EXPECT_EQ(Field(BuildPut("k", Body(), week, options).headers, "x-amz-tagging"), "-");
  options.retention_tags = true;
  EXPECT_EQ(Field(BuildPut("k", Body(), week, options).headers, "x-amz-tagging"),
            "airfreight-retention=7d");
  EXPECT_EQ(Field(BuildCreateUpload("k", week, options).headers, "x-amz-tagging"),
            "airfreight-retention=7d");
  EXPECT_EQ(Field(BuildPut("k", Body(), {}, options).headers, "x-amz-tagging"), "-");
}

TEST(BuildListTest, AsksForVersionTwoAndEncodedKeys) {
  EXPECT_EQ(CanonicalQuery(BuildList("xcom/a b", "to/ken+=", 1000, {}).query),
            "continuation-token=to%2Fken%2B%3D&encoding-type=url&list-type=2&max-keys=1000&"
            "prefix=xcom%2Fa%20b");
  EXPECT_EQ(CanonicalQuery(BuildList("", "", 1, {}).query),
            "encoding-type=url&list-type=2&max-keys=1");
}

// versity/versitygw#2045, rclone/rclone#6670, apache/iceberg-go#1423: front ends change other
// headers.
TEST(SignTest, OnlyHostAndAmazonHeadersAreSigned) {
  PutOptions put;
  put.condition = Condition::Absent();
  put.metadata = {{"write", "7f"}};
  const HttpRequest http = SignWith(BuildPut("k", Body("body"), put, {}), Example());
  EXPECT_THAT(std::string(http.headers.Get("Authorization")),
              HasSubstr("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-meta-write,"));
}

TEST(SignTest, TheUrlHoldsThePathThatWasSigned) {
  Signer signer = Example();
  EXPECT_EQ(SignWith(BuildHead("run+1/é", {}), signer).url,
            "https://bucket.s3.us-east-1.amazonaws.com/run%2B1/%C3%A9");
  signer.endpoint = {false, "127.0.0.1:9000", "/s3"};
  EXPECT_EQ(SignWith(BuildList("p", "", 5, {}), signer).url,
            "http://127.0.0.1:9000/s3/bucket?encoding-type=url&list-type=2&max-keys=5&prefix=p");
}

TEST(SignTest, ThePayloadIsSignedOrSaidNotToBe) {
  Signer signer = Example();
  signer.payload_hash = PayloadHash(Body("Welcome to Amazon S3."), {}).value();
  EXPECT_EQ(Field(SignWith(BuildPut("k", Body("Welcome to Amazon S3."), {}, {}), signer).headers,
                  "x-amz-content-sha256"),
            "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  signer.payload_hash.clear();
  EXPECT_EQ(
      Field(SignWith(BuildPut("k", Body("x"), {}, {}), signer).headers, "x-amz-content-sha256"),
      "UNSIGNED-PAYLOAD");
  EXPECT_EQ(Field(SignWith(BuildGet("k", {}, {}), signer).headers, "x-amz-content-sha256"),
            kEmptyPayloadHash);
}

TEST(SignTest, ASessionTokenIsSentAndSigned) {
  Signer signer = Example();
  signer.credentials.session_token = Secret("token");
  const HttpRequest http = SignWith(BuildGet("k", {}, {}), signer);
  EXPECT_EQ(Field(http.headers, "x-amz-security-token"), "token");
  EXPECT_THAT(Field(http.headers, "Authorization"), HasSubstr("x-amz-security-token,"));
  EXPECT_THAT(Field(http.headers, "Authorization"), Not(HasSubstr("secret/")));
}

TEST(SignTest, EachVerbHasItsMethod) {
  EXPECT_EQ(SignWith(BuildPut("k", Body(), {}, {}), Example()).method, "PUT");
  EXPECT_EQ(SignWith(BuildGet("k", {}, {}), Example()).method, "GET");
  EXPECT_EQ(SignWith(BuildHead("k", {}), Example()).method, "HEAD");
  EXPECT_EQ(SignWith(BuildRemove("k", {}, {}), Example()).method, "DELETE");
  EXPECT_EQ(SignWith(BuildList("", "", 1, {}), Example()).method, "GET");
}

}  // namespace
}  // namespace airfreight::s3
