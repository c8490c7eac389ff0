#include "store/s3/credentials/profile_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "store/checks.h"
#include "store/s3/credentials/container.h"
#include "store/s3/credentials/documents.h"
#include "store/s3/credentials/sts.h"
#include "store/s3/credentials/web_identity.h"

namespace airfreight::s3 {
namespace {

std::string Whose(const Profile& profile) {
  return fmt::format("profile {}", Quoted(profile.name));
}

bool HasKeys(const Profile& profile) {
  return profile.Find("aws_access_key_id") || profile.Find("aws_secret_access_key");
}

bool IsRole(const Profile& profile) {
  return profile.Find("role_arn") && !profile.Find("web_identity_token_file");
}

tl::unexpected<Error> Wrong(const Profile& profile, std::string_view what) {
  return Fail(ErrorCode::kInvalid, fmt::format("{}: {}", Whose(profile), what));
}

RoleRequest RoleOf(const Profile& profile) {
  RoleRequest role;
  role.role_arn = profile.Find("role_arn").value_or("");
  role.session_name = profile.Find("role_session_name").value_or("");
  role.external_id = profile.Find("external_id").value_or("");
  role.duration_seconds = profile.Find("duration_seconds").value_or("");
  role.place = Whose(profile);
  return role;
}

Result<std::optional<LoadedCredentials>> StaticKeys(const Profile& profile) {
  AIRFREIGHT_ASSIGN_OR_RETURN(
      std::optional<Credentials> keys,
      MakeCredentials(profile.Find("aws_access_key_id"), profile.Find("aws_secret_access_key"),
                      profile.Find("aws_session_token"),
                      fmt::format("{} in {}", Whose(profile), fmt::join(profile.files, " and "))));
  if (!keys) return std::nullopt;
  return LoadedCredentials{*std::move(keys), std::nullopt};
}

}  // namespace

/// What one Load goes by.
struct ProfileSource::Request {
  const CredentialsTools& tools;
  const Context& context;
  ProfileFiles files;
  std::set<std::string> visited;  // Names of profiles, against circles.
};

ProfileSource::ProfileSource(Kinds kinds, std::string profile_setting, std::string region_setting)
    : kinds_(kinds),
      profile_setting_(std::move(profile_setting)),
      region_setting_(std::move(region_setting)) {}

Result<std::optional<LoadedCredentials>> ProfileSource::Load(const CredentialsTools& tools,
                                                             const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Profile profile,
                              LoadProfile(profile_setting_, tools.environment));
  description_ = fmt::format("{} in {}", Whose(profile), fmt::join(profile.files, " and "));
  if (IsRole(profile) != (kinds_ == Kinds::kRoles)) return std::nullopt;
  Request request{tools, context, ReadProfileFiles(tools.environment), {profile.name}};
  return IsRole(profile) ? LoadRole(profile, request) : LoadOne(profile, request);
}

// A profile that is no role by way of another.
Result<std::optional<LoadedCredentials>> ProfileSource::LoadOne(const Profile& profile,
                                                                Request& request) {
  const CredentialsTools& tools = request.tools;
  if (const auto token_file = profile.Find("web_identity_token_file")) {
    if (!profile.Find("role_arn")) {
      return Wrong(profile, "web_identity_token_file needs role_arn beside it");
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const StsTarget target,
                                ResolveSts(profile, region_setting_, tools.environment));
    return LoadByWebIdentity(RoleOf(profile), *token_file,
                             fmt::format("web_identity_token_file of {}", Whose(profile)), target,
                             tools, request.context);
  }
  for (const char* kind : {"sso_session", "sso_start_url"}) {
    if (profile.Find(kind)) return ForeignCredentials(Whose(profile), kind);
  }
  if (profile.keys_in_credentials_file) return StaticKeys(profile);
  if (profile.Find("login_session")) return ForeignCredentials(Whose(profile), "login_session");
  if (const auto command = profile.Find("credential_process")) {
    return LoadProcess(profile, *command, request);
  }
  return StaticKeys(profile);
}

