#include "airfreight/bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace airfreight {
namespace {

TEST(BufferTest, LargeMemoryStartsOnAHugePage) {
  auto buffer = Buffer::Allocate(size_t{10} << 20);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % (size_t{2} << 20), 0U);
  EXPECT_EQ(buffer->size(), 0U);
  EXPECT_EQ(buffer->capacity(), size_t{10} << 20);
}

TEST(BufferTest, AppendRefusesWhatDoesNotFitAndChangesNothing) {
  auto buffer = Buffer::Allocate(4);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(buffer->Append(AsBytes("abc")));
  EXPECT_FALSE(buffer->Append(AsBytes("de")));
  EXPECT_EQ(AsText(buffer->view()), "abc");
}

TEST(BufferTest, AppendGrowingKeepsTheContents) {
  Buffer buffer;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<size_t>(i), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(buffer.AppendGrowing(AsBytes(piece)));
    expected += piece;
  }
  EXPECT_TRUE(AsText(buffer.view()) == expected);
}

TEST(BufferTest, MovingLeavesTheSourceEmpty) {
  auto buffer = Buffer::Allocate(size_t{8} << 20);
  ASSERT_TRUE(buffer);
  ASSERT_TRUE(buffer->Append(AsBytes("x")));
  Buffer moved = std::move(*buffer);
  EXPECT_EQ(AsText(moved.view()), "x");
  EXPECT_EQ(buffer->size(), 0U);
  EXPECT_EQ(buffer->data(), nullptr);
}

TEST(BufferTest, MemoryThatNoMachineHasIsAnErrorAndNotACrash) {
  auto buffer = Buffer::Allocate(SIZE_MAX / 2);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::kTooLarge);
}

TEST(BodyTest, EmptySegmentsAreLeftOut) {
  Body body;
  body.Append(AsBytes("ab"));
  body.Append({});
  body.Append(AsBytes("c"));
  EXPECT_EQ(body.size(), 3U);
  EXPECT_EQ(body.segments().size(), 2U);
}

}  // namespace
}  // namespace airfreight
