#include "store/for_each.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

TEST(ForEachTest, EachTaskRunsOnce) {
  for (const int threads : {0, 1, 3, 100}) {
    std::vector<std::atomic<int>> runs(57);
    EXPECT_TRUE(IsOk(ForEach(runs.size(), threads, {}, [&](size_t index, const Context&) -> Status {
      ++runs[index];
      return {};
    })));
    for (const auto& run : runs) EXPECT_EQ(run, 1);
  }
  EXPECT_TRUE(IsOk(ForEach(0, 4, {}, [](size_t, const Context&) -> Status {
    return Fail(ErrorCode::kInternal, "there is nothing to do");
  })));
}

TEST(ForEachTest, OneTaskOrOneThreadCostsNoOther) {
  const auto caller = std::this_thread::get_id();
  const auto here = [&](size_t, const Context&) -> Status {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return {};
  };
  EXPECT_TRUE(IsOk(ForEach(1, 16, {}, here)));
  EXPECT_TRUE(IsOk(ForEach(9, 1, {}, here)));
}

TEST(ForEachTest, TasksRunAtTheSameTime) {
  // Each waits for the other: one after the other they would never end.
  std::atomic<int> begun{0};
  EXPECT_TRUE(IsOk(ForEach(3, 3, {}, [&](size_t, const Context&) -> Status {
    ++begun;
    while (begun < 3) std::this_thread::yield();
    return {};
  })));
}

TEST(ForEachTest, FirstErrorEndsTheOthersAndIsReturned) {
  std::atomic<int> begun{0};
  const Status status = ForEach(1000, 2, {}, [&](size_t index, const Context& context) -> Status {
    ++begun;
    if (index == 1) return Fail(ErrorCode::kDenied, "no");
    while (!context.IsCancelled()) std::this_thread::yield();
    return Fail(ErrorCode::kCancelled, "told to stop");
  });
  EXPECT_TRUE(IsError(status, ErrorCode::kDenied));
  EXPECT_LE(begun, 3);
}

TEST(ForEachTest, CallersWishIsAskedOfItsThreadAloneAndEndsAll) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> polls{0};
  Context context;
  context.cancelled = [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return ++polls > 3;
  };
  const Status status = ForEach(8, 4, context, [](size_t, const Context& own) -> Status {
    while (!own.IsCancelled()) std::this_thread::yield();
    return Fail(ErrorCode::kCancelled, "told to stop");
  });
  EXPECT_TRUE(IsError(status, ErrorCode::kCancelled));
}

TEST(ForEachTest, NothingIsBegunForACallerThatWantsNoMore) {
  Context context;
  context.cancelled = [] { return true; };
  const Status status = ForEach(8, 4, context, [](size_t, const Context&) -> Status {
    ADD_FAILURE() << "begun";
    return {};
  });
  EXPECT_TRUE(IsError(status, ErrorCode::kCancelled));
}

TEST(ForEachTest, CallerThatWaitsForOthersStillAsks) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> polls{0};
  Context context;
  context.cancelled = [&] { return ++polls > 2; };
  std::atomic<bool> other{false};
  const Status status = ForEach(2, 2, context, [&](size_t, const Context& own) -> Status {
    if (std::this_thread::get_id() == caller) {
      while (!other) std::this_thread::yield();
      return {};
    }
    other = true;
    while (!own.IsCancelled()) std::this_thread::yield();
    return {};
  });
  EXPECT_TRUE(IsError(status, ErrorCode::kCancelled));
}

}  // namespace
}  // namespace airfreight
