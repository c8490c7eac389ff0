#pragma once

/// \file
/// \brief What a bucket says of itself that bears on keeping XComs there.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/s3/s3_client.h"
#include "store/uri.h"

namespace airfreight::s3 {

/// An answer, or why there is none: most roles may not ask.
template <typename T>
struct Told {
  std::optional<T> value;
  std::string why;  ///< In words, where there is no value.
};

/// Days after which enabled rules without a tag remove what lies below a prefix; 0: no rule does.
/// Of several the soonest, as S3 has it
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-configuration-examples.html).
struct LifecycleFacts {
  int64_t abort_uploads = 0;
  int64_t old_versions = 0;
  int64_t everything = 0;
};

/// Plain data.
struct BucketFacts {
  /// The server's clock less ours, in seconds; absent where no answer had a date.
  std::optional<int64_t> clock_offset;
  Told<std::string> versioning;  ///< "Enabled", "Suspended", or "" where it never was.
  Told<LifecycleFacts> lifecycle;
  /// Which of the four blocks of public access are off, separated by blanks; "" for none.
  Told<std::string> open_to_public;
  Told<std::string> access_log;  ///< The bucket that server access logs go to; "" for none.
};

/// Asks four questions, one request each. An error of the network, or one about the bucket as a
/// whole, is the result; a question that is refused is told as such.
Result<BucketFacts> AskBucket(S3Client& client, const S3Client::Clock& clock,
                              const Context& context);
/// As above, for a store that is not open.
Result<BucketFacts> AskBucket(const StoreUri& uri, const StoreSettings& settings,
                              const Context& context);

// The answers' documents, parsed. Pure; Internal for anything else.

/// docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketVersioning.html
Result<std::string> DecodeVersioning(std::string_view text);
/// docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLifecycleConfiguration.html, for what lies
/// below `folder` (a prefix with its slash, or nothing).
Result<LifecycleFacts> DecodeLifecycle(std::string_view text, std::string_view folder);
/// docs.aws.amazon.com/AmazonS3/latest/API/API_GetPublicAccessBlock.html
Result<std::string> DecodePublicAccessBlock(std::string_view text);
/// docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLogging.html
Result<std::string> DecodeLogging(std::string_view text);

}  // namespace airfreight::s3
