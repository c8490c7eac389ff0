#pragma once

/// \file
/// \brief What Azure answers, turned into results and errors. Pure functions over bytes from
/// outside.

#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/transport.h"
#include "store/azure/request_builder.h"

namespace airfreight::azure {

/// An answer without success: what was asked, and its head and document.
struct FailedAnswer {
  Operation operation = Operation::kGet;
  bool if_match = false;
  std::string_view container;
  const HttpResponse* response = nullptr;
};

/// `now` is for a Retry-After that names a date. The service's code is in `x-ms-error-code`, also
/// where there is no document
/// (learn.microsoft.com/rest/api/storageservices/status-and-error-codes2).
Error DecodeError(const FailedAnswer& answer, int64_t now);

/// What the same request needs to succeed at once, if the answer says so.
struct Correction {
  enum class Kind {
    kNone,
    kClock,       ///< The server's clock says `server_time`.
    kCredential,  ///< The token is not taken (any more); another may be there by now.
  };
  Kind kind = Kind::kNone;
  int64_t server_time = 0;
};
Correction DecodeCorrection(const FailedAnswer& answer, Credential::Kind credential, int64_t now);

/// Size, version, metadata and time from the head of an answer to GET or HEAD. `size` is that of
/// the whole object, also where a part was asked for.
Result<ObjectInfo> DecodeInfo(std::string_view key, const HttpResponse& response);

/// Parses a page of List Blobs (learn.microsoft.com/rest/api/storageservices/list-blobs) whose
/// names all begin with `root` (a prefix with its slash, or nothing), and takes that off them.
/// Folders of an account with a hierarchical namespace are left out. Internal when the document is
/// anything else.
Result<ListPage> DecodeList(std::string_view text, std::string_view root);

}  // namespace airfreight::azure