Result<std::optional<LoadedCredentials>> ProfileSource::LoadRole(const Profile& profile,
                                                                 Request& request) {
  const auto from_profile = profile.Find("source_profile");
  const auto from_source = profile.Find("credential_source");
  if (from_profile.has_value() == from_source.has_value()) {
    return Wrong(profile, from_profile ? "it has both source_profile and credential_source; one "
                                         "of them gives the keys that role_arn is asked for with"
                                       : "role_arn needs source_profile or credential_source "
                                         "beside it, for the keys that it is asked for with");
  }
  // Asks a person.
  if (profile.Find("mfa_serial")) return ForeignCredentials(Whose(profile), "mfa_serial");

  std::optional<LoadedCredentials> keys;
  std::string place;
  if (from_source) {
    AIRFREIGHT_ASSIGN_OR_RETURN(keys, LoadNamedSource(profile, *from_source, request));
    place = fmt::format("the keys of {}", *from_source);
  } else {
    const Profile source = SelectProfile(request.files, *from_profile);
    if (!source.found) {
      return Wrong(profile, fmt::format("its source_profile {} is neither in {}",
                                        Quoted(source.name), fmt::join(source.files, " nor in ")));
    }
    const bool first_visit = request.visited.insert(source.name).second;
    // A profile may name itself, for the keys beside its role.
    const bool by_its_keys = source.name == profile.name && HasKeys(source);
    if (!first_visit && !by_its_keys) {
      return Wrong(profile, fmt::format("its source_profile {} leads back to where it began",
                                        Quoted(source.name)));
    }
    // botocore, _resolve_credentials_from_profile: keys of a source go before its role.
    if (HasKeys(source) || !IsRole(source)) {
      AIRFREIGHT_ASSIGN_OR_RETURN(keys, LoadOne(source, request));
    } else {
      AIRFREIGHT_ASSIGN_OR_RETURN(keys, LoadRole(source, request));
    }
    if (!keys) return Wrong(source, "it is a source_profile, but has no credentials");
    place = fmt::format("the keys of {}", Whose(source));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const StsTarget target,
                              ResolveSts(profile, region_setting_, request.tools.environment));
  return AssumeRole(RoleOf(profile), keys->keys, place, target, request.tools, request.context);
}

Result<LoadedCredentials> ProfileSource::LoadNamedSource(const Profile& profile,
                                                         const std::string& name,
                                                         Request& request) {
  std::unique_ptr<CredentialsSource> source;
  if (name == "Environment") {
    source = std::make_unique<EnvironmentSource>();
  } else if (name == "EcsContainer") {
    source = std::make_unique<ContainerSource>();
  } else if (name == "Ec2InstanceMetadata") {
    source = std::make_unique<InstanceSource>(profile.name, /*required=*/true);
  } else {
    return Wrong(profile, fmt::format("its credential_source is {}; right is one of Environment, "
                                      "Ec2InstanceMetadata, EcsContainer",
                                      Quoted(name)));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(std::optional<LoadedCredentials> loaded,
                              source->Load(request.tools, request.context));
  if (!loaded) {
    return Fail(ErrorCode::kDenied,
                fmt::format("{}: its credential_source {} has no credentials. Looked at {}",
                            Whose(profile), name, source->Description()));
  }
  return *std::move(loaded);
}

Result<LoadedCredentials> ProfileSource::LoadProcess(const Profile& profile,
                                                     const std::string& command, Request& request) {
  const std::string source = fmt::format("credential_process of {}", Whose(profile));
  const auto located = [&](Error error) {
    error.message = fmt::format("{}: {}", source, error.message);
    return error;
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(const auto arguments, SplitCommand(command).map_error(located));
  AIRFREIGHT_ASSIGN_OR_RETURN(const ProcessResult result,
                              request.tools.run(arguments, request.context).map_error(located));
  if (result.exit_status != 0) {
    // What it has to say is on standard error, and may hold a secret.
    return Fail(ErrorCode::kDenied,
                fmt::format("{}: {} ended with status {}; see its own output on standard error",
                            source, Quoted(arguments[0]), result.exit_status));
  }
  return ParseProcessCredentials(result.output, source);
}

Result<std::optional<LoadedCredentials>> EnvironmentSource::Load(const CredentialsTools& tools,
                                                                 const Context& /*context*/) {
  const Environment& environment = tools.environment;
  AIRFREIGHT_ASSIGN_OR_RETURN(std::optional<Credentials> keys,
                              MakeCredentials(environment.variable("AWS_ACCESS_KEY_ID"),
                                              environment.variable("AWS_SECRET_ACCESS_KEY"),
                                              environment.variable("AWS_SESSION_TOKEN"),
                                              "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"));
  if (!keys) return std::nullopt;
  return LoadedCredentials{*std::move(keys), std::nullopt};
}

std::string EnvironmentSource::Description() const {
  return "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
}

}  // namespace airfreight::s3
