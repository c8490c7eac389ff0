#pragma once

/// \file
/// \brief Credentials that a profile describes: keys, a program, a role.

#include <optional>
#include <set>
#include <string>

#include "airfreight/result.h"
#include "store/s3/credentials/imds.h"
#include "store/s3/credentials/source.h"
#include "store/s3/profile.h"

namespace airfreight::s3 {

/// \brief One profile: `role_arn` with `source_profile` or `credential_source`, web identity, keys,
/// `credential_process`, in botocore's order
/// (github.com/boto/botocore/blob/develop/botocore/credentials.py, create_credential_resolver).
///
/// A role is one request to STS for each link of its chain; keys none. The files are read at each
/// Load.
///
/// Threads, blocking: as CredentialsSource. Errors: ForeignCredentials for `sso_session`,
/// `sso_start_url`, `login_session` and `mfa_serial`; Invalid for a profile that contradicts itself
/// or names what is not there; those of STS, of the program and of the other sources.
class ProfileSource final : public CredentialsSource {
 public:
  /// Which profiles are looked at: those that are a role's by way of others, which botocore asks
  /// before web identity, or the rest.
  enum class Kinds { kRoles, kOthers };

  ProfileSource(Kinds kinds, std::string profile_setting, std::string region_setting);
  Result<std::optional<LoadedCredentials>> Load(const CredentialsTools& tools,
                                                const Context& context) override;
  std::string Description() const override { return description_; }

 private:
  struct Request;

  Result<std::optional<LoadedCredentials>> LoadOne(const Profile& profile, Request& request);
  Result<std::optional<LoadedCredentials>> LoadRole(const Profile& profile, Request& request);
  Result<LoadedCredentials> LoadNamedSource(const Profile& profile, const std::string& name,
                                            Request& request);
  Result<LoadedCredentials> LoadProcess(const Profile& profile, const std::string& command,
                                        Request& request);

  Kinds kinds_;
  std::string profile_setting_;
  std::string region_setting_;
  std::string description_ = "the profile files";
};

/// \brief AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Makes no request.
class EnvironmentSource final : public CredentialsSource {
 public:
  Result<std::optional<LoadedCredentials>> Load(const CredentialsTools& tools,
                                                const Context& context) override;
  std::string Description() const override;
};

}  // namespace airfreight::s3
