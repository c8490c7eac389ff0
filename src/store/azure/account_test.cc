#include "store/azure/account.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight::azure {
namespace {

std::string Url(const Account& account) {
  return (account.endpoint.tls ? "https://" : "http://") + account.endpoint.host +
         account.endpoint.path;
}

Account Parsed(std::string_view url, std::string_view name = "") {
  const auto account = ParseServiceUrl(url, name, "X");
  EXPECT_TRUE(account) << account.error().message;
  return account.value_or(Account{});
}

TEST(AzureAccount, ItsNameIsInTheUrlOfItsService) {
  EXPECT_EQ(Parsed("https://myaccount.blob.core.windows.net/"),
            (Account{"myaccount", {true, "myaccount.blob.core.windows.net", ""}}));
  EXPECT_EQ(Parsed("https://myaccount.blob.core.usgovcloudapi.net").name, "myaccount");
  EXPECT_EQ(Parsed("http://127.0.0.1:10000/devstoreaccount1").name, "devstoreaccount1");
  EXPECT_EQ(Parsed("https://store.example.com").name, "");
}

TEST(AzureAccount, AnEmulatorHasItInThePath) {
  EXPECT_EQ(Url(Parsed("http://127.0.0.1:10000", "devstoreaccount1")),
            "http://127.0.0.1:10000/devstoreaccount1");
  EXPECT_EQ(Url(Parsed("http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1")),
            "http://127.0.0.1:10000/devstoreaccount1");
  EXPECT_EQ(Url(Parsed("https://store.example.com", "myaccount")), "https://store.example.com");
}

TEST(AzureAccount, TheBlobServiceIsAskedAlsoWhereDataLakesUrlIsGiven) {
  EXPECT_EQ(Parsed("https://myaccount.dfs.core.windows.net"),
            (Account{"myaccount", {true, "myaccount.blob.core.windows.net", ""}}));
}

TEST(AzureAccount, AContainersUrlIsNotTheServices) {
  for (const char* const url : {"https://myaccount.blob.core.windows.net/box",
                                "https://myaccount.dfs.core.windows.net/box/xcom"}) {
    for (const char* const name : {"", "myaccount"}) {
      const auto account = ParseServiceUrl(url, name, "[airfreight] az_endpoint_url");
      ASSERT_FALSE(account) << url;
      EXPECT_EQ(account.error().code, ErrorCode::kInvalid);
      EXPECT_NE(account.error().message.find("[airfreight] az_endpoint_url has a path"),
                std::string::npos);
      EXPECT_NE(account.error().message.find("https://myaccount.blob.core.windows.net"),
                std::string::npos);
    }
  }
}

TEST(AzureAccount, ANameBecomesPartOfAHostAndIsChecked) {
  EXPECT_TRUE(CheckAccountName("abc", "X"));
  for (const char* const name :
       {"", "ab", "My", "a-b", "a.b", "aaaaaaaaaaaaaaaaaaaaaaaaa", "a/b"}) {
    const Status checked = CheckAccountName(name, "[airfreight] az_account");
    ASSERT_FALSE(checked) << name;
    EXPECT_NE(checked.error().message.find("[airfreight] az_account is '"), std::string::npos);
  }
}

TEST(AzureConnectionString, WithAKey) {
  const auto parsed = ParseConnectionString(
      "DefaultEndpointsProtocol=https;AccountName=myaccount;AccountKey=Zm9vYg==;"
      "EndpointSuffix=core.chinacloudapi.cn",
      "X");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(Url(parsed->account), "https://myaccount.blob.core.chinacloudapi.cn");
  EXPECT_EQ(parsed->account.name, "myaccount");
  EXPECT_EQ(parsed->account_key.Reveal(), "Zm9vYg==");
  EXPECT_TRUE(parsed->sas_token.empty());
}

TEST(AzureConnectionString, NamesInAnyCaseAndBlanksAround) {
  const auto parsed = ParseConnectionString(" accountname=myaccount ;\n ACCOUNTKEY=Zm9v; ", "X");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(Url(parsed->account), "https://myaccount.blob.core.windows.net");
}

TEST(AzureConnectionString, WithASignature) {
  const auto parsed = ParseConnectionString(
      "BlobEndpoint=https://myaccount.blob.core.windows.net/;SharedAccessSignature="
      "?sv=2021-12-02&sig=a%2Bb%3D",
      "X");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->sas_token.Reveal(), "sv=2021-12-02&sig=a%2Bb%3D");
  EXPECT_TRUE(parsed->account_key.empty());
}

TEST(AzureConnectionString, OfTheEmulator) {
  const auto parsed = ParseConnectionString("UseDevelopmentStorage=true", "X");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(Url(parsed->account), "http://127.0.0.1:10000/devstoreaccount1");
  const auto elsewhere = ParseConnectionString(
      "AccountName=devstoreaccount1;AccountKey=Zm9v;BlobEndpoint=http://127.0.0.1:4711/"
      "devstoreaccount1",
      "X");
  ASSERT_TRUE(elsewhere) << elsewhere.error().message;
  EXPECT_EQ(Url(elsewhere->account), "http://127.0.0.1:4711/devstoreaccount1");
}

TEST(AzureConnectionString, OneThatIsWrongIsNotShown) {
  for (const char* const text :
       {"", "hunter2", "AccountKey=hunter2", "AccountName=hunter2!;AccountKey=Zm9v",
        "AccountName=myaccount", "AccountName=myaccount;AccountKey=hunter2",
        "AccountName=myaccount;SharedAccessSignature=hunter2", "=hunter2",
        "BlobEndpoint=https://a.blob.core.windows.net/?sig=hunter2;AccountKey=Zm9v",
        "BlobEndpoint=https://u:hunter2@x;AccountKey=Zm9v", "AccountKey=Zm9v",
        "AccountName=myaccount;AccountKey=Zm9v;DefaultEndpointsProtocol=ftp"}) {
    const auto parsed = ParseConnectionString(text, "AZURE_STORAGE_CONNECTION_STRING");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    EXPECT_NE(parsed.error().message.find("AZURE_STORAGE_CONNECTION_STRING"), std::string::npos);
    EXPECT_EQ(parsed.error().message.find("hunter2"), std::string::npos) << parsed.error().message;
  }
}

TEST(AzureSasToken, WithAndWithoutTheMarkAndFromAUrl) {
  for (const char* const text : {"sv=1&sig=x", "?sv=1&sig=x", " ?sv=1&sig=x\n",
                                 "https://a.blob.core.windows.net/?sv=1&sig=x"}) {
    const auto token = ParseSasToken(text);
    ASSERT_TRUE(token) << text;
    EXPECT_EQ(token->Reveal(), "sv=1&sig=x");
  }
  for (const char* const text : {"", "?", "sv=1", "sv=1&sig=x y", "sv=1&sig=x#y", "xsig=1"}) {
    EXPECT_FALSE(ParseSasToken(text)) << text;
  }
}

}  // namespace
}  // namespace airfreight::azure
