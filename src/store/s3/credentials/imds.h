#pragma once

/// \file
/// \brief Credentials from the metadata service of an EC2 instance, version 2
/// (docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html).

#include <string>

#include "airfreight/result.h"
#include "store/s3/credentials/source.h"

namespace airfreight::s3 {

/// \brief The role of the instance: a token, the role's name and its keys, three requests.
///
/// Never asks version 1, which has no token: a service that speaks only that is reported as
/// ForeignCredentials. AWS_EC2_METADATA_DISABLED switches it off,
/// AWS_EC2_METADATA_SERVICE_ENDPOINT and …_ENDPOINT_MODE (or the profile's properties) say where it
/// is (docs.aws.amazon.com/sdkref/latest/guide/feature-imds-credentials.html).
///
/// Threads, blocking: as CredentialsSource; where there is no such service, for as long as two
/// tries to connect take. Errors: none where nothing answers or no role is attached, which is
/// absent with a word in Description; once it has given keys, or when it is `required`, those are
/// errors too, Unavailable (retryable) or Denied.
class InstanceSource final : public CredentialsSource {
 public:
  /// \param profile_setting the profile whose properties are looked at; "" for AWS_PROFILE's.
  /// \param required whether a profile names this source as the one to use.
  explicit InstanceSource(std::string profile_setting, bool required = false)
      : profile_setting_(std::move(profile_setting)), required_(required) {}
  Result<std::optional<LoadedCredentials>> Load(const CredentialsTools& tools,
                                                const Context& context) override;
  std::string Description() const override { return description_; }

 private:
  Result<std::optional<LoadedCredentials>> Absent(std::string_view why, Error error);

  std::string profile_setting_;
  bool required_;
  std::string description_ = "the EC2 instance metadata service";
};

}  // namespace airfreight::s3
