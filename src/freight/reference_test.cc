#include "airfreight/reference.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace airfreight {
namespace {

using testing::HasSubstr;
using testing::Not;

Reference Example() {
  Reference r;
  r.backend = "s3";
  r.type = "pandas.DataFrame";
  r.store = "default";
  r.uri =
      "s3://bucket/xcom/sales/manual__2026-01-01T00%3A00%3A00%2B00%3A00/extract/map_-1/"
      "return_value.parquet";
  r.coordinate = {"sales",        "manual__2026-01-01T00:00:00+00:00",
                  "extract",      Instance::Map(-1),
                  "return_value", std::nullopt};
  r.attempt = 1;
  r.rows = 1000000;
  r.size_bytes = 29213841;
  r.digest = "crc32c:9f3a11c2";
  r.etag = "\"0123456789abcdef0123456789abcdef\"";
  r.summary = "DataFrame 1,000,000 × 2: id int64, price float64 · 29.2 MB parquet";
  r.columns = {{"id", "int64"}, {"price", "float64"}};
  r.written = "2026-01-01T00:03:11Z";
  r.write = "7f3c0123456789abcdef0123456789ab";
  r.owner = "prod-eu";
  r.signature = "k1:00ff";
  return r;
}

std::string Json(const Reference& r) {
  Result<std::string> json = r.ToJson();
  EXPECT_TRUE(json) << json.error().ToString();
  return json.value_or("");
}

Reference Parsed(const std::string& json) {
  Result<Reference> r = Reference::Parse(json);
  EXPECT_TRUE(r) << r.error().ToString() << "\n" << json;
  return r.value_or(Reference{});
}

// The example with one field's JSON text replaced, added, or (where `value` is empty) taken out.
std::string With(const std::string& field, const std::string& value) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(Json(Example()));
  std::string out;
  json.erase(field);
  for (const auto& [name, member] : json.items()) {
    out += fmt::format("{}\"{}\":{}", out.empty() ? "" : ",", name, member.dump());
  }
  if (!value.empty()) out += fmt::format(",\"{}\":{}", field, value);
  return "{" + out + "}";
}

Error ParseError(const std::string& json) {
  Result<Reference> r = Reference::Parse(json);
  EXPECT_FALSE(r) << json;
  return r ? Error{} : r.error();
}

TEST(ReferenceTest, IsWrittenInTheOrderOfTheSpecification) {
  EXPECT_EQ(
      Json(Example()),
      R"({"_xcom_backend":"s3","_xcom_type":"pandas.DataFrame","_airfreight":1,"store":"default",)"
      R"("uri":"s3://bucket/xcom/sales/manual__2026-01-01T00%3A00%3A00%2B00%3A00/extract/map_-1/)"
      R"(return_value.parquet","dag":"sales","run":"manual__2026-01-01T00:00:00+00:00",)"
      R"("task":"extract","map":-1,"key":"return_value","attempt":1,"rows":1000000,)"
      R"("size_bytes":29213841,"digest":"crc32c:9f3a11c2",)"
      R"("etag":"\"0123456789abcdef0123456789abcdef\"",)"
      R"("summary":"DataFrame 1,000,000 \u00d7 2: id int64, price float64 \u00b7 29.2 MB parquet",)"
      R"("columns":[["id","int64"],["price","float64"]],"written":"2026-01-01T00:03:11Z",)"
      R"("write":"7f3c0123456789abcdef0123456789ab","owner":"prod-eu","sig":"k1:00ff"})");
}

