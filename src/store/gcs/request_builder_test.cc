#include "store/gcs/request_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/crc32c.h"
#include "http/transport.h"

namespace airfreight::gcs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kKey[] = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";
constexpr char kFields[] = "fields=name%2Csize%2Cgeneration%2Ccrc32c%2Cmetadata%2Cupdated";

std::string Field(const Headers& headers, std::string_view name) {
  return std::string(headers.Find(name).value_or("-"));
}

std::string BodyOf(const GcsRequest& request) {
  std::string text = request.head;
  for (const ByteView segment : request.bytes.segments()) text += AsText(segment);
  return text + request.tail;
}

// Known answers (www.rfc-editor.org/rfc/rfc3720#appendix-B.4), the empty one among them: a client
// once sent that with every upload (googleapis/python-storage#1541).
TEST(Crc32cTextTest, IsBase64OfTheHighestByteFirst) {
  EXPECT_EQ(Crc32cText(Crc32c(ByteView())), "AAAAAA==");
  EXPECT_EQ(Crc32cText(Crc32c(AsBytes(std::string(32, '\0')))), "ipE2qg==");
  EXPECT_EQ(Crc32cText(Crc32c(AsBytes(std::string(32, '\xff')))), "YqirQw==");
}

TEST(BuildPutTest, OneBodyHasDescriptionAndBytes) {
  PutOptions put;
  put.content_type = "text/x";
  put.metadata = {{"af-write", "7f"}, {"note", "a \"b\" \\"}};
  put.condition = Condition::Absent();
  const GcsRequest request = BuildPut("b", "x/k%3A", Body("body"), put, 0x01020304, "BOUND", {});
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/upload/storage/v1/b/b/o");
  EXPECT_EQ(request.query, std::string("uploadType=multipart&name=x%2Fk%253A&") + kFields +
                               "&ifGenerationMatch=0");
  EXPECT_TRUE(request.conditional);
  EXPECT_EQ(Field(request.headers, "Content-Type"), "multipart/related; boundary=BOUND");
  EXPECT_EQ(BodyOf(request),
            "--BOUND\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
            "{\"contentType\":\"text/x\",\"crc32c\":\"AQIDBA==\",\"metadata\":{\"af-write\":\"7f\","
            "\"note\":\"a \\\"b\\\" \\\\\"}}\r\n"
            "--BOUND\r\nContent-Type: text/x\r\n\r\nbody\r\n--BOUND--\r\n");
}

TEST(BuildPutTest, TheEndOfItsTimeIsTheObjectsCustomTimeAndNoParts) {
  PutOptions put;
  put.expires_unix = 1767225600;
  const std::string custom = R"("customTime":"2026-01-01T00:00:00Z")";
  EXPECT_THAT(BodyOf(BuildPut("b", "k", Body("body"), put, 0, "B", {})), HasSubstr(custom));
  EXPECT_THAT(BodyOf(BuildCompose("b", "k", {{"p", "1", 1, 0}}, put, Condition::None(), {})),
              HasSubstr(custom));
  EXPECT_THAT(BodyOf(BuildPutPart("b", "p", Body("body"), 0, "B", put, {})),
              Not(HasSubstr("customTime")));
}

TEST(BuildPutTest, AGenerationIsAConditionAndNoneIsNone) {
  PutOptions put;
  put.condition = Condition::Version("1777369647609324");
  EXPECT_THAT(BuildPut("b", "k", Body(), put, 0, "B", {}).query,
              HasSubstr("&ifGenerationMatch=1777369647609324"));
  const GcsRequest free = BuildPut("b", "k", Body(), {}, 0, "B", {});
  EXPECT_THAT(free.query, Not(HasSubstr("ifGeneration")));
  EXPECT_FALSE(free.conditional);
}

TEST(BuildPutTest, AnObjectsOwnKeyGoesBeforeThatOfTheSettings) {
  GcsOptions options;
  options.kms_key_name = kKey;
  options.user_project = "p 1";
  PutOptions put;
  const std::string settings = "&kmsKeyName=projects%2Fp%2Flocations%2Feu%2FkeyRings%2Fr%2F";
  EXPECT_THAT(BuildPut("b", "k", Body(), put, 0, "B", options).query,
              HasSubstr(settings + "cryptoKeys%2Fk"));
  put.encryption_key = "projects/q/locations/l/keyRings/r/cryptoKeys/own";
  for (const std::string& query :
       {BuildPut("b", "k", Body(), put, 0, "B", options).query,
        BuildPutPart("b", "k", Body(), 0, "B", put, options).query,
        BuildCompose("b", "k", {{"p", "1", 1, 0}}, put, {}, options).query}) {
    EXPECT_THAT(query, HasSubstr("kmsKeyName=projects%2Fq%2Flocations%2Fl%2FkeyRings%2Fr%2F"));
    EXPECT_THAT(query, Not(HasSubstr(settings)));
    EXPECT_THAT(query, HasSubstr("userProject=p%201"));
  }
}

