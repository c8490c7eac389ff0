#include "store/redis/resp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/matchers.h"

namespace airfreight::redis {
namespace {

using testing::HasSubstr;

// Gives its text in pieces of `step` bytes, and then nothing more.
class TextSource final : public ByteSource {
 public:
  TextSource(std::string_view text, size_t step) : rest_(text), step_(step) {}
  Result<ByteView> More() override {
    if (rest_.empty()) return Fail(ErrorCode::kUnavailable, "the end");
    const std::string_view piece = rest_.substr(0, step_);
    rest_.remove_prefix(piece.size());
    return AsBytes(piece);
  }

 private:
  std::string_view rest_;
  size_t step_;
};

Result<Reply> ReadOne(std::string_view text, size_t step = 1000) {
  TextSource source(text, step);
  return ReplyReader(source).Read();
}

std::string Sent(const Request& request) {
  std::string text;
  for (const ByteView piece : request.Pieces()) text += AsText(piece);
  EXPECT_EQ(text.size(), request.size());
  return text;
}

TEST(RedisRequestTest, CommandsAreArraysOfStrings) {
  Request request;
  request.Command({"SELECT", "2"}).Command(2).Text("GET").Text(std::string("a\0b", 3));
  EXPECT_EQ(Sent(request), std::string("*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n"
                                       "*2\r\n$3\r\nGET\r\n$3\r\na\0b\r\n",
                                       45));
  EXPECT_EQ(request.commands(), 2);
}

TEST(RedisRequestTest, ValueIsNotCopied) {
  const std::string one = "one";
  const std::string two = "two";
  Body body;
  body.Append(AsBytes(one));
  body.Append(AsBytes(two));
  Request request;
  request.Command(3).Text("SET").Text("k").Value("head", body.segments()).Command({"PING"});
  EXPECT_EQ(Sent(request),
            "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\nheadonetwo\r\n*1\r\n$4\r\nPING\r\n");
  int foreign = 0;
  for (const ByteView piece : request.Pieces()) {
    if (AsText(piece).data() == one.data() || AsText(piece).data() == two.data()) ++foreign;
  }
  EXPECT_EQ(foreign, 2);
}

TEST(RedisReplyTest, EachKindIsReadHoweverItIsCut) {
  const std::string text =
      "+OK\r\n-ERR "
      "no\r\n:-42\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*2\r\n:1\r\n*1\r\n$1\r\nx\r\n";
  for (size_t step = 1; step <= text.size(); ++step) {
    TextSource source(text, step);
    ReplyReader reader(source);
    EXPECT_EQ(reader.Read()->text, "OK");
    const auto error = reader.Read();
    EXPECT_TRUE(error->IsError());
    EXPECT_EQ(error->text, "ERR no");
    EXPECT_EQ(reader.Read()->integer, -42);
    EXPECT_EQ(reader.Read()->text, "a\r\nbc");
    EXPECT_EQ(reader.Read()->kind, Reply::Kind::kBulk);
    EXPECT_TRUE(reader.Read()->IsNil());
    EXPECT_TRUE(reader.Read()->IsNil());
    const auto array = reader.Read();
    ASSERT_EQ(array->elements.size(), 2u);
    EXPECT_EQ(array->elements[1].elements[0].text, "x");
    EXPECT_EQ(reader.consumed(), text.size());
    EXPECT_FALSE(reader.Read());
  }
}

TEST(RedisReplyTest, BytesOfALargeStringAreTakenAsTheyCome) {
  TextSource source("$6\r\nabcdef\r\n+OK\r\n", 3);
  ReplyReader reader(source);
  const auto head = reader.ReadHead();
  ASSERT_TRUE(IsOk(head));
  EXPECT_EQ(head->integer, 6);
  std::string text;
  for (uint64_t left = 6; left > 0;) {
    const auto piece = reader.Next(left);
    ASSERT_TRUE(IsOk(piece));
    left -= piece->size();
    text += AsText(*piece);
  }
  EXPECT_EQ(text, "abcdef");
  EXPECT_TRUE(IsOk(reader.End()));
  EXPECT_EQ(reader.Read()->text, "OK");
}

TEST(RedisReplyTest, WhatIsNoReplyIsDamageAndShown) {
  for (const char* text : {"HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "$-2\r\n", ":\r\n", ":1x\r\n",
                           "*-5\r\n", "\r\n", "+OK\n", "$3\r\nabcd\r\n"}) {
    const auto reply = ReadOne(text);
    ASSERT_TRUE(IsError(reply, ErrorCode::kUnavailable)) << text;
    EXPECT_THAT(reply.error().message, HasSubstr("Is a Redis server")) << text;
  }
}

TEST(RedisReplyTest, LengthsThatNoServerMeansTakeNoMemory) {
  EXPECT_FALSE(ReadOne("$9223372036854775807\r\nx"));
  EXPECT_FALSE(ReadOne("*9223372036854775807\r\n:1\r\n"));
  EXPECT_FALSE(ReadOne("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"));
  EXPECT_FALSE(ReadOne(std::string(100'000, '+')));
}

}  // namespace
}  // namespace airfreight::redis
