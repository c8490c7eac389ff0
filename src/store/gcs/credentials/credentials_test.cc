#include "store/gcs/credentials/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "conformance/matchers.h"
#include "http/curl_transport.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/cloud/transport_settings.h"

namespace airfreight::gcs {
namespace {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z
constexpr char kTokenPath[] = "/computeMetadata/v1/instance/service-accounts/default/token";

/// A machine of literals, on which no metadata server is but that which a test names.
struct World {
  Result<Secret> Get(const StoreSettings& settings = {}, bool emulator = false) {
    return Source(settings, emulator)->Get({});
  }
  std::unique_ptr<TokenSource> Source(const StoreSettings& settings = {}, bool emulator = false) {
    fake.variables.emplace("NO_GCE_CHECK", "true");
    return std::make_unique<TokenSource>(
        ParseGcsOptions(settings).value(), emulator,
        CredentialsTools{&network, MakeLocalTransport(FakeEnvironment{}.Get()), fake.Get(),
                         [this] { return now.load(); }});
  }

  FakeEnvironment fake;
  std::atomic<int64_t> now{kNow};
  CurlTransport network{CurlTransportOptions{}, FakeEnvironment{}.Get()};
};

std::string Text(const Result<Secret>& token) {
  return token ? std::string(token->Reveal()) : token.error().ToString();
}

/// An RSA key of this run.
class Key {
 public:
  Key() : key_(EVP_RSA_gen(2048), &EVP_PKEY_free) {}

  std::string Pem() const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    const char* data = nullptr;
    const auto size = static_cast<size_t>(BIO_get_mem_data(bio.get(), &data));
    return {data, size};
  }
  bool Verifies(std::string_view text, std::string_view signature) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    const auto bytes = [](std::string_view view) {
      return reinterpret_cast<const unsigned char*>(view.data());
    };
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                            text.size()) == 1;
  }
  /// As the console gives it.
  std::string Document() const {
    return json{{"type", "service_account"},
                {"project_id", "p"},
                {"private_key_id", "kid-1"},
                {"private_key", Pem()},
                {"client_email", "airflow@p.iam.gserviceaccount.com"},
                {"token_uri", "https://oauth2.googleapis.com/token"}}
        .dump();
  }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

// Making one takes longer than all else here.
const Key& TheKey() {
  static const Key key;
  return key;
}

std::string FromUrl(std::string text) {
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  text.append((4 - text.size() % 4) % 4, '=');
  return Base64Decode(text).value_or("no base64");
}

struct Jwt {
  json head;
  json claims;
  std::string text;
  std::string signature;
};

Jwt Parse(const std::string& token) {
  const size_t first = token.find('.');
  const size_t second = token.find('.', first + 1);
  return {json::parse(FromUrl(token.substr(0, first)), nullptr, false),
          json::parse(FromUrl(token.substr(first + 1, second - first - 1)), nullptr, false),
          token.substr(0, second), FromUrl(token.substr(second + 1))};
}

ScriptedReply Token(const std::string& token, int seconds = 3599) {
  return ScriptedReply::Http(200, {{"Metadata-Flavor", "Google"}},
                             R"({"access_token":")" + token + R"(","expires_in":)" +
                                 std::to_string(seconds) + R"(,"token_type":"Bearer"})");
}

TEST(GcsTokenTest, AServiceAccountSignsItsOwn) {
  World world;
  world.fake.variables["GOOGLE_APPLICATION_CREDENTIALS"] = "/key.json";
  world.fake.files["/key.json"] = TheKey().Document();
  const auto token = world.Get();
  ASSERT_TRUE(IsOk(token));
  const Jwt jwt = Parse(Text(token));
  EXPECT_EQ(jwt.head, (json{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "kid-1"}}));
  EXPECT_EQ(jwt.claims, (json{{"iss", "airflow@p.iam.gserviceaccount.com"},
                              {"sub", "airflow@p.iam.gserviceaccount.com"},
                              {"scope", "https://www.googleapis.com/auth/devstorage.read_write"},
                              {"iat", kNow},
                              {"exp", kNow + 3600}}));
  EXPECT_TRUE(TheKey().Verifies(jwt.text, jwt.signature));
}

