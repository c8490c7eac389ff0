#include "base/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unordered_set>

#include "base/hex.h"

namespace airfreight {
namespace {

TEST(RandomTest, IdsAre32DigitsAndDiffer) {
  std::unordered_set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    Result<std::string> id = RandomHex128();
    ASSERT_TRUE(id);
    EXPECT_TRUE(IsLowerHex(*id, 32));
    EXPECT_TRUE(seen.insert(*id).second);
  }
}

// Airflow forks every task from one parent: two tasks must not write under one id.
TEST(RandomTest, ForkedChildDoesNotRepeatItsParent) {
  ASSERT_TRUE(RandomHex128());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string id = RandomHex128().value_or("");
    const ssize_t written = write(ends[1], id.data(), id.size());
    _exit(written == 32 ? 0 : 1);
  }
  char id[32];
  EXPECT_EQ(read(ends[0], id, sizeof id), 32);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(std::string(id, 32), *RandomHex128());
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace airfreight
