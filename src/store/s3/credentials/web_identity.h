#pragma once

/// \file
/// \brief Credentials for a token that someone else has signed: Kubernetes service accounts on EKS
/// ("IRSA"), OpenID Connect elsewhere
/// (docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html).

#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "store/s3/credentials/source.h"
#include "store/s3/credentials/sts.h"

namespace airfreight::s3 {

/// Reads the token, anew each time since whoever writes it replaces it before it expires (botocore,
/// boto/botocore#3117), and takes on the role. `file_place` says who names the file. Invalid when
/// it is not there or empty, naming both.
Result<LoadedCredentials> LoadByWebIdentity(const RoleRequest& role, const std::string& token_file,
                                            std::string_view file_place, const StsTarget& target,
                                            const CredentialsTools& tools, const Context& context);

/// \brief AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and AWS_ROLE_SESSION_NAME: one request to STS.
///
/// Threads, blocking: as CredentialsSource. Errors: Invalid when the role is missing, or the file.
class WebIdentitySource final : public CredentialsSource {
 public:
  explicit WebIdentitySource(std::string region_setting)
      : region_setting_(std::move(region_setting)) {}
  Result<std::optional<LoadedCredentials>> Load(const CredentialsTools& tools,
                                                const Context& context) override;
  std::string Description() const override;

 private:
  std::string region_setting_;
};

}  // namespace airfreight::s3
