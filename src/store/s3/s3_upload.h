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
/// Complete, whose first answer may have been lost, meets an upload that is not there any more.
/// Where the object that lies has this upload's size and metadata (in which a caller puts what no
/// other write has), that upload made it, and Complete succeeds; else the error is Unavailable, not
/// retryable, with NoSuchUpload as `service_code`: the parts are gone. Two conditional writes at
/// once may get ConditionalRequestConflict (Unavailable, retryable): asked again, a server either
/// decides or knows nothing of the upload.
Result<std::unique_ptr<PartUpload>> StartS3Upload(std::shared_ptr<S3Client> client,
                                                  std::string_view key, const PutOptions& options,
                                                  const Context& context);

}  // namespace airfreight::s3
