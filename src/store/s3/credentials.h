#pragma once

/// \file
/// \brief Where the keys that sign requests come from.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/result.h"
#include "http/environment.h"
#include "store/s3/profile.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// \brief One place where credentials may be. Web identity, container and instance roles become
/// further ones.
///
/// Threads: called by one at a time. Blocking: may read files, and later ask a server.
class CredentialsSource {
 public:
  virtual ~CredentialsSource() = default;
  /// Absent: nothing is here, ask the next. An error: something is here and is not right; no other
  /// place is asked, since using another identity than was meant would be worse.
  virtual Result<std::optional<Credentials>> Load() = 0;
  /// For the message that says where was looked.
  virtual std::string Description() const = 0;
};

/// \brief Asks its sources in order, and keeps what it got.
///
/// Threads: Get and Refresh may be called from several at once; one loads, the others wait for it.
/// Ownership: owns its sources. Errors: Denied when no source has anything, listing them and how to
/// set keys; a source's own otherwise.
class CredentialsChain {
 public:
  explicit CredentialsChain(std::vector<std::unique_ptr<CredentialsSource>> sources);

  Result<Credentials> Get();
  /// Loads again, after the store has said that `used` has expired; without loading where another
  /// thread has done so since.
  Result<Credentials> Refresh(const Credentials& used);

 private:
  Result<Credentials> Load();

  std::mutex mutex_;
  std::vector<std::unique_ptr<CredentialsSource>> sources_;
  std::optional<Credentials> current_;
};

/// Keys as they were set: for the settings and for the environment. Absent when neither key is
/// there. Invalid when one is missing or holds what no header may; `source` names them in the
/// message.
Result<std::optional<Credentials>> MakeCredentials(const std::optional<std::string>& access_key_id,
                                                   const std::optional<std::string>& secret,
                                                   const std::optional<std::string>& session_token,
                                                   std::string_view source);

/// Settings, then the environment, then the profile's files. A profile that a setting names goes
/// before the environment. Files are read at the first Get, and again by Refresh.
std::unique_ptr<CredentialsChain> DefaultCredentials(std::optional<Credentials> settings,
                                                     std::string profile_setting,
                                                     const Environment& environment);

}  // namespace airfreight::s3
