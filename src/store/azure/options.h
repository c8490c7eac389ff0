#pragma once

/// \file
/// \brief The settings of an Azure store, read and checked.

#include <optional>
#include <string>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/curl_transport.h"
#include "http/environment.h"
#include "store/azure/account.h"
#include "store/azure/checksum.h"
#include "store/cloud/secret.h"

namespace airfreight::azure {

/// What the settings and a connection say; empty where they say nothing and the environment is
/// asked.
struct AzureOptions {
  std::string account;
  std::string endpoint_url;
  std::optional<ConnectionString> connection_string;
  Secret account_key;
  Secret sas_token;
  std::string tenant_id;
  std::string client_id;  ///< Of an application, or of the managed identity that is meant.
  Secret client_secret;
  std::string authority_host;
  std::string encryption_scope;  ///< Empty: as the container has it.
  Checksums checksums = Checksums::kCrc64;
  CurlTransportOptions transport;
};

/// Invalid when a setting is not known or its value is wrong: the message names it and shows a
/// right one, and holds no key.
Result<AzureOptions> ParseAzureOptions(const StoreSettings& settings);

/// The connection string's, `endpoint_url` with `account`, `account` at Azure, and in place of
/// those that the settings leave out AZURE_STORAGE_CONNECTION_STRING,
/// AZURE_STORAGE_SERVICE_ENDPOINT and AZURE_STORAGE_ACCOUNT
/// (learn.microsoft.com/cli/azure/azure-cli-configuration). Invalid when none says anything, or the
/// environment something wrong.
Result<Account> ResolveAccount(const AzureOptions& options, const Environment& environment);

}  // namespace airfreight::azure
