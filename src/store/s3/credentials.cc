#include "store/s3/credentials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "http/curl_transport.h"
#include "store/checks.h"
#include "store/s3/credentials/container.h"
#include "store/s3/credentials/imds.h"
#include "store/s3/credentials/profile_source.h"
#include "store/s3/credentials/web_identity.h"

namespace airfreight::s3 {
namespace {

constexpr int64_t kMinute = 60;
constexpr int64_t kMaxAdvisory = 15 * kMinute;
constexpr int64_t kMaxMandatory = 5 * kMinute;
// After an advisory refresh that failed: often enough within its ten minutes, rare enough not to
// slow down every request while STS is away.
constexpr int64_t kNextAdvisory = kMinute;
// Context promises a look at cancellation every 200 ms.
constexpr std::chrono::milliseconds kPollInterval{100};

// What botocore waits for a connection (configprovider.py, metadata_service_timeout).
constexpr std::chrono::milliseconds kLocalConnect{1'000};
// For an answer it waits one to two seconds; an agent that has to ask STS first may take longer.
constexpr std::chrono::seconds kLocalIdle{5};

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

// A failure of the caller's making, which says nothing to others.
bool IsOwn(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kTimeout;
}

}  // namespace

RefreshWindow RefreshWindowOf(int64_t lifetime) {
  return {std::min(kMaxAdvisory, lifetime / 4), std::min(kMaxMandatory, lifetime / 12)};
}

CredentialsAccess CredentialsAccess::Of(HttpTransport& network, Environment environment,
                                        std::function<int64_t()> now) {
  CurlTransportOptions options;
  options.local_service = true;
  options.connect_timeout = kLocalConnect;
  options.idle_timeout = kLocalIdle;
  CredentialsAccess access;
  access.network = &network;
  access.local = std::make_unique<CurlTransport>(std::move(options), environment);
  access.environment = std::move(environment);
  access.now = std::move(now);
  return access;
}

CredentialsChain::CredentialsChain(CredentialsAccess access,
                                   std::vector<std::unique_ptr<CredentialsSource>> sources)
    : access_(std::move(access)), sources_(std::move(sources)) {}

Result<Credentials> CredentialsChain::Get(const Context& context) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (current_) {
      const int64_t now = access_.now();
      const bool must = current_->mandatory_at && now >= *current_->mandatory_at;
      const bool may = current_->advisory_at && now >= *current_->advisory_at;
      if (!must && (!may || loading_)) return current_->keys;
    }
    if (!loading_) return LoadAndPublish(lock, context);
    AIRFREIGHT_RETURN_IF_ERROR(AwaitLoad(lock, context));
  }
}

Result<Credentials> CredentialsChain::Refresh(const Credentials& used, const Context& context) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (current_ && current_->keys != used) return current_->keys;
    if (!loading_) {
      // Refused by the store: from now on no one goes on with them.
      current_.reset();
      return LoadAndPublish(lock, context);
    }
    const uint64_t before = generation_;
    AIRFREIGHT_RETURN_IF_ERROR(AwaitLoad(lock, context));
    // The same again: nothing else is to be had.
    if (generation_ != before && last_succeeded_ && current_) return current_->keys;
  }
}

Status CredentialsChain::AwaitLoad(std::unique_lock<std::mutex>& lock, const Context& context) {
  const uint64_t before = generation_;
  while (generation_ == before) {
    loaded_.wait_for(lock, kPollInterval);
    if (generation_ != before) break;
    // Asking whether the caller still wants it may take Python's lock, which who loads may hold.
    lock.unlock();
    const Status wanted = CheckContext(context);
    lock.lock();
    AIRFREIGHT_RETURN_IF_ERROR(wanted);
  }
  if (last_error_ && !IsOwn(*last_error_)) return Fail(*last_error_);
  return {};
}

Result<Credentials> CredentialsChain::LoadAndPublish(std::unique_lock<std::mutex>& lock,
                                                     const Context& context) {
  loading_ = true;
  lock.unlock();
  Result<LoadedCredentials> loaded = Load(context);
  lock.lock();
  loading_ = false;
  ++generation_;
  last_error_.reset();
  last_succeeded_ = loaded.has_value();
  if (loaded) {
    current_ = Keep(*std::move(loaded));
  } else if (current_ && (!current_->mandatory_at || access_.now() < *current_->mandatory_at)) {
    // There is time left to try again.
    current_->advisory_at = access_.now() + kNextAdvisory;
  } else {
    last_error_ = std::move(loaded).error();
  }
  loaded_.notify_all();
  if (last_error_) return Fail(*last_error_);
  return current_->keys;
}

CredentialsChain::Current CredentialsChain::Keep(LoadedCredentials loaded) const {
  Current current{std::move(loaded.keys), std::nullopt, std::nullopt};
  if (!loaded.expires_unix) return current;
  const int64_t now = access_.now();
  const int64_t lifetime = *loaded.expires_unix - now;
  if (lifetime <= 0) {
    // This machine's clock is off, or the service has no new ones for now and repeats the old (as
    // EC2's does in an outage). The store decides whether they are good; ask again in a while.
    current.advisory_at = now + kMaxMandatory;
    return current;
  }
  const RefreshWindow window = RefreshWindowOf(lifetime);
  current.advisory_at = *loaded.expires_unix - window.advisory;
  current.mandatory_at = *loaded.expires_unix - window.mandatory;
  return current;
}

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
