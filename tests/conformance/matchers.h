#pragma once

/// \file
/// \brief Result<T> in assertions: `EXPECT_TRUE(IsOk(result))`, `EXPECT_TRUE(IsError(result,
/// code))`; what they print is the error.

#include <gtest/gtest.h>

#include <string>

#include "airfreight/result.h"

namespace airfreight {

template <typename T>
::testing::AssertionResult IsOk(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().ToString();
}

template <typename T>
::testing::AssertionResult IsError(const Result<T>& result, ErrorCode code) {
  if (result)
    return ::testing::AssertionFailure()
           << "a value, where " << ErrorCodeName(code) << " was expected";
  if (result.error().code == code) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << ErrorCodeName(code) << " was expected, and it is " << result.error().ToString();
}

}  // namespace airfreight
