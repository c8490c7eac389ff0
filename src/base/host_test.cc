#include "base/host.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace airfreight {
namespace {

TEST(HostTest, ThisMachineHasANameThatAReferenceMayHold) {
  const std::string name = HostName();
  EXPECT_FALSE(name.empty());
  EXPECT_LE(name.size(), kMaxHostBytes);
  EXPECT_EQ(VisibleText(name), name);
}

}  // namespace
}  // namespace airfreight