void ExpectSame(const Reference& a, const Reference& b) {
  EXPECT_EQ(a.backend, b.backend);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.store, b.store);
  EXPECT_EQ(a.uri, b.uri);
  EXPECT_EQ(a.coordinate, b.coordinate);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.size_bytes, b.size_bytes);
  EXPECT_EQ(a.digest, b.digest);
  ASSERT_EQ(a.tail.has_value(), b.tail.has_value());
  if (a.tail) {
    EXPECT_EQ(a.tail->offset, b.tail->offset);
    EXPECT_EQ(a.tail->digest, b.tail->digest);
  }
  EXPECT_EQ(a.etag, b.etag);
  EXPECT_EQ(a.summary, b.summary);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.nulls, b.nulls);
  EXPECT_EQ(a.columns_cut, b.columns_cut);
  EXPECT_EQ(a.preview, b.preview);
  EXPECT_EQ(a.written, b.written);
  EXPECT_EQ(a.expires, b.expires);
  EXPECT_EQ(a.write, b.write);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.signature, b.signature);
}

TEST(ReferenceTest, EveryFieldComesBack) { ExpectSame(Parsed(Json(Example())), Example()); }

TEST(ReferenceTest, AbsentFieldsAreLeftOutAndComeBackAbsent) {
  Reference r = Example();
  r.attempt = 0;
  r.rows.reset();
  r.etag = r.summary = r.owner = r.signature = "";
  r.columns.clear();
  const std::string json = Json(r);
  for (const char* field : {"attempt", "rows", "etag", "summary", "columns", "nulls", "columns_cut",
                            "preview", "owner", "sig"}) {
    EXPECT_THAT(json, Not(HasSubstr(fmt::format("\"{}\"", field))));
  }
  ExpectSame(Parsed(json), r);
}

TEST(ReferenceTest, TailIsAnOffsetAndItsChecksumBehindTheDigest) {
  Reference r = Example();
  for (const uint64_t offset : {uint64_t{0}, uint64_t{29213000}, r.size_bytes}) {
    r.tail = {offset, "crc32c:00c0ffee"};
    EXPECT_THAT(Json(r), HasSubstr(fmt::format(
                             R"("digest":"crc32c:9f3a11c2","tail":[{},"crc32c:00c0ffee"],"etag":)",
                             offset)));
    ExpectSame(Parsed(Json(r)), r);
  }
  ExpectSame(Parsed(With("tail", R"([ 2.9213E+7 , "crc32c:00c0ffee" ])")), [] {
    Reference expected = Example();
    expected.tail = {29213000, "crc32c:00c0ffee"};
    return expected;
  }());
}

TEST(ReferenceTest, TailOfAnyOtherFormIsRefused) {
  for (const char* wrong :
       {"null", "1", R"("crc32c:00c0ffee")", "[]", "[1]", R"(["crc32c:00c0ffee",1])",
        R"([1,"crc32c:00c0ffee",2])", R"([1,"crc32c:00c0ffee","x"])", R"([1,["crc32c:00c0ffee"]])",
        R"([[1,"crc32c:00c0ffee"]])", R"([-1,"crc32c:00c0ffee"])", R"([1.5,"crc32c:00c0ffee"])",
        R"([1,"crc32c:00C0FFEE"])", R"([29213842,"crc32c:00c0ffee"])", R"([1,2])",
        R"([1,"sha256:0000000000000000000000000000000000000000000000000000000000000000"])",
        R"([18446744073709551615,"crc32c:00c0ffee"])", R"({"1":"crc32c:00c0ffee"})"}) {
    const Error error = ParseError(With("tail", wrong));
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << wrong;
    EXPECT_THAT(error.message, HasSubstr("\"tail\"")) << wrong;
  }
  Reference r = Example();
  r.tail = {r.size_bytes + 1, "crc32c:00c0ffee"};
  EXPECT_FALSE(r.ToJson());
}

TEST(ReferenceTest, ZeroRowsAreNotAbsentRows) {
  Reference r = Example();
  r.rows = 0;
  EXPECT_EQ(Parsed(Json(r)).rows, 0);
}

TEST(ReferenceTest, EveryKindOfInstanceAndByHandNameComesBack) {
  Reference r = Example();
  for (const Instance& instance :
       {Instance::Map(12), Instance::Ti("01994a3e-7d0f-7c3e-a5f1-6b1d2c3e4f50"), Instance::Ti(""),
        Instance::Write("w")}) {
    r.coordinate.instance = instance;
    EXPECT_EQ(Parsed(Json(r)).coordinate, r.coordinate);
  }
  r.coordinate.key.clear();
  r.coordinate.put_name = "";
  EXPECT_EQ(Parsed(Json(r)).coordinate, r.coordinate);
  EXPECT_THAT(Json(r), Not(HasSubstr("\"key\"")));
}