TEST(GcsTokenTest, AnotherIsSignedBeforeOneEnds) {
  World world;
  const auto source = world.Source({{"key_json", TheKey().Document()}});
  const std::string first = Text(source->Get({}));
  world.now = kNow + 2000;
  EXPECT_EQ(Text(source->Get({})), first);
  world.now = kNow + 3400;
  const std::string second = Text(source->Get({}));
  EXPECT_EQ(Parse(second).claims.at("exp"), kNow + 3400 + 3600);
}

// What a form or a variable has made of the key's line ends.
TEST(GcsTokenTest, AKeyWhoseLinesEndInTwoLettersIsOne) {
  json document = json::parse(TheKey().Document());
  std::string pem = document.at("private_key");
  for (size_t at = 0; (at = pem.find('\n', at)) != std::string::npos; at += 2) {
    pem.replace(at, 1, "\\n");
  }
  document["private_key"] = pem;
  World world;
  EXPECT_TRUE(IsOk(world.Get({{"key_json", document.dump()}})));
}

TEST(GcsTokenTest, AUsersLogInIsChangedForAToken) {
  TestServer server([](const SeenRequest& seen) {
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.body,
              "grant_type=refresh_token&client_id=c%40x&client_secret=s%2B&refresh_token=1%2F%2Fr");
    return Token("ya29");
  });
  World world;
  // Where `gcloud auth application-default login` leaves it.
  world.fake.variables["HOME"] = "/home/u";
  world.fake.files["/home/u/.config/gcloud/application_default_credentials.json"] = json{
      {"type", "authorized_user"},
      {"client_id", "c@x"},
      {"client_secret", "s+"},
      {"refresh_token", "1//r"},
      {"token_uri", server.url()}}.dump();
  const auto source = world.Source();
  EXPECT_EQ(Text(source->Get({})), "ya29");
  EXPECT_EQ(Text(source->Get({})), "ya29");
  EXPECT_EQ(server.requests().size(), 1U);
  // CLOUDSDK_CONFIG is another place for it.
  world.fake.files["/cfg/application_default_credentials.json"] =
      world.fake.files["/home/u/.config/gcloud/application_default_credentials.json"];
  world.fake.variables = {{"CLOUDSDK_CONFIG", "/cfg"}};
  EXPECT_EQ(Text(world.Get()), "ya29");
}

TEST(GcsTokenTest, ALogInThatHasEndedIsDeniedInItsOwnWords) {
  TestServer server([](const SeenRequest&) {
    return ScriptedReply::Http(
        400, {}, R"({"error":"invalid_grant","error_description":"hunter2 expired"})");
  });
  World world;
  const auto token = world.Get({{"key_json", json{{"type", "authorized_user"},
                                                  {"client_id", "c"},
                                                  {"client_secret", "hunter2"},
                                                  {"refresh_token", "hunter2"},
                                                  {"token_uri", server.url()}}
                                                 .dump()}});
  ASSERT_TRUE(IsError(token, ErrorCode::kDenied));
  EXPECT_THAT(token.error().message, AllOf(HasSubstr("invalid_grant"), HasSubstr("gcloud auth"),
                                           Not(HasSubstr("hunter2"))));
}

TEST(GcsTokenTest, TheMetadataServerIsAskedWithItsHeaderAndAgainBeforeTheEnd) {
  std::atomic<int> asked = 0;
  TestServer server([&](const SeenRequest& seen) {
    EXPECT_EQ(seen.target.substr(0, seen.target.find('?')), kTokenPath);
    EXPECT_THAT(seen.target, HasSubstr("scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2F"));
    EXPECT_EQ(seen.headers.Get("Metadata-Flavor"), "Google");
    return Token("ya29-" + std::to_string(++asked));
  });
  World world;
  world.fake.variables = {{"NO_GCE_CHECK", "false"}, {"GCE_METADATA_HOST", server.url().substr(7)}};
  const auto source = world.Source();
  EXPECT_EQ(Text(source->Get({})), "ya29-1");
  EXPECT_EQ(Text(source->Get({})), "ya29-1");
  world.now = kNow + 3590;
  EXPECT_EQ(Text(source->Get({})), "ya29-2");
  // After the store has refused it.
  EXPECT_EQ(Text(source->Refresh(Secret("ya29-2"), {})), "ya29-3");
}

