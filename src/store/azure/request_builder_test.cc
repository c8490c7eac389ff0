#include "store/azure/request_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/base64.h"

namespace airfreight::azure {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kKey[] =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

Signer SignerOf(Credential::Kind kind, std::string secret) {
  return {AccountOf("myaccount"), "box", {kind, Secret(std::move(secret))}, 1767225600};
}

HttpRequest Signed(const AzureRequest& request) {
  return Sign(request, SignerOf(Credential::Kind::kSharedKey, kKey)).value();
}

TEST(AzureRequestBuilder, NoPartOfANameEndsInADotWhichTheServiceWouldTakeOff) {
  EXPECT_TRUE(CheckBlobName("a.b/.c/d", "x.y"));
  struct Case {
    const char* key;
    const char* prefix;
    const char* part;
  };
  for (const Case& c : {Case{"a./b", "", "'a.'"},
                        {"a/b.", "x", "'b.'"},
                        {"a/...", "", "'...'"},
                        {"a", "x./y", "'x.'"},
                        {"a", "x.", "'x.'"}}) {
    const Status checked = CheckBlobName(c.key, c.prefix);
    ASSERT_FALSE(checked) << c.key;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(checked.error().message, HasSubstr(std::string("its part ") + c.part));
  }
}

TEST(AzureRequestBuilder, PutCarriesWhatDescribesTheObject) {
  PutOptions put;
  put.condition = Condition::Absent();
  put.metadata = {{"af-write", "00ff"}, {"af-owner", "x%2Fy"}};
  put.content_type = "text/plain";
  AzureOptions options;
  options.encryption_scope = "scope1";
  const std::string text = "123456789";
  const HttpRequest http = Signed(
      BuildPut("xcom/a b%/é", Body(text), put, {"x-ms-content-crc64", "iJh5CoYUi64="}, options));
  EXPECT_EQ(http.method, "PUT");
  EXPECT_EQ(http.url, "https://myaccount.blob.core.windows.net/box/xcom/a%20b%25/%C3%A9");
  EXPECT_EQ(http.headers.Get("if-none-match"), "*");
  EXPECT_EQ(http.headers.Get("x-ms-blob-type"), "BlockBlob");
  EXPECT_EQ(http.headers.Get("x-ms-blob-content-type"), "text/plain");
  EXPECT_EQ(http.headers.Get("x-ms-meta-af_write"), "00ff");
  EXPECT_EQ(http.headers.Get("x-ms-meta-af_owner"), "x%252Fy");
  EXPECT_EQ(http.headers.Get("x-ms-encryption-scope"), "scope1");
  EXPECT_EQ(http.headers.Get("x-ms-content-crc64"), "iJh5CoYUi64=");
  EXPECT_EQ(http.headers.Get("x-ms-date"), "Thu, 01 Jan 2026 00:00:00 GMT");
  EXPECT_EQ(http.headers.Get("x-ms-version"), kApiVersion);
  EXPECT_THAT(std::string(http.headers.Get("authorization")), StartsWith("SharedKey myaccount:"));
}

TEST(AzureRequestBuilder, AScopeOfTheRequestGoesBeforeThatOfTheSettings) {
  AzureOptions options;
  options.encryption_scope = "scope1";
  PutOptions put;
  put.encryption_key = "scope2";
  for (const AzureRequest& request :
       {BuildPut("k", Body(), put, {}, options), BuildPutBlock("k", "id", Body(), put, {}, options),
        BuildPutBlockList("k", "", put, Condition::None(), {}, options)}) {
    EXPECT_EQ(request.headers.Get("x-ms-encryption-scope"), "scope2");
  }
}

TEST(AzureRequestBuilder, WhatIsNotAskedForIsNotSent) {
  const AzureRequest put = BuildPut("k", Body(), {}, {}, {});
  for (const char* const name : {"x-ms-encryption-scope", "x-ms-content-crc64", "content-md5",
                                 "if-match", "if-none-match"}) {
    EXPECT_EQ(put.headers.Find(name), std::nullopt) << name;
  }
  EXPECT_TRUE(BuildRemove("k", Condition::Absent()).headers.empty());
  EXPECT_TRUE(BuildGet("k", {}).headers.empty());
}

TEST(AzureRequestBuilder, Ranges) {
  const auto range = [](uint64_t offset, std::optional<uint64_t> length) {
    GetOptions get;
    get.offset = offset;
    get.length = length;
    return std::string(BuildGet("k", get).headers.Get("x-ms-range"));
  };
  EXPECT_EQ(range(0, 10), "bytes=0-9");
  EXPECT_EQ(range(5, std::nullopt), "bytes=5-");
  EXPECT_EQ(range(5, 0), "bytes=5-5");
  EXPECT_EQ(range(1, UINT64_MAX), "bytes=1-18446744073709551615");
}

TEST(AzureRequestBuilder, AListAsksUnderThePrefixAndAfterTheMarker) {
  const HttpRequest http = Signed(BuildList("xcom/a b&", "2!76!=", 1000));
  EXPECT_EQ(http.url,
            "https://myaccount.blob.core.windows.net/box?restype=container&comp=list&maxresults="
            "1000&prefix=xcom%2Fa%20b%26&marker=2%2176%21%3D");
}

TEST(AzureRequestBuilder, ASignatureStandsBehindTheQueryAndATokenInTheHead) {
  const auto sas = Sign(BuildList("", "", 1), SignerOf(Credential::Kind::kSas, "sv=1&sig=a%2Bb"));
  ASSERT_TRUE(sas);
  EXPECT_THAT(sas->url, testing::EndsWith("&maxresults=1&sv=1&sig=a%2Bb"));
  EXPECT_EQ(sas->headers.Find("authorization"), std::nullopt);
  const auto head = Sign(BuildHead("k"), SignerOf(Credential::Kind::kSas, "sv=1&sig=a%2Bb"));
  ASSERT_TRUE(head);
  EXPECT_THAT(head->url, testing::EndsWith("/box/k?sv=1&sig=a%2Bb"));
  const auto token = Sign(BuildHead("k"), SignerOf(Credential::Kind::kToken, "eyJ0"));
  ASSERT_TRUE(token);
  EXPECT_EQ(token->headers.Get("authorization"), "Bearer eyJ0");
  EXPECT_THAT(token->url, Not(HasSubstr("eyJ0")));
}

TEST(AzureRequestBuilder, IdsOfBlocksHaveOneLengthAndAreAnUploadsOwn) {
  const std::string upload(32, 'a');
  std::set<std::string> ids;
  for (const int number : {1, 9, 10, 999, kMaxBlocks}) {
    const std::string id = BlockId(upload, number);
    EXPECT_EQ(id.size(), 52U) << number;
    EXPECT_TRUE(Base64Decode(id)) << id;
    EXPECT_TRUE(ids.insert(id).second);
    EXPECT_NE(id, BlockId(std::string(32, 'b'), number));
  }
}

TEST(AzureRequestBuilder, AListOfBlocksIsInTheirOrder) {
  EXPECT_EQ(BlockListDocument({{1, 0, 1, 0, "YQ=="}, {2, 1, 1, 0, "Yg=="}}),
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList><Latest>YQ==</Latest>"
            "<Latest>Yg==</Latest></BlockList>");
}

}  // namespace
}  // namespace airfreight::azure
