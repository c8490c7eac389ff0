// The golden files of formats/: what every release must go on to read and to compute.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/coordinate.h"
#include "airfreight/reference.h"
#include "base/digest.h"
#include "base/hex.h"
#include "seal/envelope.h"
#include "seal/frames.h"
#include "seal/sealing_keys.h"

namespace airfreight {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

fs::path Golden() { return fs::path(AIRFREIGHT_SOURCE_DIR) / "formats" / "golden"; }

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string TextOr(const Json& fields, const char* name) {
  return fields.contains(name) ? fields.at(name).get<std::string>() : std::string();
}

Coordinate CoordinateOf(const Json& fields) {
  Coordinate c;
  c.dag = TextOr(fields, "dag");
  c.run = TextOr(fields, "run");
  c.task = TextOr(fields, "task");
  if (fields.contains("map")) c.instance = Instance::Map(fields.at("map").get<int64_t>());
  if (fields.contains("ti")) c.instance = Instance::Ti(TextOr(fields, "ti"));
  if (fields.contains("writer")) c.instance = Instance::Write(TextOr(fields, "writer"));
  if (fields.contains("put")) {
    c.put_name = TextOr(fields, "put");
  } else {
    c.key = TextOr(fields, "key");
  }
  return c;
}

TEST(GoldenTest, KeysAndHashesOfVersionOneNeverChange) {
  const Json golden = Json::parse(ReadFile(Golden() / "key" / "v1.json"));
  EXPECT_GE(golden.at("keys").size(), 40U);
  for (const Json& item : golden.at("keys")) {
    const Coordinate coordinate = CoordinateOf(item.at("coordinate"));
    const std::string extension = TextOr(item, "extension");
    const std::string object_key = TextOr(item, "object_key");
    EXPECT_EQ(coordinate.ObjectKey(extension).value_or("none"), object_key);
    EXPECT_EQ(coordinate.Hash(), TextOr(item, "hash")) << object_key;
    std::string read_extension;
    Result<Coordinate> back = Coordinate::FromObjectKey(object_key, &read_extension);
    EXPECT_EQ(read_extension, extension);
    if (item.at("decodes").get<bool>()) {
      ASSERT_TRUE(back) << object_key;
      EXPECT_EQ(*back, coordinate) << object_key;
    } else {
      ASSERT_FALSE(back) << object_key;
      EXPECT_EQ(back.error().code, ErrorCode::kNotFound) << object_key;
    }
  }
  EXPECT_GE(golden.at("not_keys").size(), 20U);
  for (const Json& item : golden.at("not_keys")) {
    Result<Coordinate> back = Coordinate::FromObjectKey(item.get<std::string>());
    ASSERT_FALSE(back) << item;
    EXPECT_EQ(back.error().code, ErrorCode::kInvalid) << item;
  }
}

void ExpectFields(const Reference& r, const Json& fields) {
  EXPECT_EQ(r.backend, TextOr(fields, "_xcom_backend"));
  EXPECT_EQ(r.type, TextOr(fields, "_xcom_type"));
  EXPECT_EQ(r.store, TextOr(fields, "store"));
  EXPECT_EQ(r.uri, TextOr(fields, "uri"));
  EXPECT_EQ(r.coordinate, CoordinateOf(fields));
  EXPECT_EQ(r.attempt, fields.value("attempt", int64_t{0}));
  EXPECT_EQ(r.rows.has_value(), fields.contains("rows"));
  EXPECT_EQ(r.rows.value_or(0), fields.value("rows", int64_t{0}));
  EXPECT_EQ(r.size_bytes, fields.at("size_bytes").get<uint64_t>());
  EXPECT_EQ(r.digest, TextOr(fields, "digest"));
  ASSERT_EQ(r.tail.has_value(), fields.contains("tail"));
  if (r.tail) {
    EXPECT_EQ(Json::array({r.tail->offset, r.tail->digest}), fields.at("tail"));
  }
  EXPECT_EQ(r.etag, TextOr(fields, "etag"));
  EXPECT_EQ(r.summary, TextOr(fields, "summary"));
  EXPECT_EQ(Json(r.columns), fields.value("columns", Json::array()));
  EXPECT_EQ(Json(r.nulls), fields.value("nulls", Json::array()));
  EXPECT_EQ(r.columns_cut, fields.value("columns_cut", false));
  EXPECT_EQ(Json(r.preview), fields.value("preview", Json::array()));
  EXPECT_EQ(r.written, TextOr(fields, "written"));
  EXPECT_EQ(r.write, TextOr(fields, "write"));
  EXPECT_EQ(r.host, TextOr(fields, "host"));
  EXPECT_EQ(r.owner, TextOr(fields, "owner"));
  EXPECT_EQ(r.sealed, fields.value("sealed", int64_t{0}));
  EXPECT_EQ(r.signature, TextOr(fields, "sig"));
}

TEST(GoldenTest, RowsOfVersionOneAreReadForEver) {
  size_t count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(Golden() / "reference" / "v1")) {
    if (entry.path().extension() != ".json") continue;
    ++count;
    SCOPED_TRACE(entry.path().filename());
    std::string row = ReadFile(entry.path());
    ASSERT_TRUE(row.ends_with('\n'));
    row.pop_back();
    fs::path expected_path = entry.path();
    const Json expected = Json::parse(ReadFile(expected_path.replace_extension(".expected")));
    Result<Reference> r = Reference::Parse(row);
    if (expected.contains("error")) {
      ASSERT_FALSE(r);
      EXPECT_EQ(ErrorCodeName(r.error().code), TextOr(expected, "error"));
      continue;
    }
    ASSERT_TRUE(r) << r.error().ToString();
    ExpectFields(*r, expected);
    Result<std::string> written = r->ToJson();
    ASSERT_TRUE(written) << written.error().ToString();
    EXPECT_EQ(*written == row, expected.value("canonical", false));

    // A reference's URI ends with the key of its own coordinate.
    const std::string extension = r->uri.substr(r->uri.rfind('.') + 1);
    EXPECT_TRUE(r->uri.ends_with("/" + r->coordinate.ObjectKey(extension).value_or("none")));
  }
  EXPECT_GE(count, 15U);
}

