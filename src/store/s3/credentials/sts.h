#pragma once

/// \file
/// \brief Roles taken on at AWS's Security Token Service, or at what speaks its protocol.
/// Specification: docs.aws.amazon.com/STS/latest/APIReference

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "http/environment.h"
#include "http/transport.h"
#include "store/s3/credentials/source.h"
#include "store/s3/endpoint.h"
#include "store/s3/profile.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// Where STS is, and the region that requests to it are signed for.
struct StsTarget {
  Endpoint endpoint;
  std::string region;
};

/// AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL, the profile's, else AWS's own for the region of
/// AWS_REGION, AWS_DEFAULT_REGION, the profile or `region_setting`, and the global one where none
/// is named (docs.aws.amazon.com/sdkref/latest/guide/feature-sts-regionalized-endpoints.html).
/// The variables' region goes first: it is where this process runs, the setting's is where the
/// bucket lies.
Result<StsTarget> ResolveSts(const Profile& profile, const std::string& region_setting,
                             const Environment& environment);

/// The role that is to be taken on, and by what.
struct RoleRequest {
  std::string role_arn;
  std::string session_name;      ///< Empty: `airfreight-<seconds since 1970>`.
  std::string external_id;       ///< Empty: none.
  std::string duration_seconds;  ///< Empty: as the role has it.
  std::string place;  ///< Who names the role, for messages: "AWS_ROLE_ARN", "profile 'x'".
};

/// The form of AssumeRoleWithWebIdentity or, without a token, of AssumeRole; Invalid when a field
/// is not what STS takes, naming the role's place. It holds the token.
Result<Secret> BuildStsForm(const RoleRequest& role, const Secret& web_identity_token,
                            int64_t unix_seconds);

/// The error of an answer that is no success. `proof` is what the request rested on, for the
/// message: "the token in /path (AWS_WEB_IDENTITY_TOKEN_FILE)", "the keys of profile 'x'"; the
/// service's own words are repeated only where they cannot hold `secret`.
Error DecodeStsError(const HttpResponse& response, const RoleRequest& role, std::string_view proof,
                     const Secret& secret);

/// One request, not signed: the token is the proof. `token_place` names the token in messages.
Result<LoadedCredentials> AssumeRoleWithWebIdentity(const RoleRequest& role, const Secret& token,
                                                    std::string_view token_place,
                                                    const StsTarget& target,
                                                    const CredentialsTools& tools,
                                                    const Context& context);

/// One request, signed by `keys`, which `keys_place` names in messages.
Result<LoadedCredentials> AssumeRole(const RoleRequest& role, const Credentials& keys,
                                     std::string_view keys_place, const StsTarget& target,
                                     const CredentialsTools& tools, const Context& context);

}  // namespace airfreight::s3
