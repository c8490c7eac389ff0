#include "values/parquet_footer.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

// The compact protocol, written a second time: small numbers and short texts only.
std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text += static_cast<char>(value);
}
std::string Number(int64_t value) { return Varint(static_cast<uint64_t>(value) * 2); }
std::string Text(std::string_view text) { return Varint(text.size()) + std::string(text); }
std::string Head(int delta, int type) { return {static_cast<char>(delta << 4 | type)}; }
std::string Stop() { return {'\0'}; }
std::string Structs(std::initializer_list<std::string> structs) {
  std::string text = {static_cast<char>(structs.size() << 4 | 12)};
  for (const std::string& one : structs) text += one;
  return text;
}

constexpr int kI16 = 4;
constexpr int kI32 = 5;
constexpr int kI64 = 6;
constexpr int kBinary = 8;
constexpr int kList = 9;
constexpr int kStruct = 12;

// A chunk of a column with a dictionary, all of its offsets, and a member of the future.
std::string Chunk(int64_t dictionary, int64_t data) {
  std::string meta = Head(1, kI32) + Number(6);        // type
  meta += Head(6, kI64) + Number(1'000'000);           // total_compressed_size
  meta += Head(2, kI64) + Number(data);                // data_page_offset
  meta += Head(1, kI64) + Number(data + 1);            // index_page_offset
  meta += Head(1, kI64) + Number(dictionary);          // dictionary_page_offset
  meta += Head(3, kI64) + Number(data + 2);            // bloom_filter_offset
  meta += Head(0, kBinary) + Number(99) + Text("?!");  // Not known yet.
  meta += Stop();
  std::string chunk = Head(2, kI64) + Number(0);  // file_offset: none
  chunk += Head(1, kStruct) + meta;
  chunk += Head(1, kI64) + Number(data + 3);  // offset_index_offset
  chunk += Head(1, kI32) + Number(5);         // offset_index_length
  chunk += Head(1, kI64) + Number(data + 4);  // column_index_offset
  chunk += Stop();
  return chunk;
}

std::string Group(int64_t rows, int64_t dictionary, int64_t data, int16_t ordinal) {
  std::string group = Head(1, kList) + Structs({Chunk(dictionary, data)});
  group += Head(2, kI64) + Number(rows);
  group += Head(2, kI64) + Number(dictionary);  // file_offset
  group += Head(2, kI16) + Number(ordinal);
  group += Stop();
  return group;
}

std::string Entry(std::string_view key, std::string_view value) {
  return Head(1, kBinary) + Text(key) + Head(1, kBinary) + Text(value) + Stop();
}

std::string Footer(int64_t rows, const std::string& groups, const std::string& entries,
                   std::string_view schema = "root") {
  std::string footer = Head(1, kI32) + Number(2);  // version
  footer += Head(1, kList) + Structs({Head(4, kBinary) + Text(schema) + Stop()});
  footer += Head(1, kI64) + Number(rows);
  footer += Head(1, kList) + groups;
  if (!entries.empty()) footer += Head(1, kList) + entries;
  footer += Head(entries.empty() ? 2 : 1, kBinary) + Text("writer");  // created_by
  footer += Stop();
  return footer;
}

std::string Finished(std::string footer) {
  const size_t length = footer.size();
  for (int shift = 0; shift < 32; shift += 8) footer += static_cast<char>(length >> shift & 0xff);
  return footer + "PAR1";
}

const std::string kOne = Footer(100, Structs({Group(100, 4, 50, 0)}), "");
const std::string kOther = Footer(7, Structs({Group(4, 4, 60, 0), Group(3, 200, 260, 1)}), "");

TEST(ParquetFooterTest, RowGroupsOfAllPartsAreShiftedAndNumbered) {
  const std::vector<ParquetPart> parts = {{AsBytes(kOne), 0}, {AsBytes(kOther), 1000}};
  const auto merged = MergeParquetFooters(parts, {});
  ASSERT_TRUE(IsOk(merged));
  EXPECT_EQ(
      *merged,
      Finished(Footer(
          107, Structs({Group(100, 4, 50, 0), Group(4, 1004, 1060, 1), Group(3, 1200, 1260, 2)}),
          "")));
}

TEST(ParquetFooterTest, AColumnWithoutADictionaryStaysWithoutOne) {
  const std::string footer = Footer(1, Structs({Group(1, 0, 4, 0)}), "");
  const std::vector<ParquetPart> parts = {{AsBytes(footer), 5}};
  const auto merged = MergeParquetFooters(parts, {});
  ASSERT_TRUE(IsOk(merged));
  EXPECT_EQ(*merged, Finished(Footer(1, Structs({Group(1, 0, 9, 0)}), "")));
}

