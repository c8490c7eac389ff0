#pragma once

/// \file
/// \brief The documents in which Google's credentials come, and what is made of them. Pure
/// functions; no message holds any of them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "store/cloud/refreshing.h"
#include "store/cloud/secret.h"

namespace airfreight::gcs {

/// A token that requests carry; empty where they carry none.
using LoadedToken = Loaded<Secret>;

/// The `service_code` of the error for credentials of a kind that only Google's own library speaks
/// (workload identity federation, impersonation): for whoever can ask that instead. The error's
/// code is Unsupported.
inline constexpr std::string_view kForeignCredentials = "ForeignCredentials";

/// What a file of credentials holds: a service account's key, or the user's own log-in that
/// `gcloud auth application-default login` leaves
/// (google.aip.dev/auth/4110, google.aip.dev/auth/4112, google.aip.dev/auth/4113).
struct KeyDocument {
  enum class Kind { kServiceAccount, kAuthorizedUser };
  Kind kind = Kind::kServiceAccount;
  std::string client_email;    ///< Of a service account.
  std::string private_key_id;  ///< May be empty.
  Secret private_key;          ///< PEM.
  std::string client_id;       ///< Of a user's log-in.
  Secret client_secret;
  Secret refresh_token;
  std::string token_uri;  ///< Where a refresh token is changed for a token.
};

/// Invalid when it is no such document, naming `source` and what is missing; Unsupported, with
/// kForeignCredentials, when it is of a kind that is not ours.
Result<KeyDocument> ParseKeyDocument(std::string_view json, std::string_view source);

/// A token that a service account signs itself (RS256: www.rfc-editor.org/rfc/rfc7518#section-3.3),
/// good for an hour, for `scope` (google.aip.dev/auth/4111): no server is asked for one. Invalid
/// when the key is none.
Result<LoadedToken> SignToken(const KeyDocument& key, std::string_view scope, int64_t now,
                              std::string_view source);

/// The form that changes a refresh token for a token (www.rfc-editor.org/rfc/rfc6749#section-6).
/// It holds secrets.
Secret RefreshForm(const KeyDocument& key);

/// `{"access_token": …, "expires_in": …}`, as token endpoints and the metadata server answer.
/// Unavailable, retryable, when it is anything else: such services answer with pages while they
/// start.
Result<LoadedToken> ParseTokenAnswer(std::string_view json, int64_t now, std::string_view source);

}  // namespace airfreight::gcs
