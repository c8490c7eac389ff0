#include "freight/attempt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "airfreight/coordinate.h"

namespace airfreight {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNoon = 1'767'268'800 * kSecond;  // 2026-01-01T12:00:00Z

WriteStamp Stamp(int64_t attempt, int64_t started_micros) {
  return {"0123456789abcdef0123456789abcdef", attempt, started_micros,
          "fedcba9876543210fedcba9876543210", ""};
}

TEST(AttemptTest, LaterStartIsNewerWhateverTheAttemptNumber) {
  EXPECT_TRUE(IsNewer(Stamp(2, kNoon + 300 * kSecond), Stamp(1, kNoon)));
  EXPECT_FALSE(IsNewer(Stamp(1, kNoon), Stamp(2, kNoon + 300 * kSecond)));
}

// A run that is deleted and created again under the same id begins with attempt 1.
TEST(AttemptTest, RecreatedRunIsNewerThanTheManyAttemptsBeforeIt) {
  EXPECT_TRUE(IsNewer(Stamp(1, kNoon + 3600 * kSecond), Stamp(9, kNoon)));
  EXPECT_FALSE(IsNewer(Stamp(9, kNoon), Stamp(1, kNoon + 3600 * kSecond)));
}

// The retry ran on a host whose clock is three seconds behind that of the first attempt.
TEST(AttemptTest, StartsWithinClockSkewAreOrderedByAttemptNumber) {
  EXPECT_TRUE(IsNewer(Stamp(2, kNoon - 3 * kSecond), Stamp(1, kNoon)));
  EXPECT_FALSE(IsNewer(Stamp(1, kNoon), Stamp(2, kNoon - 3 * kSecond)));
}

TEST(AttemptTest, SkewOfExactlyTheLimitStillCountsAsTheSameTime) {
  EXPECT_FALSE(IsNewer(Stamp(1, kNoon + 5 * kSecond), Stamp(1, kNoon)));
  EXPECT_TRUE(IsNewer(Stamp(1, kNoon + 5 * kSecond + 1), Stamp(1, kNoon)));
  EXPECT_TRUE(IsNewer(Stamp(2, kNoon - 5 * kSecond), Stamp(1, kNoon)));
  EXPECT_FALSE(IsNewer(Stamp(2, kNoon - 5 * kSecond - 1), Stamp(1, kNoon)));
}

TEST(AttemptTest, OwnObjectIsNotNewer) { EXPECT_FALSE(IsNewer(Stamp(1, kNoon), Stamp(1, kNoon))); }

TEST(AttemptTest, NoTwoWritersAreEachNewerThanTheOther) {
  for (int64_t gap = -10 * kSecond; gap <= 10 * kSecond; gap += kSecond) {
    for (int64_t attempt : {0, 1, 2}) {
      const WriteStamp a = Stamp(1, kNoon);
      const WriteStamp b = Stamp(attempt, kNoon + gap);
      EXPECT_FALSE(IsNewer(a, b) && IsNewer(b, a));
    }
  }
}

TEST(AttemptTest, ExtremeStartsDoNotOverflow) {
  EXPECT_TRUE(IsNewer(Stamp(0, INT64_MAX), Stamp(0, 0)));
  EXPECT_FALSE(IsNewer(Stamp(0, 0), Stamp(0, INT64_MAX)));
}

TEST(AttemptTest, MetadataHasTheNamesOfTheSpecification) {
  WriteStamp stamp = Stamp(3, kNoon);
  EXPECT_EQ(MakeWriteMetadata(stamp),
            (Metadata{{"af-coordinate", "0123456789abcdef0123456789abcdef"},
                      {"af-attempt", "3"},
                      {"af-started", "1767268800000000"},
                      {"af-write", "fedcba9876543210fedcba9876543210"}}));
  stamp.owner = "prod eu/é";
  EXPECT_EQ(MakeWriteMetadata(stamp).at("af-owner"), "prod%20eu%2F%C3%A9");
}

TEST(AttemptTest, MetadataComesBack) {
  for (const char* owner : {"", "prod-eu", "prod eu/é", "..", "~"}) {
    WriteStamp stamp = Stamp(INT64_MAX, INT64_MAX);
    stamp.owner = owner;
    EXPECT_EQ(ParseWriteMetadata(MakeWriteMetadata(stamp)), stamp) << owner;
  }
}

// store.h: names and values together at most 2,000 bytes of printable ASCII.
TEST(AttemptTest, MetadataFitsWhateverTheOwnerIsCalled) {
  WriteStamp stamp = Stamp(INT64_MAX, INT64_MAX);
  for (int i = 0; i < 1000; ++i) stamp.owner += "é";
  size_t size = 0;
  for (const auto& [name, value] : MakeWriteMetadata(stamp)) {
    size += name.size() + value.size();
    EXPECT_TRUE(
        std::all_of(value.begin(), value.end(), [](char c) { return c > 0x20 && c < 0x7F; }));
  }
  EXPECT_LT(size, 500U);
  std::optional<WriteStamp> back = ParseWriteMetadata(MakeWriteMetadata(stamp));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->owner, EncodePart(stamp.owner));
  EXPECT_EQ(back->owner, StoredOwner(stamp.owner));
  EXPECT_EQ(StoredOwner("prod eu/é"), "prod eu/é");
}

TEST(AttemptTest, GarbledOrMissingMetadataIsNotOurs) {
  const Metadata whole = MakeWriteMetadata(Stamp(2, kNoon));
  EXPECT_TRUE(ParseWriteMetadata(whole));
  EXPECT_FALSE(ParseWriteMetadata(Metadata{}));
  for (const char* name : {"af-coordinate", "af-attempt", "af-started", "af-write"}) {
    Metadata missing = whole;
    missing.erase(name);
    EXPECT_FALSE(ParseWriteMetadata(missing)) << name;
    for (const char* wrong :
         {"", " ", "-1", "+1", "1 ", "0x10", "1.0", "9223372036854775808",
          "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdef0"}) {
      Metadata garbled = whole;
      garbled[name] = wrong;
      EXPECT_FALSE(ParseWriteMetadata(garbled)) << name << " = " << wrong;
    }
  }
}

}  // namespace
}  // namespace airfreight
