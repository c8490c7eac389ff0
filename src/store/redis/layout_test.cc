#include "store/redis/layout.h"

#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"

namespace airfreight::redis {
namespace {

ObjectHead Example() {
  ObjectHead head;
  head.generation = "0123456789abcdef0123456789abcdef";
  head.size = 9'000'000;
  head.modified_unix = 1'790'000'000;
  head.content_type = "application/vnd.apache.parquet";
  head.metadata = {{"af-write", "w"}, {"af-owner", "prod  eu"}};
  head.chunks = {{2, 4'194'240}, {1, 611'520}};
  return head;
}

TEST(RedisLayoutTest, HeadIsTheTextOfItsSpecification) {  // formats/redis.md
  const auto text = PrintHead(Example());
  ASSERT_TRUE(IsOk(text));
  EXPECT_EQ(*text,
            "airfreight 1 0123456789abcdef0123456789abcdef 0000182 9000000 1790000000\n"
            "content-type application/vnd.apache.parquet\n"
            "chunks 2x4194240,1x611520\n"
            "meta af-owner prod  eu\n"
            "meta af-write w\n");
}

TEST(RedisLayoutTest, WhatIsPrintedIsParsed) {
  for (const bool chunked : {true, false}) {
    ObjectHead head = Example();
    if (!chunked) head.chunks.clear();
    const std::string text = PrintHead(head).value();
    const auto parsed = ParseHead(text + "bytes that follow");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->head_bytes, text.size());
    EXPECT_EQ(parsed->generation, head.generation);
    EXPECT_EQ(parsed->size, head.size);
    EXPECT_EQ(parsed->modified_unix, head.modified_unix);
    EXPECT_EQ(parsed->content_type, head.content_type);
    EXPECT_EQ(parsed->metadata, head.metadata);
    EXPECT_EQ(parsed->chunks, head.chunks);
    EXPECT_EQ(ParseHeadLine(text.substr(0, kHeadLineProbe))->size, head.size);
  }
}

TEST(RedisLayoutTest, HeadThatIsCutOrContradictsItselfIsNone) {
  const std::string text = PrintHead(Example()).value();
  for (size_t end = 0; end < text.size(); ++end) EXPECT_FALSE(ParseHead(text.substr(0, end)));
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    return other.replace(other.find(from), from.size(), to);
  };
  EXPECT_FALSE(ParseHead(changed("2x4194240", "3x4194240")));
  EXPECT_FALSE(ParseHead(changed("9000000", "9000001")));
  EXPECT_FALSE(ParseHead(changed("chunks", "chunkz")));
  EXPECT_FALSE(ParseHead(changed("0123456789abcdef0", "0123456789ABCDEF0")));
  EXPECT_FALSE(ParseHead(changed("meta af-owner", "meta af-write")));
  EXPECT_FALSE(ParseHead(changed("airfreight 1", "airfreight 2")));
}

TEST(RedisLayoutTest, ChunksOfAValueAreFewAndFitTheirAllocation) {
  EXPECT_EQ(ChunkBytesFor(kInlineBytes + 1), kChunkBytes);
  EXPECT_EQ(ChunkBytesFor(uint64_t{1} << 30), kChunkBytes);
  for (const uint64_t size : {uint64_t{1} << 30, uint64_t{1} << 36, kMaxChunkBytes * 9'000}) {
    const uint64_t bytes = ChunkBytesFor(size);
    EXPECT_LE((size + bytes - 1) / bytes, static_cast<uint64_t>(kMaxChunks)) << size;
    EXPECT_LE(bytes, kMaxChunkBytes) << size;
  }
}

TEST(RedisLayoutTest, RunsGrowWhileSizesAreEqual) {
  std::vector<ChunkRun> runs;
  for (const uint64_t size : {8u, 8u, 8u, 5u, 8u}) AppendChunk(runs, size);
  EXPECT_EQ(runs, (std::vector<ChunkRun>{{3, 8}, {1, 5}, {1, 8}}));
}

TEST(RedisLayoutTest, NoObjectsKeyIsAChunks) {
  EXPECT_EQ(ChunkKey("p/d/r/t/k", "aa", 3), "p/d/r/t/k//aa/3");
  EXPECT_TRUE(IsChunkKey("p/d/r/t/k//aa/3"));
  EXPECT_FALSE(IsChunkKey("p/d/r/t/k"));
}

TEST(RedisLayoutTest, PatternMatchesItsTextAlone) {
  EXPECT_EQ(EscapeGlob(R"(a*b?[c-d]^\e)"), R"(a\*b\?\[c\-d\]\^\\e)");
}

TEST(RedisLayoutTest, AChunksKeyTellsWhoseItIs) {
  const std::string generation(32, '7');
  const auto owner = ParseChunkKey(ChunkKey("xcom/d/k", generation, 12));
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->full_key, "xcom/d/k");
  EXPECT_EQ(owner->generation, generation);
  for (const std::string& other :
       {std::string("xcom/d/k"), "xcom/d/k//" + generation, "xcom/d/k//" + generation + "/",
        "xcom/d/k//" + generation + "/012", "xcom/d/k//" + generation + "/x",
        "//" + generation + "/1", std::string("xcom/d/k//777/1"),
        "xcom/d/k//" + generation + "/1/2"}) {
    EXPECT_FALSE(ParseChunkKey(other)) << other;
  }
}

}  // namespace
}  // namespace airfreight::redis
