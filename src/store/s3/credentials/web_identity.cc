#include "store/s3/credentials/web_identity.h"

#include <fmt/format.h>

#include <utility>

#include "store/checks.h"
#include "store/s3/profile.h"

namespace airfreight::s3 {

Result<LoadedCredentials> LoadByWebIdentity(const RoleRequest& role, const std::string& token_file,
                                            std::string_view file_place, const StsTarget& target,
                                            const CredentialsTools& tools, const Context& context) {
  const auto content = tools.environment.read_file(token_file);
  if (!content) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("the web identity token's file {}, named by {}, is not there or cannot "
                            "be read by this process",
                            Quoted(token_file), file_place));
  }
  const Secret token(TrimBlanks(*content));
  if (token.empty()) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("the web identity token's file {}, named by {}, is empty",
                            Quoted(token_file), file_place));
  }
  return AssumeRoleWithWebIdentity(
      role, token, fmt::format("the token in {} ({})", Quoted(token_file), file_place), target,
      tools, context);
}

Result<std::optional<LoadedCredentials>> WebIdentitySource::Load(const CredentialsTools& tools,
                                                                 const Context& context) {
  const Environment& environment = tools.environment;
  const auto token_file = environment.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!token_file) return std::nullopt;
  const auto role_arn = environment.variable("AWS_ROLE_ARN");
  if (!role_arn) {
    return Fail(ErrorCode::kInvalid,
                "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN, the role that the token is "
                "for, is not");
  }
  RoleRequest role;
  role.role_arn = *role_arn;
  role.session_name = environment.variable("AWS_ROLE_SESSION_NAME").value_or("");
  role.place = "AWS_ROLE_ARN";
  // Only for what it says of endpoint and region. One that is broken says nothing here.
  const Profile profile = LoadProfile("", environment).value_or(Profile{});
  AIRFREIGHT_ASSIGN_OR_RETURN(const StsTarget target,
                              ResolveSts(profile, region_setting_, environment));
  return LoadByWebIdentity(role, *token_file, "AWS_WEB_IDENTITY_TOKEN_FILE", target, tools,
                           context);
}

std::string WebIdentitySource::Description() const {
  return "AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN";
}

}  // namespace airfreight::s3
