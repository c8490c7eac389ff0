#include "store/azure/shared_key.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight::azure {
namespace {

// The emulator's key, which is published. The strings and signatures are what Azure's own client
// (azure-storage-blob 12.31.1, SharedKeyCredentialPolicy) makes of the same requests.
constexpr char kKey[] =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

SignedParts Parts(std::string method, std::string path, Headers headers) {
  SignedParts parts;
  parts.method = std::move(method);
  parts.path = std::move(path);
  parts.headers = std::move(headers);
  parts.headers.Set("x-ms-date", "Thu, 01 Jan 2026 00:00:00 GMT");
  parts.headers.Set("x-ms-version", "2021-12-02");
  return parts;
}

std::string Authorization(const SignedParts& parts, std::string_view account) {
  return SharedKeyAuthorization(parts, account, Secret(kKey)).value();
}

TEST(AzureSharedKey, ANameOfEverythingIsSignedAsItIsSent) {
  SignedParts parts =
      Parts("PUT", "/devstoreaccount1/box/xcom/a%21%24%26%27%28%29%2A%2C%3A%3B%3D%40%25%2B%20z",
            {{"Content-Type", "application/octet-stream"},
             {"If-None-Match", "*"},
             {"x-ms-blob-type", "BlockBlob"},
             {"x-ms-meta-af_write", "00ff"},
             {"x-ms-content-crc64", "iJh5CoYUi64="},
             {"x-ms-encryption-scope", "scope1"},
             {"x-ms-meta-af_attempt", "1"}});
  parts.content_length = 7;
  EXPECT_EQ(StringToSign(parts, "devstoreaccount1"),
            "PUT\n\n\n7\n\napplication/octet-stream\n\n\n\n*\n\n\nx-ms-blob-type:BlockBlob\n"
            "x-ms-content-crc64:iJh5CoYUi64=\nx-ms-date:Thu, 01 Jan 2026 00:00:00 GMT\n"
            "x-ms-encryption-scope:scope1\nx-ms-meta-af_attempt:1\nx-ms-meta-af_write:00ff\n"
            "x-ms-version:2021-12-02\n/devstoreaccount1/devstoreaccount1/box/xcom/"
            "a%21%24%26%27%28%29%2A%2C%3A%3B%3D%40%25%2B%20z");
  EXPECT_EQ(Authorization(parts, "devstoreaccount1"),
            "SharedKey devstoreaccount1:r9F9XfQpGcT+7u6fhrwhFrIBmDE+18MDygPnjkaPHPg=");
}

TEST(AzureSharedKey, AQueryIsSignedSortedAndNotEncoded) {
  SignedParts parts = Parts("GET", "/box", {});
  parts.query = {
      {"restype", "container"}, {"comp", "list"}, {"prefix", "xcom/a b"}, {"maxresults", "1000"}};
  EXPECT_EQ(Authorization(parts, "myaccount"),
            "SharedKey myaccount:Ip1Iw8WFwLgIabRNhi711XRWLLSb5NaNkAQ+yB9RAec=");
}

TEST(AzureSharedKey, ConditionsAndRangesAreSigned) {
  const SignedParts parts =
      Parts("GET", "/box/k", {{"x-ms-range", "bytes=0-99"}, {"If-Match", "\"0x8D1\""}});
  EXPECT_EQ(Authorization(parts, "myaccount"),
            "SharedKey myaccount:hjSeL1lM2CammxYlLVFSVSMi7/1JSW4rH0MMkgKBlhk=");
}

TEST(AzureSharedKey, HeadersAreInTheOrderOfTheServiceNotOfBytes) {
  SignedParts parts = Parts(
      "PUT", "/box/k",
      {{"x-ms-meta-a_b", "1"}, {"x-ms-meta-a1", "2"}, {"x-ms-meta-ab", "3"}, {"X-MS-Meta-a", "4"}});
  parts.content_length = 1;
  EXPECT_EQ(Authorization(parts, "myaccount"),
            "SharedKey myaccount:Mrm5N1ySwny0Fxmh1BNO3lB60nvujfc1pwjIuwjaoBM=");
}

TEST(AzureSharedKey, AKeyThatIsNoneIsNotShown) {
  const auto made = SharedKeyAuthorization(Parts("GET", "/", {}), "myaccount", Secret("hunter2!"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(made.error().message.find("hunter2"), std::string::npos);
  EXPECT_NE(made.error().message.find("base64"), std::string::npos);
}

}  // namespace
}  // namespace airfreight::azure
