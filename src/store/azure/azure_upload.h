#pragma once

/// \file
/// \brief Uploads in parts to Azure: Put Block and Put Block List
/// (learn.microsoft.com/rest/api/storageservices/put-block-list#remarks).

#include <memory>
#include <string_view>

#include "airfreight/store.h"
#include "store/azure/azure_client.h"

namespace airfreight::azure {

/// Begins an upload, which takes no request; what it returns shares `client`, and makes one request
/// for each part and for Complete.
///
/// An upload whose blocks are not there (any more) is NotFound, as Complete says: another write of
/// the same key was committed and took them with it, be it a Put or the end of another upload, or a
/// Complete whose answer was lost was, which only the caller can tell, by what lies there now.
///
/// Abort makes no request, and what follows it is NotFound. Blocks that are never committed are no
/// object, are listed nowhere, and the service drops them with the next write of their key, or a
/// week after the last of them (until then they are paid for as any bytes). To drop them at once
/// would take a write of the key itself, which a reader or another writer would see.
Result<std::unique_ptr<PartUpload>> StartAzureUpload(std::shared_ptr<AzureClient> client,
                                                     std::string_view key,
                                                     const PutOptions& options,
                                                     const Context& context);

}  // namespace airfreight::azure
