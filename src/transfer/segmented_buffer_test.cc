#include "transfer/segmented_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight {
namespace {

std::string Text(const SegmentedBuffer& buffer) {
  std::string text;
  const Body body = buffer.body();
  for (ByteView segment : body.segments()) text += AsText(segment);
  return text;
}

TEST(SegmentedBufferTest, KeepsEveryByteInOrderAcrossSegments) {
  SegmentedBuffer buffer;
  std::string expected;
  // Odd lengths, so that appends straddle the ends of segments; some 20 MB in all.
  for (size_t i = 0; i < 300; ++i) {
    const std::string piece(i * 463 + 1, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(buffer.Append(AsBytes(piece)));
    expected += piece;
  }
  EXPECT_EQ(buffer.size(), expected.size());
  EXPECT_EQ(buffer.body().size(), expected.size());
  EXPECT_GT(buffer.body().segments().size(), 2U);
  EXPECT_TRUE(Text(buffer) == expected);
}

TEST(SegmentedBufferTest, EarlierBytesAreNotMovedByLaterOnes) {
  SegmentedBuffer buffer;
  ASSERT_TRUE(buffer.Append(AsBytes("first")));
  const Body first = buffer.body();
  const std::byte* before = first.segments().front().data();
  ASSERT_TRUE(buffer.Append(AsBytes(std::string(30'000'000, 'x'))));
  const Body second = buffer.body();
  EXPECT_EQ(second.segments().front().data(), before);
}

TEST(SegmentedBufferTest, EmptyBodyHasNoSegments) {
  SegmentedBuffer buffer;
  ASSERT_TRUE(buffer.Append({}));
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_TRUE(buffer.body().segments().empty());
}

}  // namespace
}  // namespace airfreight
