#include "http/headers.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight {
namespace {

using Progress = HeadParser::Progress;

HeadParser ParseAll(std::initializer_list<std::string_view> lines) {
  HeadParser parser;
  for (const std::string_view line : lines) parser.Feed(line);
  return parser;
}

TEST(HeadersTest, NamesCompareWithoutCase) {
  Headers headers{{"ETag", "\"a\""}};
  EXPECT_EQ(headers.Get("etag"), "\"a\"");
  headers.Set("ETAG", "\"b\"");
  EXPECT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers.Get("ETag"), "\"b\"");
  EXPECT_FALSE(headers.Find("etagg").has_value());
}

TEST(HeadParserTest, ReadsStatusAndFields) {
  const HeadParser parser = ParseAll({"HTTP/1.1 200 OK\r\n", "Content-Length: 12\r\n",
                                      "ETag:\t\"x\" \r\n", "x-empty:\r\n", "\r\n"});
  EXPECT_EQ(parser.status(), 200);
  EXPECT_EQ(parser.content_length(), 12u);
  EXPECT_EQ(parser.headers().Get("etag"), "\"x\"");
  EXPECT_EQ(parser.headers().Find("X-Empty"), "");
}

TEST(HeadParserTest, AnInterimAnswerLeavesNothing) {
  HeadParser parser = ParseAll({"HTTP/1.1 100 Continue\r\n", "x-proxy: added\r\n"});
  EXPECT_EQ(parser.Feed("\r\n"), Progress::kMore);
  parser.Feed("HTTP/1.1 204 No Content\r\n");
  EXPECT_EQ(parser.Feed("\r\n"), Progress::kComplete);
  EXPECT_EQ(parser.status(), 204);
  EXPECT_FALSE(parser.headers().Find("x-proxy").has_value());
}

TEST(HeadParserTest, TrailersDoNotChangeTheHead) {
  const HeadParser parser = ParseAll({"HTTP/1.1 200 OK\r\n", "etag: \"a\"\r\n", "\r\n",
                                      "etag: \"b\"\r\n", "HTTP/1.1 500 no\r\n", "\r\n"});
  EXPECT_EQ(parser.status(), 200);
  EXPECT_EQ(parser.headers().Get("etag"), "\"a\"");
}

TEST(HeadParserTest, AFieldThatComesAgainBecomesAList) {
  const HeadParser parser = ParseAll({"HTTP/1.1 200 OK", "a: 1", "A: 2", ""});
  EXPECT_EQ(parser.headers().Get("a"), "1, 2");
}

TEST(HeadParserTest, ContradictingLengthsAreNoLength) {
  EXPECT_FALSE(
      ParseAll({"HTTP/1.1 200 OK", "content-length: 1", "content-length: 2", ""}).content_length());
}

TEST(HeadParserTest, SkipsLinesThatAreNoFields) {
  const HeadParser parser =
      ParseAll({"HTTP/1.1 200 OK", "no colon", ": no name", " folded: x", ""});
  EXPECT_EQ(parser.status(), 200);
  EXPECT_TRUE(parser.headers().empty());
}

TEST(HeadParserTest, EndsAtItsLimit) {
  HeadParser parser;
  parser.Feed("HTTP/1.1 200 OK\r\n");
  const std::string line = "x: " + std::string(8 * 1024, 'a') + "\r\n";
  int lines = 0;
  while (parser.Feed(line) == Progress::kMore) ++lines;
  EXPECT_EQ(lines, 7);
  EXPECT_EQ(parser.Feed(std::string(1 << 20, 'a')), Progress::kTooLarge);
}

TEST(HeadParserTest, RefusesOddStatusLines) {
  for (const std::string_view line :
       {"HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 2", "HTTP/1.1 abc", "HTTP/1.1 -20"}) {
    HeadParser parser;
    parser.Feed(line);
    EXPECT_EQ(parser.status(), 0) << line;
  }
}

TEST(ParseDecimalTest, TakesDigitsOnly) {
  EXPECT_EQ(ParseDecimal("18446744073709551615"), UINT64_MAX);
  for (const std::string_view text :
       {"", " 1", "1 ", "-1", "+1", "0x1", "18446744073709551616", "1.0"}) {
    EXPECT_FALSE(ParseDecimal(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace airfreight
