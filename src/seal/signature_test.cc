#include "seal/signature.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "seal/key_list.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// 32 and 40 bytes.
constexpr char kSecretA[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
constexpr char kSecretB[] = "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eDf3t3c29rZ2A==";

SigningKeys Keys(const std::string& text) {
  Result<SigningKeys> keys = SigningKeys::Parse(text);
  EXPECT_TRUE(keys) << keys.error().ToString();
  return keys.value_or(SigningKeys());
}

Reference Example() {
  Reference r;
  r.backend = "s3";
  r.type = "pandas.DataFrame";
  r.store = "default";
  r.uri = "s3://bucket/xcom/sales/run/extract/map_-1/return_value.parquet";
  r.coordinate = {"sales", "run", "extract", Instance::Map(-1), "return_value", std::nullopt};
  r.attempt = 1;
  r.rows = 10;
  r.size_bytes = 29213841;
  r.digest = "sha256:" + std::string(64, 'a');
  r.tail = Reference::Tail{1000, "crc32c:9f3a11c2"};
  r.etag = "\"0123456789abcdef0123456789abcdef\"";
  r.summary = "DataFrame 10 × 1: id int64";
  r.columns = {{"id", "int64"}};
  r.written = "2026-01-01T00:03:11Z";
  r.expires = "2026-01-08T00:03:11Z";
  r.write = "7f3c0123456789abcdef0123456789ab";
  r.owner = "prod-eu";
  return r;
}

Reference Signed(const SigningKeys& keys, Reference reference = Example()) {
  const Status signed_now = keys.Sign(&reference);
  EXPECT_TRUE(signed_now) << signed_now.error().ToString();
  return reference;
}

// The message of the refusal, or what it was instead.
std::string Refusal(const SigningKeys& keys, const Reference& reference) {
  const Status verified = keys.Verify(reference);
  if (verified) return "accepted";
  if (verified.error().code != ErrorCode::kForged) return verified.error().ToString();
  return verified.error().message;
}

TEST(SignatureTest, WhatIsSignedVerifiesAlsoAfterItWasInARow) {
  const SigningKeys keys = Keys(fmt::format("k1:{}", kSecretA));
  const Reference made = Signed(keys);
  EXPECT_EQ(made.signature.substr(0, 3), "k1:");
  EXPECT_EQ(made.signature.size(), 3 + 64U);
  EXPECT_TRUE(keys.Verify(made));

  const Result<std::string> row = made.ToJson();
  ASSERT_TRUE(row);
  const Result<Reference> read = Reference::Parse(*row);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_TRUE(keys.Verify(*read));
}

TEST(SignatureTest, EveryFieldByWhichAReaderActsIsCovered) {
  const SigningKeys keys = Keys(fmt::format("k1:{}", kSecretA));
  const Reference made = Signed(keys);
  const std::vector<std::pair<const char*, std::function<void(Reference*)>>> changes = {
      {"backend", [](Reference* r) { r->backend = "gs"; }},
      {"type", [](Reference* r) { r->type = "pickle"; }},
      {"store", [](Reference* r) { r->store = "other"; }},
      {"uri", [](Reference* r) { r->uri += 'x'; }},
      {"dag", [](Reference* r) { r->coordinate.dag = "sales2"; }},
      {"run", [](Reference* r) { r->coordinate.run = "run2"; }},
      {"task", [](Reference* r) { r->coordinate.task = "extract2"; }},
      {"map", [](Reference* r) { r->coordinate.instance = Instance::Map(0); }},
      {"ti", [](Reference* r) { r->coordinate.instance = Instance::Ti("-1"); }},
      {"writer", [](Reference* r) { r->coordinate.instance = Instance::Write("-1"); }},
      {"key", [](Reference* r) { r->coordinate.key = "return_valu"; }},
      {"put", [](Reference* r) { r->coordinate.put_name = "return_value"; }},
      {"attempt", [](Reference* r) { r->attempt = 2; }},
      {"no attempt", [](Reference* r) { r->attempt = 0; }},
      {"rows", [](Reference* r) { r->rows = 11; }},
      {"no rows", [](Reference* r) { r->rows.reset(); }},
      {"size", [](Reference* r) { ++r->size_bytes; }},
      {"digest", [](Reference* r) { r->digest.back() = 'b'; }},
      {"weaker digest", [](Reference* r) { r->digest = "crc32c:9f3a11c2"; }},
      {"tail's offset", [](Reference* r) { ++r->tail->offset; }},
      {"tail's digest", [](Reference* r) { r->tail->digest = "crc32c:9f3a11c3"; }},
      {"no tail", [](Reference* r) { r->tail.reset(); }},
      {"written", [](Reference* r) { r->written = "2026-01-01T00:03:12Z"; }},
      {"expires", [](Reference* r) { r->expires = "2027-01-01T00:00:00Z"; }},
      {"no expires", [](Reference* r) { r->expires.clear(); }},
      {"write", [](Reference* r) { r->write.back() = '0'; }},
      {"host", [](Reference* r) { r->host = "worker-1"; }},
      {"owner", [](Reference* r) { r->owner = "staging"; }},
      {"no owner", [](Reference* r) { r->owner.clear(); }},
      // The same bytes in a row, cut elsewhere.
      {"a boundary",
       [](Reference* r) {
         r->coordinate.run = "run\ntask 7:extract";
         r->coordinate.task.clear();
       }},
  };
  for (const auto& [name, change] : changes) {
    Reference changed = made;
    change(&changed);
    EXPECT_THAT(Refusal(keys, changed), HasSubstr("is not what was signed")) << name;
  }
  EXPECT_EQ(Refusal(keys, made), "accepted");
}

TEST(SignatureTest, WhatIsForPeopleAndTheHintAreNot) {
  const SigningKeys keys = Keys(fmt::format("k1:{}", kSecretA));
  Reference cut = Signed(keys);
  cut.summary = "";  // As ToJson cuts them to fit.
  cut.columns.clear();
  cut.nulls.clear();
  cut.columns_cut = true;
  cut.preview = {{"1"}};
  cut.etag = "another, of the place that it was copied to";
  EXPECT_EQ(Refusal(keys, cut), "accepted");
}

TEST(SignatureTest, TheFirstKeySignsAndAllVerify) {
  const SigningKeys before = Keys(fmt::format("k1:{}", kSecretA));
  const SigningKeys during = Keys(fmt::format(" k2:{} ,\n k1:{}\n", kSecretB, kSecretA));
  const SigningKeys after = Keys(fmt::format("k2:{}", kSecretB));
  EXPECT_THAT(during.Ids(), ElementsAre("k2", "k1"));

  const Reference old = Signed(before);
  const Reference young = Signed(during);
  EXPECT_EQ(young.signature.substr(0, 3), "k2:");
  EXPECT_EQ(Refusal(during, old), "accepted");
  EXPECT_EQ(Refusal(after, young), "accepted");
  EXPECT_THAT(Refusal(after, old), AllOf(HasSubstr("\"k1\""), HasSubstr("(k2)")));
  EXPECT_THAT(Refusal(before, young), HasSubstr("not among the keys here (k1)"));
}

TEST(SignatureTest, AnIdDoesNotMakeUpForTheSecret) {
  const SigningKeys keys = Keys(fmt::format("k1:{}", kSecretA));
  const SigningKeys others = Keys(fmt::format("k1:{}", kSecretB));
  EXPECT_THAT(Refusal(keys, Signed(others)), HasSubstr("two secrets go under that id"));

  Reference made = Signed(keys);
  for (const std::string& signature :
       {std::string(), std::string("k1:"), made.signature.substr(0, made.signature.size() - 2),
        made.signature + "00", ":" + made.signature.substr(3), std::string("k1")}) {
    Reference changed = made;
    changed.signature = signature;
    EXPECT_NE(Refusal(keys, changed), "accepted") << signature;
  }
  made.signature.clear();
  EXPECT_THAT(Refusal(keys, made), HasSubstr("airfreight sign"));
  EXPECT_THAT(Refusal(SigningKeys(), Signed(keys)), HasSubstr("(none)"));
}

TEST(SignatureTest, AProcessWithTheKeyOfOneDagServesOnlyThat) {
  const SigningKeys all = Keys(fmt::format("k2:{},k1:{}", kSecretB, kSecretA));
  const Result<Secret> of_sales = all.ForDag("sales");
  ASSERT_TRUE(of_sales);
  const std::string entry(of_sales->Reveal());
  EXPECT_EQ(entry.substr(0, 9), "k2@sales:");
  const SigningKeys pod = Keys(entry);

  EXPECT_EQ(Refusal(all, Signed(pod)), "accepted");
  EXPECT_EQ(Refusal(pod, Signed(all)), "accepted");

  Reference others = Example();
  others.coordinate.dag = "finance";
  EXPECT_FALSE(pod.CanSign("finance"));
  const Status status = pod.Sign(&others);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("finance"));
  EXPECT_THAT(Refusal(pod, Signed(all, others)), HasSubstr("for the DAG \"finance\""));
  // Nor by saying that its key is the secret, or another DAG's.
  const std::string key = entry.substr(entry.rfind(':') + 1);
  EXPECT_THAT(Refusal(all, Signed(Keys("k2:" + key), others)), HasSubstr("not what was signed"));
  EXPECT_THAT(Refusal(all, Signed(Keys("k2@finance:" + key), others)),
              HasSubstr("not what was signed"));

  ASSERT_FALSE(pod.ForDag("sales"));
  EXPECT_THAT(pod.ForDag("finance").error().message, HasSubstr("no secret"));
  EXPECT_FALSE(all.ForDag("a b"));
  EXPECT_FALSE(all.ForDag(""));
}

