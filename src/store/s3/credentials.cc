#include "store/s3/credentials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "store/cloud/transport_settings.h"
#include "store/s3/credentials/container.h"
#include "store/s3/credentials/imds.h"
#include "store/s3/credentials/profile_source.h"
#include "store/s3/credentials/web_identity.h"

namespace airfreight::s3 {
namespace {

class SettingsSource final : public CredentialsSource {
 public:
  explicit SettingsSource(std::optional<Credentials> keys) : keys_(std::move(keys)) {}
  Result<std::optional<LoadedCredentials>> Load(const CredentialsTools& /*tools*/,
                                                const Context& /*context*/) override {
    if (!keys_) return std::nullopt;
    return LoadedCredentials{*keys_, std::nullopt};
  }
  std::string Description() const override {
    return "an Airflow connection named by the store (s3://conn_id@bucket/prefix)";
  }

 private:
  std::optional<Credentials> keys_;
};

}  // namespace

CredentialsAccess CredentialsAccess::Of(HttpTransport& network, Environment environment,
                                        std::function<int64_t()> now) {
  CredentialsAccess access;
  access.network = &network;
  access.local = MakeLocalTransport(environment);
  access.environment = std::move(environment);
  access.now = std::move(now);
  return access;
}

CredentialsChain::CredentialsChain(CredentialsAccess access,
                                   std::vector<std::unique_ptr<CredentialsSource>> sources)
    : access_(std::move(access)),
      sources_(std::move(sources)),
      keys_([this](const Context& context) { return Load(context); }, access_.now) {}

Result<LoadedCredentials> CredentialsChain::Load(const Context& context) {
  const CredentialsTools tools{*access_.network, *access_.local, access_.environment, access_.now,
                               access_.run};
  if (active_ != nullptr) {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto again, active_->Load(tools, context));
    if (again) return *std::move(again);
    active_ = nullptr;
  }
  std::vector<std::string> looked;
  for (const auto& source : sources_) {
    AIRFREIGHT_ASSIGN_OR_RETURN(auto loaded, source->Load(tools, context));
    if (loaded) {
      active_ = source.get();
      return *std::move(loaded);
    }
    std::string place = source->Description();
    // A profile is looked at twice.
    if (std::find(looked.begin(), looked.end(), place) == looked.end()) {
      looked.push_back(std::move(place));
    }
  }
  return Fail(ErrorCode::kDenied, fmt::format("no credentials for S3. Looked at {}. Set one of "
                                              "these, or give this machine or pod a role",
                                              fmt::join(looked, "; ")));
}

std::unique_ptr<CredentialsChain> DefaultCredentials(CredentialsSettings settings,
                                                     CredentialsAccess access) {
  using Kinds = ProfileSource::Kinds;
  const std::string& profile = settings.profile;
  std::vector<std::unique_ptr<CredentialsSource>> sources;
  sources.push_back(std::make_unique<SettingsSource>(std::move(settings.keys)));
  // Whoever names a profile means that one, not what happens to be in the environment.
  const bool named = !profile.empty();
  if (!named) sources.push_back(std::make_unique<EnvironmentSource>());
  sources.push_back(std::make_unique<ProfileSource>(Kinds::kRoles, profile, settings.region));
  if (!named) sources.push_back(std::make_unique<WebIdentitySource>(settings.region));
  sources.push_back(std::make_unique<ProfileSource>(Kinds::kOthers, profile, settings.region));
  sources.push_back(std::make_unique<ContainerSource>());
  sources.push_back(std::make_unique<InstanceSource>(profile));
  return std::make_unique<CredentialsChain>(std::move(access), std::move(sources));
}

}  // namespace airfreight::s3
