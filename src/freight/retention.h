#pragma once

/// \file
/// \brief How long values are kept, and what that is to a store. Pure.

#include <cstdint>
#include <string>

#include "airfreight/reference.h"
#include "airfreight/result.h"

namespace airfreight {

/// By how many seconds the clocks of hosts may differ: a store that drops an object by its own
/// clock may do so that much before the reader's says that its time is over.
inline constexpr int64_t kClockDifference = 300;

/// \brief The class of a retention, "7d": the shortest that is not shorter.
///
/// A bucket has one lifecycle rule for each class that is in use, and not one for each retention
/// that anyone ever wrote: S3 takes 1,000 rules a bucket
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/object-lifecycle-mgmt.html), Azure 100
/// (learn.microsoft.com/en-us/azure/storage/blobs/lifecycle-management-overview), each of whole
/// days. Empty above ten years, where nothing is removed by rule.
std::string RetentionClass(int64_t seconds);

/// Expired when the time of a reference is over.
Status CheckRetention(const Reference& reference, int64_t now_unix);

}  // namespace airfreight
