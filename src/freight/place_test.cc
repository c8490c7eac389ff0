#include "freight/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "airfreight/store.h"
#include "conformance/matchers.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Coordinate kCoordinate = {"sales", "run", "extract", Instance::Map(-1), "return_value", {}};

std::shared_ptr<ObjectStore> Open(const std::string& uri) { return OpenStore(uri, {}).value(); }

Reference To(const std::string& root, std::string store) {
  Reference reference;
  reference.store = std::move(store);
  reference.coordinate = kCoordinate;
  reference.uri = root + "/" + kCoordinate.ObjectKey("bin").value();
  return reference;
}

// Which store of the list it is.
Result<size_t> Which(const std::vector<NamedStore>& stores, const Reference& reference) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Place place, Locate(stores, reference));
  return static_cast<size_t>(place.store - stores.data());
}

class PlaceTest : public testing::Test {
 protected:
  // As on two servers that have a bucket of the same name each, and one more.
  std::vector<NamedStore> stores_ = {{"eu", Open("memory://bucket/xcom")},
                                     {"us", Open("memory://bucket/xcom")},
                                     {"other", Open("memory://other/xcom")}};
};

TEST_F(PlaceTest, EqualBucketNamesOnTwoServersAreToldApartByTheStoresName) {
  EXPECT_EQ(Which(stores_, To("memory://bucket/xcom", "eu")), 0U);
  EXPECT_EQ(Which(stores_, To("memory://bucket/xcom", "us")), 1U);
}

TEST_F(PlaceTest, NoStoreIsTakenByChance) {
  const auto place = Locate(stores_, To("memory://bucket/xcom", "renamed"));
  ASSERT_TRUE(IsError(place, ErrorCode::kOutOfScope));
  EXPECT_THAT(place.error().message,
              AllOf(HasSubstr("'eu' and 'us'"), HasSubstr("Give the one that wrote it the name "
                                                          "'renamed' again")));
}

TEST_F(PlaceTest, AStoreThatWasRenamedIsFoundByItsPlace) {
  EXPECT_EQ(Which(stores_, To("memory://other/xcom", "renamed")), 2U);
}

TEST_F(PlaceTest, AStoreThatLiesElsewhereIsNotReplacedByAnother) {
  const auto place = Locate(stores_, To("memory://other/xcom", "eu"));
  ASSERT_TRUE(IsError(place, ErrorCode::kOutOfScope));
  EXPECT_THAT(place.error().message,
              AllOf(HasSubstr("store 'eu', which is memory://bucket/xcom here"),
                    HasSubstr("store 'other'"), HasSubstr("[airfreight] read_also")));
}

TEST_F(PlaceTest, AStoreOfReadAlsoServesReferencesOfAnyName) {
  stores_.push_back({"", Open("memory://old/xcom")});
  EXPECT_EQ(Which(stores_, To("memory://old/xcom", "eu")), 3U);
  EXPECT_EQ(Which(stores_, To("memory://old/xcom", "default")), 3U);
  EXPECT_EQ(Which(stores_, To("memory://old/xcom", "gone")), 3U);
  // It is what the settings name for whatever has moved, before any store of another name.
  stores_.push_back({"", Open("memory://bucket/xcom")});
  EXPECT_EQ(Which(stores_, To("memory://bucket/xcom", "gone")), 4U);
  EXPECT_EQ(Which(stores_, To("memory://bucket/xcom", "us")), 1U);
}

TEST_F(PlaceTest, WhatTheDefaultStoreWroteIsReadableAfterTheDefaultHasMoved) {
  stores_.insert(stores_.begin(), {"default", Open("memory://new/xcom")});
  EXPECT_EQ(Which(stores_, To("memory://new/xcom", "default")), 0U);
  EXPECT_EQ(Which(stores_, To("memory://other/xcom", "default")), 3U);
  EXPECT_TRUE(
      IsError(Which(stores_, To("memory://bucket/xcom", "default")), ErrorCode::kOutOfScope));
}

TEST_F(PlaceTest, ThePlaceMustBeTheCoordinatesOwn) {
  Reference reference = To("memory://bucket/xcom", "eu");
  reference.coordinate.task = "load";
  const auto edited = Locate(stores_, reference);
  ASSERT_TRUE(IsError(edited, ErrorCode::kOutOfScope));
  EXPECT_THAT(edited.error().message, HasSubstr("edited"));
  const auto far = Locate(stores_, To("memory://far/xcom", "eu"));
  ASSERT_TRUE(IsError(far, ErrorCode::kOutOfScope));
  EXPECT_THAT(far.error().message, AllOf(HasSubstr("only objects below memory://bucket/xcom"),
                                         Not(HasSubstr("edited"))));
}

