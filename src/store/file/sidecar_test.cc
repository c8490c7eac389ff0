#include "store/file/sidecar.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight {
namespace {

TEST(SidecarTest, TextReadsBack) {
  const Sidecar sidecar{"text/plain; charset=utf-8", {{"af-write", "a: b"}, {"empty", ""}}};
  const auto parsed = ParseSidecar(PrintSidecar(sidecar));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->content_type, sidecar.content_type);
  EXPECT_EQ(parsed->metadata, sidecar.metadata);
}

TEST(SidecarTest, OneThatWasCutAnywhereIsNone) {
  const std::string text = PrintSidecar({"a/b", {{"af-write", "0123"}, {"b", "end"}}});
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseSidecar(text.substr(0, length))) << length;
  }
  EXPECT_FALSE(ParseSidecar(text + "x"));
  EXPECT_FALSE(ParseSidecar(std::string(text.size(), '\0')));
}

TEST(SidecarTest, NameOfTheLongestObjectFitsIntoAFileName) {
  struct stat file{};
  file.st_size = INT64_MAX;
  file.st_mtim.tv_sec = 9'000'000'000;  // The year 2255.
  file.st_mtim.tv_nsec = 999'999'999;
  const std::string name = SidecarName(std::string(kMaxNameBytes, 'n'), SidecarToken(file));
  EXPECT_LE(name.size(), 255u);
  // 200 bytes of a part, a dot and the longest extension: formats/key.md.
  EXPECT_GE(kMaxNameBytes, 217u);
}

TEST(SidecarTest, TokenTellsApartWhatDiffersInLengthOrTime) {
  struct stat one{};
  one.st_size = 5;
  one.st_mtim = {100, 7};
  struct stat other = one;
  EXPECT_EQ(SidecarToken(one), SidecarToken(other));
  other.st_mtim.tv_nsec = 8;
  EXPECT_NE(SidecarToken(one), SidecarToken(other));
  other = one;
  other.st_size = 6;
  EXPECT_NE(SidecarToken(one), SidecarToken(other));
  other = one;
  other.st_ino = 1;
  EXPECT_EQ(SidecarToken(one), SidecarToken(other));
  EXPECT_NE(FileVersion(one), FileVersion(other));
}

}  // namespace
}  // namespace airfreight