TEST(BuildPutPartTest, APartSaysWhoseItIsAndHasNoCondition) {
  PutOptions put;
  put.metadata = PartMetadata("d/a b");
  put.condition = Condition::Absent();
  const GcsRequest request = BuildPutPart("b", "x/~parts/1", Body("p"), 1, "B", put, {});
  EXPECT_THAT(BodyOf(request), HasSubstr(R"("metadata":{"airfreight-key":"d/a%20b"})"));
  EXPECT_THAT(BodyOf(request), HasSubstr("\"crc32c\":\"AAAAAQ==\""));
  EXPECT_FALSE(request.conditional);
}

// By the XML API, which alone sends metadata with the bytes: name in the path, all else in headers.
TEST(BuildGetTest, RangeConditionAndProjectAreHeaders) {
  GcsOptions options;
  options.user_project = "p-1";
  GetOptions get;
  get.if_version = "17";
  get.offset = 5;
  get.length = 10;
  const GcsRequest request = BuildGet("my.bucket", "x/a b/k%3A+", get, options);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/my.bucket/x/a%20b/k%253A%2B");
  EXPECT_EQ(request.query, "");
  EXPECT_EQ(Field(request.headers, "Range"), "bytes=5-14");
  EXPECT_EQ(Field(request.headers, "x-goog-if-generation-match"), "17");
  EXPECT_EQ(Field(request.headers, "x-goog-user-project"), "p-1");
  EXPECT_TRUE(request.conditional);

  const GcsRequest plain = BuildGet("b", "k", {}, {});
  EXPECT_EQ(Field(plain.headers, "Range"), "-");
  EXPECT_EQ(Field(plain.headers, "x-goog-if-generation-match"), "-");
  EXPECT_EQ(Field(plain.headers, "x-goog-user-project"), "-");
}

TEST(BuildGetTest, RangesAtTheirEdges) {
  GetOptions get;
  get.offset = 7;
  EXPECT_EQ(Field(BuildGet("b", "k", get, {}).headers, "Range"), "bytes=7-");
  get.length = 0;  // Cannot be asked for: its one byte is dropped.
  EXPECT_EQ(Field(BuildGet("b", "k", get, {}).headers, "Range"), "bytes=7-7");
  get.length = UINT64_MAX;
  EXPECT_EQ(Field(BuildGet("b", "k", get, {}).headers, "Range"), "bytes=7-18446744073709551615");
}

TEST(BuildRemoveTest, ConditionIsAGeneration) {
  EXPECT_EQ(BuildRemove("b", "a/k", {}, {}).query, "");
  const GcsRequest request = BuildRemove("b", "a/k", Condition::Version("7"), {});
  EXPECT_EQ(request.method, "DELETE");
  EXPECT_EQ(request.path, "/storage/v1/b/b/o/a%2Fk");
  EXPECT_EQ(request.query, "ifGenerationMatch=7");
}

TEST(BuildListTest, AsksForWhatAListSaysAndNoMore) {
  EXPECT_EQ(BuildList("b", "x/", "t=1", 10, {}).query,
            "maxResults=10&fields=nextPageToken%2Citems%28name%2Csize%2Cgeneration%2Cupdated%29&"
            "prefix=x%2F&pageToken=t%3D1");
}

TEST(BuildComposeTest, NamesGenerationsAndTakesTheSourcesAway) {
  PutOptions put;
  put.metadata = {{"af-write", "7f"}};
  const GcsRequest request = BuildCompose("b", "a/k", {{"p/1", "11", 5, 0}, {"p/2", "12", 5, 0}},
                                          put, Condition::Absent(), {});
  EXPECT_EQ(request.path, "/storage/v1/b/b/o/a%2Fk/compose");
  EXPECT_EQ(request.query, std::string(kFields) + "&ifGenerationMatch=0");
  EXPECT_EQ(BodyOf(request),
            "{\"sourceObjects\":[{\"name\":\"p/1\",\"generation\":\"11\"},"
            "{\"name\":\"p/2\",\"generation\":\"12\"}],"
            "\"destination\":{\"contentType\":\"application/octet-stream\","
            "\"metadata\":{\"af-write\":\"7f\"}},\"deleteSourceObjects\":true}");
}

TEST(AddressTest, TheTokenIsAHeaderAndNoneIsNone) {
  const GcsRequest request = BuildHead("b", "k", {});
  HttpRequest http = Address(request, {true, "storage.googleapis.com", ""}, "ya29");
  EXPECT_EQ(http.url, std::string("https://storage.googleapis.com/storage/v1/b/b/o/k?") + kFields);
  EXPECT_EQ(Field(http.headers, "Authorization"), "Bearer ya29");
  http = Address(request, {false, "127.0.0.1:1", "/under"}, "");
  EXPECT_THAT(http.url, HasSubstr("http://127.0.0.1:1/under/storage/v1"));
  EXPECT_EQ(Field(http.headers, "Authorization"), "-");
}

}  // namespace
}  // namespace airfreight::gcs
