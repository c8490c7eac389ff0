#pragma once

/// \file
/// \brief The settings of a Google Cloud Storage store, read and checked, and where its requests
/// go.

#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/curl_transport.h"
#include "http/environment.h"
#include "store/cloud/endpoint.h"
#include "store/cloud/secret.h"

namespace airfreight::gcs {

/// Of the tokens that are asked for: objects and nothing else
/// (developers.google.com/identity/protocols/oauth2/scopes#storage).
inline constexpr char kScope[] = "https://www.googleapis.com/auth/devstorage.read_write";

/// What the settings say; empty where they say nothing and the environment is asked.
struct GcsOptions {
  std::string endpoint_url;
  bool anonymous = false;    ///< Requests carry no token: public buckets, emulators.
  std::string key_path;      ///< A file as GOOGLE_APPLICATION_CREDENTIALS names one.
  Secret key_json;           ///< Its content, from a connection.
  Secret access_token;       ///< From a connection, or from a library that knows its kind.
  std::string user_project;  ///< Who pays where the requester does; empty: the bucket's owner.
  std::string kms_key_name;  ///< `projects/…/cryptoKeys/…`; empty: as the bucket has it.
  CurlTransportOptions transport;

  /// Whether there is a token, a key or a file of one: such goes to an emulator too.
  bool NamesCredentials() const {
    return !access_token.empty() || !key_json.empty() || !key_path.empty();
  }
};

/// Invalid when a setting is not known or its value is wrong: the message names it and shows a
/// right one, and holds no key.
Result<GcsOptions> ParseGcsOptions(const StoreSettings& settings);

/// Invalid unless `name` could be a key's
/// (cloud.google.com/kms/docs/getting-resource-ids), naming `source`.
Status CheckKmsKeyName(std::string_view name, std::string_view source);

/// CheckPutOptions, and that the encryption key could be one.
Status CheckWrite(const PutOptions& options);

/// Where requests go.
struct Target {
  Endpoint endpoint;
  /// The server is named by STORAGE_EMULATOR_HOST: nobody is asked for a token.
  bool emulator = false;
  /// The server is not Google's own front end by its name: an emulator, or a private one.
  bool foreign = false;
};

/// The setting, STORAGE_EMULATOR_HOST (with or without a scheme, as Google's libraries take it),
/// else Google's own. Invalid when the URL is wrong, and when a token would go over plain HTTP to
/// another machine.
Result<Target> ResolveTarget(const GcsOptions& options, const Environment& environment);

}  // namespace airfreight::gcs