TEST_F(PlaceTest, AnAliasLeadsToTheStoreThatHasTheNewRoot) {
  ASSERT_TRUE(IsOk(SetAliases({{"memory://old/a", "memory://other/xcom"}}, &stores_)));
  EXPECT_THAT(stores_[2].aliases, ElementsAre("memory://old/a"));
  EXPECT_THAT(stores_[0].aliases, IsEmpty());
  const auto place = Locate(stores_, To("memory://old/a", "eu"));
  ASSERT_TRUE(IsOk(place));
  EXPECT_EQ(place->Uri(), To("memory://other/xcom", "").uri);
  EXPECT_EQ(place->alias, "memory://old/a");
  // Whole parts of the path only.
  EXPECT_TRUE(IsError(Locate(stores_, To("memory://old/ab", "eu")), ErrorCode::kOutOfScope));
  EXPECT_TRUE(IsError(Locate(stores_, To("memory://old", "eu")), ErrorCode::kOutOfScope));
}

TEST_F(PlaceTest, AnAliasOfAWholeBucketKeepsWhatStandsBehindIt) {
  ASSERT_TRUE(IsOk(SetAliases({{"memory://old", "memory://other"}}, &stores_)));
  EXPECT_EQ(Which(stores_, To("memory://old/xcom", "gone")), 2U);
  EXPECT_TRUE(IsError(Which(stores_, To("memory://old/more", "gone")), ErrorCode::kOutOfScope));
}

TEST_F(PlaceTest, OfTwoAliasesTheLongerHolds) {
  ASSERT_TRUE(IsOk(SetAliases(
      {{"memory://old", "memory://bucket"}, {"memory://old/xcom", "memory://other/xcom"}},
      &stores_)));
  EXPECT_EQ(Which(stores_, To("memory://old/xcom", "eu")), 2U);
}

TEST_F(PlaceTest, WhatAnAliasGivesIsNotLookedUpAgain) {
  ASSERT_TRUE(IsOk(SetAliases({{"memory://first/xcom", "memory://bucket/xcom"},
                               {"memory://bucket/xcom", "memory://other/xcom"}},
                              &stores_)));
  EXPECT_EQ(Which(stores_, To("memory://first/xcom", "us")), 1U);
  // An alias of a place where there is a store: the name that has the place comes first.
  EXPECT_EQ(Which(stores_, To("memory://bucket/xcom", "us")), 1U);
  EXPECT_EQ(Which(stores_, To("memory://bucket/xcom", "gone")), 2U);
}

TEST_F(PlaceTest, AnAliasToEqualRootsIsToldApartByTheName) {
  ASSERT_TRUE(IsOk(SetAliases({{"memory://old/xcom", "memory://bucket/xcom"}}, &stores_)));
  EXPECT_EQ(Which(stores_, To("memory://old/xcom", "us")), 1U);
  const auto place = Locate(stores_, To("memory://old/xcom", "gone"));
  ASSERT_TRUE(IsError(place, ErrorCode::kOutOfScope));
  EXPECT_THAT(place.error().message, HasSubstr("'eu' and 'us'"));
}

TEST_F(PlaceTest, AWrongAliasIsRefused) {
  const auto refused = [&](const std::string& from, const std::string& to) {
    const Status set = SetAliases({{from, to}}, &stores_);
    EXPECT_TRUE(IsError(set, ErrorCode::kInvalid));
    return set ? std::string() : set.error().message;
  };
  EXPECT_THAT(refused("old", "memory://bucket/xcom"), HasSubstr("[aliases]"));
  EXPECT_THAT(refused("memory://old", "memory://nowhere/xcom"),
              AllOf(HasSubstr("no store lies there"), HasSubstr("memory://other/xcom")));
  EXPECT_THAT(refused("memory://bucket/xcom/", "memory://bucket/xcom"), HasSubstr("itself"));
  EXPECT_THAT(refused("s3://conn@old/xcom", "memory://bucket/xcom"),
              AllOf(HasSubstr("connection"), HasSubstr("'s3://old/xcom'")));
}

TEST_F(PlaceTest, OnlyStoresWithANameAreWrittenTo) {
  stores_.push_back({"", Open("memory://old/xcom")});
  EXPECT_EQ(FindStoreToWrite(stores_, "us").value(), &stores_[1]);
  EXPECT_EQ(FindStoreToWrite(stores_, "default").value(), &stores_[0]);
  EXPECT_TRUE(IsError(FindStoreToWrite(stores_, ""), ErrorCode::kInvalid));
}

}  // namespace
}  // namespace airfreight
