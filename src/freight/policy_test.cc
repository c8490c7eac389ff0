#include "airfreight/policy.h"

#include <gtest/gtest.h>

namespace airfreight {
namespace {

TEST(PolicyTest, DefaultsAreThoseOfTheDocumentation) {
  const Decision decision = Policy().Resolve({}, "json", 1);
  EXPECT_EQ(decision.store, "default");
  EXPECT_EQ(decision.digest, DigestKind::kCrc32c);
  EXPECT_EQ(decision.max_bytes, 0U);
}

TEST(PolicyTest, GlobalSettingsHoldForEveryValue) {
  Decision defaults;
  defaults.store = "lake";
  defaults.digest = DigestKind::kSha256;
  defaults.max_bytes = 7;
  const Policy policy(defaults);
  for (const char* dag : {"", "sales"}) {
    Coordinate coordinate;
    coordinate.dag = dag;
    const Decision decision = policy.Resolve(coordinate, "pandas.DataFrame", 1 << 30);
    EXPECT_EQ(decision.store, "lake");
    EXPECT_EQ(decision.digest, DigestKind::kSha256);
    EXPECT_EQ(decision.max_bytes, 7U);
  }
}

}  // namespace
}  // namespace airfreight