TEST(SignatureTest, OnlyASha256IsSigned) {
  const SigningKeys keys = Keys(fmt::format("k1:{}", kSecretA));
  Reference weak = Example();
  weak.digest = "crc32c:9f3a11c2";
  const Status status = keys.Sign(&weak);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  EXPECT_EQ(weak.signature, "");
}

TEST(SigningKeysTest, WrongOnesAreNamedByNumberAndNeverShown) {
  const std::string good = fmt::format("k1:{}", kSecretA);
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"s3cr3t-s3cr3t-s3cr3t-s3cr3t", "key 1 has no colon"},
      {good + ",s3cr3t", "key 2 has no colon"},
      {":" + std::string(kSecretA), "key 1 has an id that is not"},
      {std::string(65, 'k') + ":s3cr3t", "key 1 has an id that is not"},
      {"k\xc3\xa9:s3cr3t", "key 1 has an id that is not"},
      {"k@:s3cr3t", "key 1, \"k\", has no DAG"},
      {"k@a:b:s3cr3t", "key 1, \"k\", has no DAG"},
      {"k:s3cr3t!", "key 1, \"k\", is not base64"},
      {"k:s3cr3t", "key 1, \"k\", is not base64"},
      {"k:s3cr", "key 1, \"k\", has 3 bytes"},
      {"k:", "key 1, \"k\", has 0 bytes"},
      // Turned round.
      {"s3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3t:k1", "key 1 "},
      {good + "," + good, "key 2 has the id \"k1\" of another"},
  };
  for (const auto& [text, message] : wrong) {
    const Result<SigningKeys> keys = SigningKeys::Parse(text);
    ASSERT_FALSE(keys) << text;
    EXPECT_EQ(keys.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(keys.error().message, HasSubstr(message));
    EXPECT_THAT(keys.error().message, Not(HasSubstr("s3cr"))) << text;
    EXPECT_THAT(keys.error().message, Not(HasSubstr(kSecretA))) << text;
  }
  std::string many;
  for (size_t i = 0; i <= kMaxListedKeys; ++i) many += fmt::format("k{}:{} ", i, kSecretA);
  EXPECT_FALSE(SigningKeys::Parse(many));
}

