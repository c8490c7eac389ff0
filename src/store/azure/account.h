#pragma once

/// \file
/// \brief Which storage account, and where it is served.

#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "store/cloud/endpoint.h"
#include "store/cloud/secret.h"

namespace airfreight::azure {

/// A storage account's blob service.
struct Account {
  std::string name;   ///< What signatures by its key are made for; empty where nothing tells.
  Endpoint endpoint;  ///< With the account as its path where the service has no host for it.

  bool operator==(const Account&) const = default;
};

/// Invalid unless it has 3 to 24 small letters and digits
/// (learn.microsoft.com/azure/storage/common/storage-account-overview#storage-account-name),
/// naming `source`: it becomes part of a host.
Status CheckAccountName(std::string_view name, std::string_view source);

/// The blob service of `name` in a cloud: "core.windows.net" for the public one.
Account AccountOf(std::string_view name, std::string_view suffix = "core.windows.net");

/// The account that `url` serves. `name` is it where that is known; else it is the first label of
/// `<name>.blob.…`, or the path of a service that is told by address, as emulators are. On this
/// machine, `name` becomes the path of a URL that has none, since emulators want it there.
/// Invalid when the URL is none, naming `source`; a query, which may be a signature, is not quoted.
Result<Account> ParseServiceUrl(std::string_view url, std::string_view name,
                                std::string_view source);

/// What a connection string says
/// (learn.microsoft.com/azure/storage/common/storage-configure-connection-string).
struct ConnectionString {
  Account account;
  Secret account_key;  ///< Empty when there is a signature in its place.
  Secret sas_token;
};

/// Invalid when it has no account, no key and no signature, or a part that is none; no message
/// holds any of it but the names of its parts. `source` names the place.
Result<ConnectionString> ParseConnectionString(std::string_view text, std::string_view source);

/// A shared access signature without the '?' in front; absent when it has no `sig=` or holds what a
/// URL cannot. A whole URL of an account with the signature as its query has it too.
std::optional<Secret> ParseSasToken(std::string_view text);

}  // namespace airfreight::azure
