#pragma once

/// \file
/// \brief Credentials from the agent beside a container: ECS, and EKS Pod Identity
/// (docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html).

#include <string>
#include <string_view>

#include "airfreight/result.h"
#include "store/s3/credentials/source.h"

namespace airfreight::s3 {

/// Nothing when `url` may be asked for credentials: over TLS anywhere, over plain HTTP only on this
/// machine or at the agents' own addresses (as botocore's ContainerMetadataFetcher; same page), so
/// that a variable cannot send the authorization token across a network. Invalid otherwise, naming
/// `variable`.
Status CheckContainerUrl(std::string_view url, std::string_view variable);

/// \brief AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or …_FULL_URI, with
/// AWS_CONTAINER_AUTHORIZATION_TOKEN or …_TOKEN_FILE (read anew each time): one request to the
/// agent.
///
/// Threads, blocking: as CredentialsSource. Errors: Unavailable (retryable) when the agent does not
/// answer or is failing, Denied when it refuses, Invalid for a variable that cannot be right.
class ContainerSource final : public CredentialsSource {
 public:
  Result<std::optional<LoadedCredentials>> Load(const CredentialsTools& tools,
                                                const Context& context) override;
  std::string Description() const override;
};

}  // namespace airfreight::s3
