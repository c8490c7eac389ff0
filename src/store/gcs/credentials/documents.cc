#include "store/gcs/credentials/documents.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "airfreight/bytes.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/percent.h"
#include "store/checks.h"
#include "store/cloud/endpoint.h"

namespace airfreight::gcs {
namespace {

using nlohmann::json;

// The longest that Google takes (google.aip.dev/auth/4111).
constexpr int64_t kTokenSeconds = 3600;
constexpr char kTokenUri[] = "https://oauth2.googleapis.com/token";

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

std::string Text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

tl::unexpected<Error> Wrong(std::string_view source, std::string_view what) {
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} {}; right is the JSON file of a service account's key, as Google "
                          "Cloud's console gives it, or that of `gcloud auth application-default "
                          "login`",
                          source, what));
}

// As Google names its kinds; anything else may be a secret that went into the wrong field.
std::string KindOf(const std::string& type) {
  constexpr size_t kMaxKind = 64;
  const bool plain = type.size() <= kMaxKind && std::all_of(type.begin(), type.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || c == '_';
                     });
  return plain ? fmt::format("type '{}'", type) : "an unknown type";
}

std::string Segment(std::string_view text) { return Base64UrlEncode(AsBytes(text)); }

Result<std::string> SignRs256(std::string_view text, const Secret& pem, std::string_view source) {
  const std::unique_ptr<BIO, FreeWith<BIO_free>> bio(
      BIO_new_mem_buf(pem.Reveal().data(), static_cast<int>(pem.Reveal().size())));
  // Without a password to ask for: OpenSSL would ask at the terminal.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  const std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) {
    return Wrong(source, "has a private_key that is no RSA key in PEM form");
  }
  const std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  size_t size = 0;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return Fail(ErrorCode::kInternal, "OpenSSL does not sign with RSA");
  }
  std::vector<std::byte> signature(size);
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) != 1) {
    return Fail(ErrorCode::kInternal, "OpenSSL does not sign with this RSA key");
  }
  signature.resize(size);
  return Base64UrlEncode(signature);
}

}  // namespace

Result<KeyDocument> ParseKeyDocument(std::string_view text, std::string_view source) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return Wrong(source, "is no JSON object");
  KeyDocument key;
  const std::string type = Text(document, "type");
  if (type == "service_account") {
    key.kind = KeyDocument::Kind::kServiceAccount;
    key.client_email = Text(document, "client_email");
    key.private_key_id = Text(document, "private_key_id");
    std::string pem = Text(document, "private_key");
    // As it comes out of variables and forms, where a line's end was written as two letters.
    for (size_t at = 0; (at = pem.find("\\n", at)) != std::string::npos;) pem.replace(at, 2, "\n");
    key.private_key = Secret(std::move(pem));
    if (key.client_email.empty()) return Wrong(source, "has no client_email");
    if (key.private_key.empty()) return Wrong(source, "has no private_key");
    return key;
  }
  if (type == "authorized_user") {
    key.kind = KeyDocument::Kind::kAuthorizedUser;
    key.client_id = Text(document, "client_id");
    key.client_secret = Secret(Text(document, "client_secret"));
    key.refresh_token = Secret(Text(document, "refresh_token"));
    key.token_uri = Text(document, "token_uri");
    if (key.token_uri.empty()) key.token_uri = kTokenUri;
    if (key.client_id.empty()) return Wrong(source, "has no client_id");
    if (key.refresh_token.empty()) return Wrong(source, "has no refresh_token");
    const auto endpoint = ParseEndpoint(key.token_uri, fmt::format("token_uri of {}", source),
                                        {kTokenUri, "the document itself"});
    if (!endpoint) return Fail(endpoint.error());
    if (!endpoint->tls && !IsLoopback(*endpoint)) {
      return Wrong(source, "has a token_uri of plain http, where no secret may go");
    }
    return key;
  }
  if (type.empty()) return Wrong(source, "does not say its type");
  Error error;
  error.code = ErrorCode::kUnsupported;
  error.service_code = kForeignCredentials;
  error.message = fmt::format(
      "{} is of {}, which only Google's own library understands: install google-auth in this "
      "environment",
      source, KindOf(type));
  return Fail(std::move(error));
}

Result<LoadedToken> SignToken(const KeyDocument& key, std::string_view scope, int64_t now,
                              std::string_view source) {
  std::string head = R"({"alg":"RS256","typ":"JWT")";
  if (!key.private_key_id.empty()) {
    head += ",\"kid\":";
    AppendJsonString(key.private_key_id, &head);
  }
  head += '}';
  std::string claims = "{\"iss\":";
  AppendJsonString(key.client_email, &claims);
  claims += ",\"sub\":";
  AppendJsonString(key.client_email, &claims);
  claims += ",\"scope\":";
  AppendJsonString(scope, &claims);
  claims += fmt::format(",\"iat\":{},\"exp\":{}}}", now, now + kTokenSeconds);
  const std::string text = Segment(head) + "." + Segment(claims);
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::string signature,
                              SignRs256(text, key.private_key, source));
  return LoadedToken{Secret(text + "." + signature), now + kTokenSeconds};
}

Secret RefreshForm(const KeyDocument& key) {
  return Secret(
      fmt::format("grant_type=refresh_token&client_id={}&client_secret={}&refresh_token={}",
                  PercentEncode(key.client_id, kUriUnreserved),
                  PercentEncode(key.client_secret.Reveal(), kUriUnreserved),
                  PercentEncode(key.refresh_token.Reveal(), kUriUnreserved)));
}

Result<LoadedToken> ParseTokenAnswer(std::string_view text, int64_t now, std::string_view source) {
  const json document = json::parse(text, nullptr, false);
  Secret token;
  if (document.is_object()) token = Secret(Text(document, "access_token"));
  if (token.empty() || !IsHeaderText(token.Reveal())) {
    Error error;
    error.code = ErrorCode::kUnavailable;
    error.retryable = true;
    error.message = fmt::format("{} answered without a token", source);
    return Fail(std::move(error));
  }
  LoadedToken loaded{std::move(token), std::nullopt};
  const auto expires = document.find("expires_in");
  if (expires != document.end() && expires->is_number_integer()) {
    // Of what a clock can say: a year is more than any token has.
    constexpr int64_t kYear = int64_t{366} * 24 * 3600;
    loaded.expires_unix = now + std::clamp<int64_t>(expires->get<int64_t>(), 0, kYear);
  }
  return loaded;
}

}  // namespace airfreight::gcs
