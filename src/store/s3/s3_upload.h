#pragma once

/// \file
/// \brief Uploads in parts to S3
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html).

#include <memory>
#include <string_view>

#include "airfreight/store.h"
#include "store/s3/s3_client.h"

namespace airfreight::s3 {

/// Begins an upload by CreateMultipartUpload; what it returns shares `client`, and makes one
/// request for each call.
///
/// An upload that the store knows nothing of (any more) is NotFound: it was given up, or completed
/// by a Complete whose answer was lost, which only the caller can tell, by what lies there now. Two
/// conditional writes at once may get ConditionalRequestConflict (Unavailable, retryable): asked
/// again, a server either decides or has given the upload up.
Result<std::unique_ptr<PartUpload>> StartS3Upload(std::shared_ptr<S3Client> client,
                                                  std::string_view key, const PutOptions& options,
                                                  const Context& context);

}  // namespace airfreight::s3