TEST(ReferenceTest, HostileNamesComeBack) {
  Reference r = Example();
  r.coordinate = {"..",
                  std::string(2000, 'r'),
                  "\"\\\b\f\n\r\t\x01\x7F/",
                  Instance::Map(-1),
                  "é漢🚢\xEF\xBF\xBD",
                  std::nullopt};
  EXPECT_EQ(Parsed(Json(r)).coordinate, r.coordinate);
}

TEST(ReferenceTest, IsAsciiOnly) {
  Reference r = Example();
  r.coordinate.dag = "é漢🚢";
  r.columns = {{"größe", "int64"}};
  const std::string json = Json(r);
  EXPECT_TRUE(std::all_of(json.begin(), json.end(), [](char c) { return c >= 0x20 && c < 0x7F; }));
  EXPECT_THAT(json, HasSubstr(R"("dag":"\u00e9\u6f22\ud83d\udea2")"));
}

// PostgreSQL refuses \u0000 in JSONB, and so does every reader after it.
TEST(ReferenceTest, LabelsThatNoDatabaseKeepsAreShownEscaped) {
  Reference r = Example();
  r.columns = {{std::string("a\0b", 3), "object"}, {"c\xFF", "line\nbreak"}};
  r.summary = std::string("s\0\xED\xA0\x80", 5);
  const std::string json = Json(r);
  EXPECT_THAT(json, Not(HasSubstr("\\u0000")));
  EXPECT_THAT(json, HasSubstr(R"(["a\\x00b","object"],["c\\xff","line\\x0abreak"])"));
  EXPECT_THAT(json, HasSubstr(R"("summary":"s\\x00\\xed\\xa0\\x80")"));
  EXPECT_EQ(Json(Parsed(json)), json);
}

TEST(ReferenceTest, NamesThatNoDatabaseKeepsAreRefused) {
  for (std::string Reference::* field : {&Reference::type, &Reference::store, &Reference::uri,
                                         &Reference::etag, &Reference::owner}) {
    for (const std::string& text : {std::string("a\0b", 3), std::string("\xFF")}) {
      Reference r = Example();
      r.*field = text;
      Result<std::string> json = r.ToJson();
      ASSERT_FALSE(json);
      EXPECT_EQ(json.error().code, ErrorCode::kInvalid);
    }
  }
  Reference r = Example();
  r.coordinate.run = "\xFF";
  Result<std::string> json = r.ToJson();
  ASSERT_FALSE(json);
  EXPECT_THAT(json.error().message, HasSubstr("the run id"));
}

TEST(ReferenceTest, ColumnsAreCutBeforeTheSummary) {
  Reference r = Example();
  for (int i = 0; i < 2000; ++i) r.columns.emplace_back(fmt::format("column_{}", i), "float64");
  const std::string json = Json(r);
  EXPECT_LE(json.size(), kMaxReferenceBytes);
  // No room is wasted: one more pair would not have fitted.
  EXPECT_GT(json.size() + std::string_view(R"(["column_100","float64"],)").size(),
            kMaxReferenceBytes);
  const Reference back = Parsed(json);
  EXPECT_TRUE(back.columns_cut);
  EXPECT_EQ(back.summary, r.summary);
  ASSERT_GT(back.columns.size(), 2U);
  EXPECT_TRUE(std::equal(back.columns.begin(), back.columns.end(), r.columns.begin()));
  EXPECT_EQ(Json(back), json);
}