TEST(SigningKeysTest, AllThatOrdinaryToolsPrintIsRead) {
  EXPECT_TRUE(Keys("").empty());
  EXPECT_TRUE(Keys(" \n,").empty());
  // The alphabet for URLs, with and without padding.
  const Reference made = Signed(Keys(fmt::format("k:{}", kSecretB)));
  EXPECT_EQ(Refusal(Keys("k:__79_Pv6-fj39vX08_Lx8O_u7ezr6uno5-bl5OPi4eDf3t3c29rZ2A"), made),
            "accepted");
  EXPECT_EQ(Refusal(Keys("k:__79_Pv6-fj39vX08_Lx8O_u7ezr6uno5-bl5OPi4eDf3t3c29rZ2A==\n"), made),
            "accepted");
  // A secret and the key of a DAG may share an id: the one is of the other.
  EXPECT_EQ(Keys(fmt::format("k:{},k@sales:{}", kSecretB, kSecretA)).Ids().size(), 1U);
}

// formats/golden/make.py is a second implementation.
TEST(SignatureTest, SignaturesOfVersionOneNeverChange) {
  std::ifstream in(std::filesystem::path(AIRFREIGHT_SOURCE_DIR) / "formats" / "golden" /
                   "signature" / "v1.json");
  ASSERT_TRUE(in);
  const nlohmann::json golden = nlohmann::json::parse(in);
  EXPECT_EQ(golden.size(), 8U);
  for (const nlohmann::json& item : golden) {
    const SigningKeys keys = Keys(item.at("keys").get<std::string>());
    Result<Reference> read = Reference::Parse(item.at("row").get<std::string>());
    ASSERT_TRUE(read) << read.error().ToString();
    EXPECT_EQ(CanonicalForm(*read), item.at("canonical").get<std::string>());
    EXPECT_EQ(Refusal(keys, *read), "accepted");
    const SigningKeys of_dag = Keys(item.at("key_of_dag").get<std::string>());
    EXPECT_EQ(Refusal(of_dag, *read), "accepted");
    EXPECT_EQ(Signed(of_dag, *read).signature, read->signature);
  }
}

}  // namespace
}  // namespace airfreight
