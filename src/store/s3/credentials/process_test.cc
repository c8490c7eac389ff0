#include "store/s3/credentials/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace airfreight::s3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The expected lists are those of Python's shlex.split.
TEST(SplitCommandTest, SplitsAsShlexDoes) {
  EXPECT_THAT(*SplitCommand("a  b\tc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*SplitCommand(R"(a "b c" 'd "e' f\ g)"), ElementsAre("a", "b c", "d \"e", "f g"));
  EXPECT_THAT(*SplitCommand(R"(a "b\"c\\d\e" '\x')"), ElementsAre("a", "b\"c\\d\\e", "\\x"));
  EXPECT_THAT(*SplitCommand(R"(a '' b"c"'d')"), ElementsAre("a", "", "bcd"));
  EXPECT_THAT(*SplitCommand("~/x $HOME *"), ElementsAre("~/x", "$HOME", "*"));
  for (const char* wrong : {"", "  ", "a 'b", "a \"b", "a\\", "''"}) {
    EXPECT_EQ(SplitCommand(wrong).error().code, ErrorCode::kInvalid) << wrong;
  }
}

TEST(RunProcessTest, GivesTheOutputAndTheStatus) {
  const auto result = RunProcess({"/bin/sh", "-c", "printf 'out %s' \"$0\"; exit 7", "a b"}, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output, "out a b");
  EXPECT_EQ(result->exit_status, 7);
}

TEST(RunProcessTest, NothingIsOnStandardInput) { EXPECT_EQ(RunProcess({"cat"}, {})->output, ""); }

TEST(RunProcessTest, ASignalIsAStatusToo) {
  EXPECT_EQ(RunProcess({"/bin/sh", "-c", "kill -9 $$"}, {})->exit_status, 137);
}

TEST(RunProcessTest, AProgramThatIsNotThereIsNamed) {
  const auto result = RunProcess({"/no/such/program"}, {});
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(result.error().message, HasSubstr("/no/such/program"));
}

TEST(RunProcessTest, MoreOutputThanCredentialsHaveIsRefused) {
  EXPECT_EQ(RunProcess({"yes"}, {}).error().code, ErrorCode::kInvalid);
}

// Each would run for longer than the test may.
TEST(RunProcessTest, EndsWithTheCallersWishesAndTakesItsChildrenAlong) {
  Context context;
  context.cancelled = [] { return true; };
  EXPECT_EQ(RunProcess({"sleep", "600"}, context).error().code, ErrorCode::kCancelled);
  int polls = 0;
  context.cancelled = [&] { return ++polls > 1; };
  EXPECT_EQ(RunProcess({"/bin/sh", "-c", "sleep 600 & sleep 600"}, context).error().code,
            ErrorCode::kCancelled);
  Context deadline;
  deadline.deadline = Context::Clock::now() + std::chrono::milliseconds(150);
  EXPECT_EQ(RunProcess({"sleep", "600"}, deadline).error().code, ErrorCode::kTimeout);
  // It has closed its output and goes on.
  polls = 0;
  context.cancelled = [&] { return ++polls > 2; };
  EXPECT_EQ(RunProcess({"/bin/sh", "-c", "exec >&-; sleep 600"}, context).error().code,
            ErrorCode::kCancelled);
}

}  // namespace
}  // namespace airfreight::s3