TEST(GcsTokenTest, WhoeverElseAnswersIsNotTheMetadataServer) {
  for (const ScriptedReply& reply :
       {ScriptedReply::Http(200, {}, R"({"access_token":"evil","expires_in":1})"),
        ScriptedReply::Http(404, {{"Metadata-Flavor", "Google"}}, "")}) {
    TestServer server([&](const SeenRequest&) { return reply; });
    World world;
    world.fake.variables = {{"NO_GCE_CHECK", "false"},
                            {"GCE_METADATA_HOST", server.url().substr(7)}};
    const auto token = world.Get();
    ASSERT_TRUE(IsError(token, ErrorCode::kDenied));
    EXPECT_THAT(token.error().message, HasSubstr("no Google credentials were found"));
  }
}

TEST(GcsTokenTest, AFailingMetadataServerIsNoReasonForAnotherIdentity) {
  std::string text;
  int status = 503;
  TestServer server([&](const SeenRequest&) {
    return ScriptedReply::Http(status, {{"Metadata-Flavor", "Google"}}, text);
  });
  World world;
  world.fake.variables = {{"NO_GCE_CHECK", "false"}, {"GCE_METADATA_HOST", server.url().substr(7)}};
  auto token = world.Get();
  ASSERT_TRUE(IsError(token, ErrorCode::kUnavailable));
  EXPECT_TRUE(token.error().retryable);
  status = 403;
  text = "Unable to generate access token; IAM returned 403 Forbidden";
  token = world.Get();
  ASSERT_TRUE(IsError(token, ErrorCode::kDenied));
  EXPECT_THAT(token.error().message, HasSubstr("(HTTP 403): Unable to generate access token"));
  status = 200;
  for (const char* none : {"", "<html>", "{}", R"({"access_token":"a b"})"}) {
    text = none;
    token = world.Get();
    ASSERT_TRUE(IsError(token, ErrorCode::kUnavailable)) << none;
    EXPECT_TRUE(token.error().retryable);
  }
}

/// A network on which nobody answers.
class NobodyThere final : public HttpTransport {
 public:
  Result<HttpResponse> Perform(const HttpRequest& /*request*/, const Context& /*context*/,
                               ResponseSink* /*sink*/) override {
    return Fail(ErrorCode::kUnavailable, "connection refused");
  }
};

TEST(GcsTokenTest, OnAMachineOfGooglesTheMetadataServerIsOnlyLate) {
  FakeEnvironment fake;
  const auto get = [&fake] {
    CurlTransport network(CurlTransportOptions{}, fake.Get());
    TokenSource source(ParseGcsOptions({}).value(), false,
                       CredentialsTools{&network, std::make_unique<NobodyThere>(), fake.Get(),
                                        [] { return kNow; }});
    return source.Get({});
  };
  EXPECT_TRUE(IsError(get(), ErrorCode::kDenied));
  fake.files["/sys/class/dmi/id/product_name"] = "Google Compute Engine\n";
  const auto token = get();
  ASSERT_TRUE(IsError(token, ErrorCode::kUnavailable));
  EXPECT_TRUE(token.error().retryable);
  EXPECT_THAT(token.error().message,
              AllOf(HasSubstr("connection refused"), HasSubstr("NO_GCE_CHECK=true")));
  fake.variables["NO_GCE_CHECK"] = "true";
  EXPECT_TRUE(IsError(get(), ErrorCode::kDenied));
}

TEST(GcsTokenTest, WithoutAnyItIsSaidWhereWasLooked) {
  World world;
  const auto token = world.Get();
  ASSERT_TRUE(IsError(token, ErrorCode::kDenied));
  EXPECT_THAT(token.error().message,
              AllOf(HasSubstr("GOOGLE_APPLICATION_CREDENTIALS"), HasSubstr("gs://conn_id@bucket"),
                    HasSubstr("gs_anonymous")));
}

TEST(GcsTokenTest, TheSettingsGoBeforeTheEnvironment) {
  World world;
  world.fake.variables["GOOGLE_APPLICATION_CREDENTIALS"] = "/not/there";
  EXPECT_EQ(Text(world.Get({{"access_token", "ya29"}})), "ya29");
  EXPECT_EQ(Text(world.Get({{"anonymous", "true"}})), "");
  world.fake.files["/key.json"] = TheKey().Document();
  EXPECT_TRUE(IsOk(world.Get({{"key_path", "/key.json"}})));
}

