#include "transfer/send_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "conformance/matchers.h"

namespace airfreight {
namespace {

using std::chrono::milliseconds;

class FakeUpload final : public PartUpload {
 public:
  Result<UploadedPart> PutPart(int number, uint64_t, const Body& body, uint32_t,
                               const Context&) override {
    const std::lock_guard lock(mutex_);
    numbers.push_back(number);
    if (number == failing) return Fail(ErrorCode::kDenied, "no");
    UploadedPart part;
    part.number = number;
    part.size = body.size();
    return part;
  }
  Result<ObjectInfo> Complete(const std::vector<UploadedPart>&, const Condition&,
                              const Context&) override {
    return ObjectInfo();
  }
  Status Abort(const Context&) override { return {}; }

  int failing = 0;
  std::vector<int> numbers;

 private:
  std::mutex mutex_;
};

class SendBodyTest : public testing::Test {
 protected:
  Result<SentBody> Send(milliseconds hold) {
    Capabilities limits;
    limits.parts = true;
    const auto plan = PartPlan::ForSize(text_.size(), 100, limits);
    return SendBody(upload_, Body(text_), *plan, 4, nullptr, hold, {});
  }

  const std::string text_ = std::string(950, 'x');
  FakeUpload upload_;
};

TEST_F(SendBodyTest, OtherPartsWaitForTheFirstWhichIsTimed) {
  const auto sent = Send(std::chrono::hours(1));
  ASSERT_TRUE(IsOk(sent));
  EXPECT_EQ(upload_.numbers.size(), 10U);
  EXPECT_EQ(upload_.numbers.front(), 1);
  EXPECT_TRUE(sent->first_alone.has_value());
}

TEST_F(SendBodyTest, WithoutATrialNothingIsTimed) {
  const auto sent = Send(milliseconds(0));
  ASSERT_TRUE(IsOk(sent));
  EXPECT_EQ(upload_.numbers.size(), 10U);
  EXPECT_FALSE(sent->first_alone.has_value());
}

TEST_F(SendBodyTest, FirstPartThatFailsHoldsNobodyBack) {
  upload_.failing = 1;
  EXPECT_TRUE(IsError(Send(std::chrono::hours(1)), ErrorCode::kDenied));
}

}  // namespace
}  // namespace airfreight