TEST(ReferenceTest, NullsAndPreviewStandBehindTheColumns) {
  Reference r = Example();
  r.nulls = {0, -1};
  r.columns_cut = true;
  r.preview = {{"1", "19.90"}, {"2", "***"}, {}};
  EXPECT_THAT(Json(r), HasSubstr(R"("columns":[["id","int64"],["price","float64"]],)"
                                 R"("nulls":[0,-1],"columns_cut":true,)"
                                 R"("preview":[["1","19.90"],["2","***"],[]],"written":)"));
  ExpectSame(Parsed(Json(r)), r);
  Reference expected = Example();
  expected.nulls = {100, 0};
  ExpectSame(Parsed(With("nulls", "[ 1E+2 , 0.0 ]")), expected);
}

TEST(ReferenceTest, NullsOfAnotherFormAreRefused) {
  for (const char* wrong : {"[0]", "[0,0,0]", "[0,-2]", "[0,\"0\"]", "[0,1.5]", "[0,null]",
                            "[[0],0]", "[{},0]", "0", "{\"0\":0}"}) {
    const Error error = ParseError(With("nulls", wrong));
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << wrong;
    EXPECT_THAT(error.message, HasSubstr("\"nulls\"")) << wrong;
  }
  Reference r = Example();
  r.nulls = {1};
  EXPECT_FALSE(r.ToJson());
}

TEST(ReferenceTest, PreviewOfAnotherFormIsRefused) {
  for (const char* wrong : {"\"x\"", "[\"x\"]", "[[1]]", "[[\"x\",null]]", "[[\"x\",[\"y\"]]]",
                            "[[\"x\",{\"y\":\"z\"}]]", "[{\"x\":\"y\"}]", "{\"x\":[\"y\"]}"}) {
    const Error error = ParseError(With("preview", wrong));
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << wrong;
    EXPECT_THAT(error.message, HasSubstr("\"preview\"")) << wrong;
  }
}

TEST(ReferenceTest, PreviewThatNoDatabaseKeepsIsShownEscaped) {
  Reference r = Example();
  r.preview = {{std::string("a\0b", 3), "\xED\xA0\x80"}};
  const std::string json = Json(r);
  EXPECT_THAT(json, HasSubstr(R"("preview":[["a\\x00b","\\xed\\xa0\\x80"]])"));
  EXPECT_EQ(Json(Parsed(json)), json);
}

TEST(ReferenceTest, RowsOfThePreviewAreCutBeforeColumns) {
  Reference r = Example();
  for (int i = 0; i < 400; ++i) r.preview.push_back({fmt::format("{}", i), "0123456789"});
  const std::string json = Json(r);
  EXPECT_LE(json.size(), kMaxReferenceBytes);
  EXPECT_GT(json.size() + std::string_view(R"(,["100","0123456789"])").size(), kMaxReferenceBytes);
  const Reference back = Parsed(json);
  EXPECT_EQ(back.columns, r.columns);
  EXPECT_FALSE(back.columns_cut);
  EXPECT_EQ(back.summary, r.summary);
  ASSERT_GT(back.preview.size(), 50U);
  EXPECT_TRUE(std::equal(back.preview.begin(), back.preview.end(), r.preview.begin()));

  r.preview = {{std::string(5000, 'x')}};
  EXPECT_TRUE(Parsed(Json(r)).preview.empty());
  EXPECT_EQ(Parsed(Json(r)).columns, r.columns);
}

TEST(ReferenceTest, NullsAreCutWithTheirColumns) {
  Reference r = Example();
  for (int i = 0; i < 2000; ++i) r.columns.emplace_back(fmt::format("column_{}", i), "float64");
  for (size_t i = 0; i < r.columns.size(); ++i) r.nulls.push_back(static_cast<int64_t>(i));
  r.preview = {{"1"}};
  const std::string json = Json(r);
  EXPECT_LE(json.size(), kMaxReferenceBytes);
  EXPECT_GT(json.size() + std::string_view(R"(,["column_100","float64"],100)").size(),
            kMaxReferenceBytes);
  const Reference back = Parsed(json);
  EXPECT_TRUE(back.columns_cut);
  EXPECT_TRUE(back.preview.empty());
  ASSERT_GT(back.columns.size(), 50U);
  ASSERT_EQ(back.nulls.size(), back.columns.size());
  EXPECT_EQ(back.nulls.back(), static_cast<int64_t>(back.nulls.size()) - 1);
  EXPECT_EQ(Json(back), json);

  // So long that not one column is left.
  r.columns = {{std::string(5000, 'x'), "int64"}};
  r.nulls = {7};
  EXPECT_THAT(Json(r), Not(HasSubstr("\"nulls\"")));
  EXPECT_TRUE(Parsed(Json(r)).columns_cut);
}