TEST(GcsTokenTest, AnEmulatorGetsNoneButOneThatIsNamedOnPurpose) {
  World world;
  world.fake.variables["GOOGLE_APPLICATION_CREDENTIALS"] = "/key.json";
  world.fake.files["/key.json"] = TheKey().Document();
  EXPECT_EQ(Text(world.Get({}, true)), "");
  EXPECT_EQ(Text(world.Get({{"access_token", "ya29"}}, true)), "ya29");
}

TEST(GcsTokenTest, AFileThatIsWrongIsAnErrorAndNotPassedOver) {
  World world;
  world.fake.variables["GOOGLE_APPLICATION_CREDENTIALS"] = "/key.json";
  auto token = world.Get();
  ASSERT_TRUE(IsError(token, ErrorCode::kInvalid));
  EXPECT_THAT(token.error().message, AllOf(HasSubstr("GOOGLE_APPLICATION_CREDENTIALS"),
                                           HasSubstr("'/key.json', which is not there")));
  json no_key = json::parse(TheKey().Document());
  no_key["private_key"] = "hunter2";
  json no_email = json::parse(TheKey().Document());
  no_email.erase("client_email");
  const std::pair<std::string, std::string> cases[] = {
      {"hunter2", "is no JSON object"},
      {R"({"key":"hunter2"})", "does not say its type"},
      {no_key.dump(), "no RSA key in PEM form"},
      {no_email.dump(), "has no client_email"},
      {R"({"type":"service_account","client_email":"a@b"})", "has no private_key"},
      {R"({"type":"authorized_user","client_id":"c"})", "has no refresh_token"},
      {R"({"type":"authorized_user","refresh_token":"hunter2"})", "has no client_id"},
      {R"({"type":"authorized_user","client_id":"c","refresh_token":"hunter2",
           "token_uri":"http://tokens.example.com"})",
       "plain http"},
  };
  for (const auto& [document, problem] : cases) {
    world.fake.files["/key.json"] = document;
    token = world.Get();
    ASSERT_TRUE(IsError(token, ErrorCode::kInvalid)) << problem;
    EXPECT_THAT(token.error().message,
                AllOf(HasSubstr("the file of GOOGLE_APPLICATION_CREDENTIALS"), HasSubstr(problem),
                      Not(HasSubstr("hunter2"))));
  }
}

// Federation and impersonation are google-auth's: the binding's caller asks it when it sees this.
TEST(GcsTokenTest, KindsOfGooglesOwnLibraryAreToldApart) {
  World world;
  world.fake.variables["GOOGLE_APPLICATION_CREDENTIALS"] = "/key.json";
  for (const char* kind : {"external_account", "external_account_authorized_user",
                           "impersonated_service_account", "gdch_service_account"}) {
    world.fake.files["/key.json"] = json{{"type", kind}, {"audience", "hunter2"}}.dump();
    const auto token = world.Get();
    ASSERT_TRUE(IsError(token, ErrorCode::kUnsupported));
    EXPECT_EQ(token.error().service_code, kForeignCredentials);
    EXPECT_THAT(token.error().message,
                AllOf(HasSubstr(kind), HasSubstr("google-auth"), Not(HasSubstr("hunter2"))));
  }
}

TEST(ParseTokenAnswerTest, AnEndIsOfThisWorld) {
  const auto end = [](const std::string& seconds) {
    return ParseTokenAnswer(R"({"access_token":"t","expires_in":)" + seconds + "}", kNow, "x")
        ->expires_unix;
  };
  EXPECT_EQ(end("3599"), kNow + 3599);
  EXPECT_EQ(end("-5"), kNow);
  EXPECT_EQ(end("9223372036854775807"), kNow + int64_t{366} * 24 * 3600);
  EXPECT_FALSE(end("\"3599\""));
  EXPECT_FALSE(ParseTokenAnswer(R"({"access_token":"t"})", kNow, "x")->expires_unix);
}

}  // namespace
}  // namespace airfreight::gcs