TEST(ParquetFooterTest, EntriesComeBeforeThoseOfTheFirstPart) {
  const std::string groups = Structs({Group(1, 4, 50, 0)});
  const std::vector<ParquetEntry> entries = {{"a", "1"}, {"b", ""}};

  const std::string none = Footer(1, groups, "");
  std::vector<ParquetPart> parts = {{AsBytes(none), 0}};
  EXPECT_EQ(MergeParquetFooters(parts, entries).value(),
            Finished(Footer(1, groups, Structs({Entry("a", "1"), Entry("b", "")}))));

  const std::string some = Footer(1, groups, Structs({Entry("x", "y")}));
  parts = {{AsBytes(some), 0}};
  EXPECT_EQ(
      MergeParquetFooters(parts, entries).value(),
      Finished(Footer(1, groups, Structs({Entry("a", "1"), Entry("b", ""), Entry("x", "y")}))));
}

TEST(ParquetFooterTest, EntriesCanBeTheLastMember) {
  const std::string head = Head(1, kI32) + Number(2) + Head(1, kList) + Structs({Stop()}) +
                           Head(1, kI64) + Number(0) + Head(1, kList) + Structs({});
  const std::string footer = head + Stop();
  const std::vector<ParquetPart> parts = {{AsBytes(footer), 0}};
  const std::vector<ParquetEntry> entries = {{"a", "1"}};
  EXPECT_EQ(MergeParquetFooters(parts, entries).value(),
            Finished(head + Head(1, kList) + Structs({Entry("a", "1")}) + Stop()));
}

TEST(ParquetFooterTest, MoreThanFourteenRowGroupsAreCountedApart) {
  const std::vector<ParquetPart> parts(300, {AsBytes(kOne), 0});
  const auto merged = MergeParquetFooters(parts, {});
  ASSERT_TRUE(IsOk(merged));
  const std::string head = Head(1, kList) + "\xFC" + Varint(300);
  EXPECT_NE(merged->find(head), std::string::npos);
  // And what was written can be read.
  const std::string footer = merged->substr(0, merged->size() - 8);
  const std::vector<ParquetPart> again = {{AsBytes(footer), 0}};
  EXPECT_EQ(MergeParquetFooters(again, {}).value(), *merged);
}

TEST(ParquetFooterTest, RowGroupsBeyondWhatTheirNumberHoldsAreTooMany) {
  const std::string empty = Footer(0, Structs({Stop(), Stop(), Stop(), Stop()}), "");
  const std::vector<ParquetPart> parts(8192, {AsBytes(empty), 0});
  EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kTooLarge));
}

TEST(ParquetFooterTest, PartsOfDifferentSchemasAreRefused) {
  const std::string other = Footer(1, Structs({Group(1, 4, 50, 0)}), "", "tree");
  const std::vector<ParquetPart> parts = {{AsBytes(kOne), 0}, {AsBytes(other), 0}};
  EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(MergeParquetFooters({}, {}), ErrorCode::kInvalid));
}

TEST(ParquetFooterTest, EncryptedOnesAreRefused) {
  const std::string file = kOne.substr(0, kOne.size() - 1) + Head(2, kStruct) + Stop() + Stop();
  std::vector<ParquetPart> parts = {{AsBytes(file), 0}};
  EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kUnsupported));

  const std::string chunk = Head(8, kStruct) + Stop() + Stop();
  const std::string column = Footer(1, Structs({Head(1, kList) + Structs({chunk}) + Stop()}), "");
  parts = {{AsBytes(column), 0}};
  EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kUnsupported));
}

TEST(ParquetFooterTest, WhatIsCutShortIsBroken) {
  for (size_t length = 0; length < kOther.size(); ++length) {
    const std::vector<ParquetPart> parts = {{AsBytes(kOther).first(length), 0}};
    EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kInvalid)) << length;
  }
  const std::string longer = kOther + "x";
  const std::vector<ParquetPart> parts = {{AsBytes(longer), 0}};
  EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kInvalid));
}

TEST(ParquetFooterTest, WhatIsNestedForEverIsBroken) {
  const std::string footer = Head(1, kStruct) + std::string(100'000, Head(1, kStruct)[0]);
  const std::vector<ParquetPart> parts = {{AsBytes(footer), 0}};
  EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kInvalid));
}

TEST(ParquetFooterTest, AnOffsetThatLeavesItsTypeIsBroken) {
  const std::vector<ParquetPart> parts = {{AsBytes(kOne), INT64_MAX}};
  EXPECT_TRUE(IsError(MergeParquetFooters(parts, {}), ErrorCode::kInvalid));
}

}  // namespace
}  // namespace airfreight