TEST(GoldenTest, SealedObjectsOfVersionOneAreOpenedForEver) {
  size_t count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(Golden() / "sealed" / "v1")) {
    if (entry.path().extension() != ".json") continue;
    ++count;
    SCOPED_TRACE(entry.path().filename());
    const Json told = Json::parse(ReadFile(entry.path()));
    fs::path object_path = entry.path();
    const std::string object = ReadFile(object_path.replace_extension(".bin"));
    const auto size = told.at("bytes").get<uint64_t>();
    ASSERT_EQ(object.size(), SealedSize(size));
    const std::string_view all = object;
    const auto envelope = Envelope::Parse(AsBytes(all.substr(all.size() - kEnvelopeBytes)));
    ASSERT_TRUE(envelope);
    EXPECT_EQ(envelope->Encode(), all.substr(all.size() - kEnvelopeBytes));
    const SealingKeys keys = SealingKeys::Parse(TextOr(told, "keys")).value();
    DataKeys data_keys(keys);
    const auto key = data_keys.ForObject(*envelope);
    ASSERT_TRUE(key);
    FrameOpener opener(*key, {TextOr(told, "coordinate"), TextOr(told, "write")}, size);
    std::string plain;
    std::vector<std::byte> frame(kFrameBytes);
    for (uint64_t index = 0; index <= opener.last(); ++index) {
      ASSERT_TRUE(opener.Open(
          index, AsBytes(all.substr(index * kSealedFrameBytes, opener.SealedBytes(index))),
          frame.data()));
      plain += AsText(ByteView(frame).first(opener.PlainBytes(index)));
    }
    EXPECT_EQ(plain.size(), size);
    EXPECT_EQ(HexEncode(Sha256(AsBytes(plain))), TextOr(told, "sha256"));
  }
  EXPECT_GE(count, 4U);
}

}  // namespace
}  // namespace airfreight