TEST(ReferenceTest, SummaryIsCutAtACharacterAndSaysSo) {
  Reference r = Example();
  r.summary.clear();
  for (int i = 0; i < 3000; ++i) r.summary += i % 2 == 0 ? "é" : "x";
  const std::string json = Json(r);
  EXPECT_LE(json.size(), kMaxReferenceBytes);
  EXPECT_GT(json.size() + 12, kMaxReferenceBytes);
  const Reference back = Parsed(json);
  EXPECT_TRUE(back.columns_cut);
  EXPECT_TRUE(back.columns.empty());
  EXPECT_TRUE(back.summary.ends_with("…"));
  EXPECT_TRUE(r.summary.starts_with(back.summary.substr(0, back.summary.size() - 3)));
  EXPECT_EQ(Json(back), json);
}

TEST(ReferenceTest, WhatFitsExactlyIsNotCut) {
  Reference r = Example();
  const size_t padding = kMaxReferenceBytes - Json(r).size();
  r.summary += std::string(padding, 'x');
  EXPECT_EQ(Json(r).size(), kMaxReferenceBytes);
  EXPECT_FALSE(Parsed(Json(r)).columns_cut);
  EXPECT_EQ(Parsed(Json(r)).columns.size(), 2U);
  r.summary += "x";
  EXPECT_TRUE(Parsed(Json(r)).columns_cut);
  EXPECT_EQ(Parsed(Json(r)).summary, r.summary);
}

TEST(ReferenceTest, NamesAreNeverCut) {
  Reference r = Example();
  r.coordinate.run = std::string(5000, 'r');
  const Reference back = Parsed(Json(r));
  EXPECT_EQ(back.coordinate, r.coordinate);
  EXPECT_EQ(back.summary, "");
  EXPECT_TRUE(back.columns.empty());
}

TEST(ReferenceTest, NamesTooLongToBeReadAgainAreNotWritten) {
  Reference r = Example();
  for (int i = 0; i < 6000; ++i) r.coordinate.run += "🚢";  // Twelve bytes each, escaped.
  Result<std::string> json = r.ToJson();
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, ErrorCode::kTooLarge);
}

