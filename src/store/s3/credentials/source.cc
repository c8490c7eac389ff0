#include "store/s3/credentials/source.h"

#include <fmt/format.h>

#include <utility>

namespace airfreight::s3 {
namespace {

std::string Trimmed(const std::optional<std::string>& text) {
  return text ? TrimBlanks(*text) : std::string();
}

}  // namespace

tl::unexpected<Error> ForeignCredentials(std::string_view whose, std::string_view kind) {
  Error error;
  error.code = ErrorCode::kUnsupported;
  error.service_code = kForeignCredentials;
  error.message = fmt::format(
      "{} gets its credentials by {}, for which botocore is asked where it is installed: pip "
      "install botocore, or use keys, a role or web identity",
      whose, kind);
  return Fail(std::move(error));
}

Result<std::optional<Credentials>> MakeCredentials(const std::optional<std::string>& access_key_id,
                                                   const std::optional<std::string>& secret,
                                                   const std::optional<std::string>& session_token,
                                                   std::string_view source) {
  Credentials credentials{Trimmed(access_key_id), Secret(Trimmed(secret)),
                          Secret(Trimmed(session_token))};
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

}  // namespace airfreight::s3
