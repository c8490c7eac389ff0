#pragma once

/// \file
/// \brief The documents in which credentials arrive. Pure functions over bytes from outside; no
/// message holds any of them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "store/s3/credentials/source.h"

namespace airfreight::s3 {

/// Longest document that is read. A session token has a few hundred bytes to a few KiB; 64,000 is
/// also where AWS's SDK for Java stops reading a program's output (ProcessCredentialsProvider).
inline constexpr size_t kMaxCredentialsDocument = size_t{64} << 10;

/// Seconds since 1970 of the times that AWS's services and credential programs write: ISO 8601 in
/// UTC or with an offset (`2026-01-01T00:00:00Z`, `…+01:00`), with or without a fraction.
std::optional<int64_t> ParseExpiration(std::string_view text);

/// The answer to AssumeRole or AssumeRoleWithWebIdentity
/// (docs.aws.amazon.com/STS/latest/APIReference/API_Credentials.html). Internal when it is anything
/// else. `source` names the place in messages, here and below.
Result<LoadedCredentials> ParseStsCredentials(std::string_view xml, std::string_view source);

/// What the instance metadata service
/// (docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html) and
/// container endpoints (docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html)
/// answer. Denied when it says that there are none, with its code; Internal, retryable since such
/// services answer with pages while they start, when it is anything else.
Result<LoadedCredentials> ParseMetadataCredentials(std::string_view json, std::string_view source);

/// What a `credential_process` prints
/// (docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html). Invalid when it is
/// anything else: the program is the user's.
Result<LoadedCredentials> ParseProcessCredentials(std::string_view json, std::string_view source);

/// The one name in a list of roles; absent when the list is empty. Internal when the name could not
/// be a role's: it becomes part of a path. 64 characters of `[\w+=,.@-]`:
/// docs.aws.amazon.com/IAM/latest/APIReference/API_CreateInstanceProfile.html
Result<std::optional<std::string>> ParseRoleList(std::string_view text);

}  // namespace airfreight::s3