TEST(ReferenceTest, LargestSizesAreExact) {
  Reference r = Example();
  r.size_bytes = INT64_MAX;
  r.rows = INT64_MAX;
  r.attempt = INT64_MAX;
  r.coordinate.instance = Instance::Map(INT64_MAX);
  const Reference back = Parsed(Json(r));
  EXPECT_EQ(back.size_bytes, static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(back.rows, INT64_MAX);
  EXPECT_EQ(back.attempt, INT64_MAX);
  EXPECT_EQ(back.coordinate, r.coordinate);
  r.size_bytes = static_cast<uint64_t>(INT64_MAX) + 1;
  EXPECT_FALSE(r.ToJson());
}

TEST(ReferenceTest, NumbersInADatabasesFormAreTheSameNumbers) {
  EXPECT_EQ(Parsed(With("rows", "1E+2")).rows, 100);
  EXPECT_EQ(Parsed(With("rows", "100.0")).rows, 100);
  EXPECT_EQ(Parsed(With("rows", "12.50e1")).rows, 125);
  EXPECT_EQ(Parsed(With("rows", "9223372036854775807.000")).rows, INT64_MAX);
  EXPECT_EQ(Parsed(With("_airfreight", "1.0")).size_bytes, 29213841U);
  EXPECT_EQ(Parsed(With("map", "-1.0")).coordinate.instance, Instance::Map(-1));
}

TEST(ReferenceTest, NumbersThatAreNoIntegersAreRefused) {
  for (const char* wrong : {"1.5", "1e-1", "9223372036854775808", "9223372036854775808.0", "1e300",
                            "-1", "\"1\"", "true", "null", "[1]", "{}"}) {
    const Error error = ParseError(With("size_bytes", wrong));
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << wrong;
    EXPECT_THAT(error.message, HasSubstr("\"size_bytes\"")) << wrong;
  }
}

TEST(ReferenceTest, SpacingAndOrderDoNotMatter) {
  nlohmann::json sorted = nlohmann::json::parse(Json(Example()));
  ExpectSame(Parsed(sorted.dump(4)), Example());
}

TEST(ReferenceTest, UnknownFieldsArePassedOver) {
  for (const char* value : {"1", "null", "\"x\"", R"({"a":{"a":[1,{"a":2}]},"uri":"s3://other"})",
                            R"([["a","b"],[1,[2,[3]]],{}])"}) {
    ExpectSame(Parsed(With("a_later_field", value)), Example());
  }
}

TEST(ReferenceTest, FieldThatOccursTwiceIsRefused) {
  std::string json = Json(Example());
  json.insert(1, R"("uri":"s3://elsewhere/x",)");
  EXPECT_THAT(ParseError(json).message, HasSubstr("occurs twice"));
  // Also when the second one is spelled with an escape.
  json = Json(Example());
  json.insert(1, R"("\u0075ri":"s3://elsewhere/x",)");
  EXPECT_THAT(ParseError(json).message, HasSubstr("occurs twice"));
}

TEST(ReferenceTest, EndOfItsTimeIsWrittenBehindItsBeginningWhereThereIsOne) {
  Reference r = Example();
  EXPECT_THAT(Json(r), Not(HasSubstr("expires")));
  r.expires = "2026-01-08T00:03:11Z";
  EXPECT_THAT(Json(r), HasSubstr(R"("written":"2026-01-01T00:03:11Z",)"
                                 R"("expires":"2026-01-08T00:03:11Z","write":)"));
  ExpectSame(Parsed(Json(r)), r);
  r.expires = "in a week";
  EXPECT_THAT(r.ToJson().error().message, HasSubstr("\"expires\""));
}

TEST(ReferenceTest, MissingFieldIsNamed) {
  for (const char* field : {"_xcom_type", "store", "uri", "dag", "run", "task", "map", "key",
                            "size_bytes", "digest", "written", "write"}) {
    const Error error = ParseError(With(field, ""));
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << field;
    EXPECT_THAT(error.message, HasSubstr(fmt::format("\"{}\"", field)));
  }
}

TEST(ReferenceTest, FieldOfTheWrongTypeIsNamed) {
  for (const char* field : {"_xcom_backend", "_xcom_type", "_airfreight", "store",   "uri",
                            "dag",           "run",        "task",        "map",     "key",
                            "attempt",       "rows",       "size_bytes",  "digest",  "etag",
                            "summary",       "columns",    "columns_cut", "written", "write",
                            "owner",         "sig",        "tail",        "nulls",   "expires"}) {
    for (const char* wrong : {"null", R"({"a":1})", R"([["a"]])", R"([["a","b"],"c"])",
                              R"([["a",["b"]]])", R"([["a","b",1]])"}) {
      const Error error = ParseError(With(field, wrong));
      EXPECT_EQ(error.code, ErrorCode::kInvalid) << field;
      EXPECT_THAT(error.message, HasSubstr(fmt::format("\"{}\"", field))) << wrong;
    }
  }
}

TEST(ReferenceTest, MalformedTextIsRefusedAndNamed) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"_xcom_backend", R"("")"},
      {"_xcom_backend", R"("S3")"},
      {"_xcom_backend", R"("s3://")"},
      {"_xcom_type", R"("")"},
      {"store", R"("")"},
      {"uri", R"("")"},
      {"uri", R"("s3://b/\u0000")"},
      {"digest", R"("")"},
      {"digest", R"("9f3a11c2")"},
      {"digest", R"("crc32c:9F3A11C2")"},
      {"digest", R"("crc32c:9f3a11c")"},
      {"digest", R"("crc32c:9f3a11c20")"},
      {"digest", R"("md5:9f3a11c2")"},
      {"digest", R"("sha256:9f3a11c2")"},
      {"written", R"("2026-02-30T00:00:00Z")"},
      {"written", R"("yesterday")"},
      {"expires", R"("")"},
      {"expires", R"("7d")"},
      {"expires", R"("2026-02-30T00:00:00Z")"},
      {"write", R"("7f3c")"},
      {"write", R"("7F3C0123456789ABCDEF0123456789AB")"},
      {"sig", R"("k1")"},
      {"sig", R"(":00")"},
      {"sig", R"("k1:")"},
      {"sig", R"("k1:xyz")"},
      {"_airfreight", "0"},
      {"_airfreight", "-1"},
  };
  for (const auto& [field, text] : cases) {
    const Error error = ParseError(With(field, text));
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_THAT(error.message, HasSubstr(fmt::format("\"{}\"", field))) << text;
  }
}

TEST(ReferenceTest, CoordinateThatContradictsItselfIsRefused) {
  EXPECT_EQ(ParseError(With("ti", R"("x")")).code, ErrorCode::kInvalid);
  EXPECT_EQ(ParseError(With("writer", R"("x")")).code, ErrorCode::kInvalid);
  EXPECT_EQ(ParseError(With("put", R"("x")")).code, ErrorCode::kInvalid);
  EXPECT_EQ(ParseError(With("map", "-2")).code, ErrorCode::kInvalid);
  EXPECT_THAT(ParseError(With("run", R"("a\u0000b")")).message, HasSubstr("the run id"));
}

TEST(ReferenceTest, NewerFormatIsSaidWithBothVersions) {
  // Whatever else is in it.
  for (const char* json : {R"({"_xcom_backend":"s3","_airfreight":3})",
                           R"({"_xcom_backend":{"scheme":"s3"},"_airfreight":3,"uri":7})"}) {
    const Error error = ParseError(json);
    EXPECT_EQ(error.code, ErrorCode::kNewerFormat);
    EXPECT_THAT(error.message, HasSubstr("format 3"));
    EXPECT_THAT(error.message, HasSubstr("format 2"));
  }
}

TEST(ReferenceTest, WhatIsNoReferenceIsSaidToBeNone) {
  for (const std::string& json : std::vector<std::string>{
           "", " ", "{", "{}", "[]", "1", "null", "\"s3://bucket/key\"", "[{}]",
           R"({"_xcom_backend":"s3"})", R"({"_airfreight":1})", R"({"_xcom_backend":"s3"}x)",
           "{\"_xcom_backend\":\"\xFF\",\"_airfreight\":1}",
           R"({"_xcom_backend":"\ud800","_airfreight":1})", Json(Example()) + "{}",
           std::string(60000, '['), R"({"a":)" + std::string(60000, '[')}) {
    const Error error = ParseError(json);
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << json.substr(0, 80);
    EXPECT_THAT(error.message, HasSubstr("not a reference")) << json.substr(0, 80);
  }
}

TEST(ReferenceTest, TextAboveTheLimitIsNotParsed) {
  std::string json = Json(Example());
  json += std::string((size_t{64} << 10) - json.size(), ' ');
  EXPECT_TRUE(Reference::Parse(json));
  EXPECT_THAT(ParseError(json + " ").message, HasSubstr("65537 bytes"));
}

TEST(ReferenceTest, NoValueGetsIntoAMessage) {
  for (const char* field : {"_xcom_backend", "digest", "written", "write", "sig"}) {
    EXPECT_THAT(ParseError(With(field, R"("hunter2\n")")).message, Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace airfreight
