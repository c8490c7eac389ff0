#pragma once

/// \file
/// \brief Uploads in parts to Google Cloud Storage: each part an object of its own, and Compose.
///
/// Google has three ways for what is large. A resumable upload is one stream: its parts come one
/// after the other, and its condition is said before the first of them. The XML API's multipart
/// uploads take parts in any order, but no preconditions at all
/// (cloud.google.com/storage/docs/multipart-uploads#considerations): an older attempt would
/// overwrite a newer one. Compose joins up to 32 objects in one request that has condition,
/// metadata, type and key, and takes the parts away with it (`deleteSourceObjects`: at once,
/// without soft deletion, noncurrent versions or early deletion fees:
/// cloud.google.com/storage/docs/composing-objects#cost-considerations). It is what parts of an
/// XML upload would need after them anyway, for the sake of the condition. What a killed process
/// leaves are objects below `~parts/`, which List does not show and one lifecycle rule clears.

#include <memory>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "store/gcs/gcs_client.h"

namespace airfreight::gcs {

/// Begins an upload, without a request. Errors as ObjectStore::StartUpload, without the place.
Result<std::unique_ptr<PartUpload>> StartGcsUpload(std::shared_ptr<GcsClient> client,
                                                   std::string_view key, const PutOptions& options);

}  // namespace airfreight::gcs
