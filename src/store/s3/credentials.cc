#include "store/s3/credentials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace airfreight::s3 {
namespace {

// Keys that came out of a file or a Kubernetes secret often end in a line break.
std::string Trim(const std::optional<std::string>& text) {
  if (!text) return {};
  const size_t first = text->find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text->substr(first, text->find_last_not_of(" \t\r\n") - first + 1);
}

bool IsHeaderText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

class SettingsSource final : public CredentialsSource {
 public:
  explicit SettingsSource(std::optional<Credentials> credentials)
      : credentials_(std::move(credentials)) {}
  Result<std::optional<Credentials>> Load() override { return credentials_; }
  std::string Description() const override {
    return "an Airflow connection named by the store (s3://conn_id@bucket/prefix)";
  }

 private:
  std::optional<Credentials> credentials_;
};

class EnvironmentSource final : public CredentialsSource {
 public:
  explicit EnvironmentSource(Environment environment) : environment_(std::move(environment)) {}
  Result<std::optional<Credentials>> Load() override {
    return MakeCredentials(
        environment_.variable("AWS_ACCESS_KEY_ID"), environment_.variable("AWS_SECRET_ACCESS_KEY"),
        environment_.variable("AWS_SESSION_TOKEN"), "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY");
  }
  std::string Description() const override {
    return "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  }

 private:
  Environment environment_;
};

class ProfileSource final : public CredentialsSource {
 public:
  ProfileSource(std::string setting, Environment environment)
      : setting_(std::move(setting)), environment_(std::move(environment)) {}

  Result<std::optional<Credentials>> Load() override {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Profile profile, LoadProfile(setting_, environment_));
    description_ =
        fmt::format("profile '{}' in {}", profile.name, fmt::join(profile.files, " and "));
    // Such a profile means an identity that its static keys, if any, are not.
    for (const char* property : {"role_arn", "web_identity_token_file", "credential_process",
                                 "sso_session", "sso_start_url", "login_session"}) {
      if (profile.Find(property)) {
        return Fail(
            ErrorCode::kUnsupported,
            fmt::format("profile '{}' gets its credentials by {}, which is not supported; use "
                        "a profile with keys, or the variables AWS_ACCESS_KEY_ID and "
                        "AWS_SECRET_ACCESS_KEY",
                        profile.name, property));
      }
    }
    return MakeCredentials(profile.Find("aws_access_key_id"), profile.Find("aws_secret_access_key"),
                           profile.Find("aws_session_token"), description_);
  }
  std::string Description() const override { return description_; }

 private:
  std::string setting_;
  Environment environment_;
  std::string description_ = "the profile files";
};

}  // namespace

Result<std::optional<Credentials>> MakeCredentials(const std::optional<std::string>& access_key_id,
                                                   const std::optional<std::string>& secret,
                                                   const std::optional<std::string>& session_token,
                                                   std::string_view source) {
  Credentials credentials{Trim(access_key_id), Secret(Trim(secret)), Secret(Trim(session_token))};
  if (credentials.access_key_id.empty() && credentials.secret_access_key.empty()) {
    return std::nullopt;
  }
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("credentials from {}: the {} is missing", source,
                    credentials.access_key_id.empty() ? "access key id" : "secret access key"));
  }
  if (!IsHeaderText(credentials.access_key_id) ||
      !IsHeaderText(credentials.session_token.Reveal())) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("credentials from {}: the access key id or the session token holds "
                            "blanks or characters that no key has",
                            source));
  }
  return credentials;
}

CredentialsChain::CredentialsChain(std::vector<std::unique_ptr<CredentialsSource>> sources)
    : sources_(std::move(sources)) {}

Result<Credentials> CredentialsChain::Get() {
  const std::lock_guard lock(mutex_);
  if (current_) return *current_;
  return Load();
}

Result<Credentials> CredentialsChain::Refresh(const Credentials& used) {
  const std::lock_guard lock(mutex_);
  if (current_ && *current_ != used) return *current_;
  return Load();
}

Result<Credentials> CredentialsChain::Load() {
  current_.reset();
  std::vector<std::string> looked;
  for (const auto& source : sources_) {
    AIRFREIGHT_ASSIGN_OR_RETURN(current_, source->Load());
    if (current_) return *current_;
    looked.push_back(source->Description());
  }
  return Fail(ErrorCode::kDenied,
              fmt::format("no credentials for S3. Looked at {}. Set one of these; instance and "
                          "container roles and web identity are not read yet",
                          fmt::join(looked, "; ")));
}

std::unique_ptr<CredentialsChain> DefaultCredentials(std::optional<Credentials> settings,
                                                     std::string profile_setting,
                                                     const Environment& environment) {
  const bool profile_first = !profile_setting.empty();
  std::vector<std::unique_ptr<CredentialsSource>> sources;
  sources.push_back(std::make_unique<SettingsSource>(std::move(settings)));
  auto profile = std::make_unique<ProfileSource>(std::move(profile_setting), environment);
  if (profile_first) {
    // Whoever names a profile means that one, not what happens to be in the environment.
    sources.push_back(std::move(profile));
  } else {
    sources.push_back(std::make_unique<EnvironmentSource>(environment));
    sources.push_back(std::move(profile));
  }
  return std::make_unique<CredentialsChain>(std::move(sources));
}

}  // namespace airfreight::s3
