#pragma once

/// \file
/// \brief The files in which AWS's tools keep profiles. Specification:
/// docs.aws.amazon.com/sdkref/latest/guide/file-format.html

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "http/environment.h"

namespace airfreight::s3 {

/// Sections by name, each with its properties. The property `b` nested below `a` is `a.b`.
using ProfileFile = std::map<std::string, std::map<std::string, std::string>>;

/// Parses the text of `~/.aws/config` or `~/.aws/credentials`. Names of properties come out in
/// lower case. Lines that are nothing are skipped, as AWS's own tools do.
ProfileFile ParseProfileFile(std::string_view text);

/// One profile, from both files together.
struct Profile {
  std::string name;
  bool found = false;
  std::map<std::string, std::string> properties;
  std::vector<std::string> files;  ///< Where it was looked for, for messages.

  /// Whether the keys are those of the credentials file, which botocore takes before other kinds.
  bool keys_in_credentials_file = false;

  std::optional<std::string> Find(const std::string& property) const;
  /// `endpoint_url` of the profile's `services` section for S3, else its own.
  std::optional<std::string> endpoint_url;
  /// The same for STS.
  std::optional<std::string> sts_endpoint_url;
};

/// Both files, read.
struct ProfileFiles {
  ProfileFile config;
  ProfileFile credentials;
  std::vector<std::string> paths;  ///< Theirs, in this order.
};

/// Reads AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, else `~/.aws/config` and
/// `~/.aws/credentials`. A file that is not there is empty.
ProfileFiles ReadProfileFiles(const Environment& environment);

/// The profile of that name, from both; what both say, the credentials file decides. Not `found`
/// when it is in neither.
Profile SelectProfile(const ProfileFiles& files, const std::string& name);

/// The profile that `setting`, then AWS_PROFILE name, else "default".
///
/// Invalid when a profile is named and in neither file; the message lists both.
Result<Profile> LoadProfile(const std::string& setting, const Environment& environment);

}  // namespace airfreight::s3
