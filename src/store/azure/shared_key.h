#pragma once

/// \file
/// \brief Signatures by an account's key, as pure functions. Specification:
/// learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, the string of versions
/// from 2015-02-21 on.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/result.h"
#include "http/headers.h"
#include "store/cloud/secret.h"

namespace airfreight::azure {

/// Parameters of a query, names and values not encoded. Names are small letters.
using Query = std::vector<std::pair<std::string, std::string>>;

/// What a signature covers.
struct SignedParts {
  std::string method;
  std::string path;  ///< Exactly as it is sent: encoded (Azure/azure-sdk-for-python#11028, #11577).
  Query query;
  Headers headers;  ///< Of which those count that the specification names, and all of `x-ms-`.
  uint64_t content_length = 0;
};

std::string StringToSign(const SignedParts& parts, std::string_view account);

/// The value of `Authorization`. Invalid when the key is no base64, without a byte of it.
Result<std::string> SharedKeyAuthorization(const SignedParts& parts, std::string_view account,
                                           const Secret& account_key);

}  // namespace airfreight::azure
