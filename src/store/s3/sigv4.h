#pragma once

/// \file
/// \brief AWS Signature Version 4 with the rules of S3, as pure functions. Specification:
/// docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "airfreight/store.h"
#include "base/digest.h"
#include "http/headers.h"
#include "store/cloud/secret.h"

namespace airfreight::s3 {

struct Credentials {
  std::string access_key_id;
  Secret secret_access_key;
  Secret session_token;  ///< Empty with long-term keys.

  bool operator==(const Credentials&) const = default;
};

/// Parameters of a query, names and values not encoded.
using Query = std::vector<std::pair<std::string, std::string>>;

/// What stands in `x-amz-content-sha256` where the body is not part of the signature: over TLS,
/// which protects it already (same page, "Unsigned payload option").
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
/// SHA-256 of no bytes.
inline constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What a signature covers.
struct SignedParts {
  std::string method;
  std::string
      canonical_uri;  ///< The path exactly as it is sent: encoded once, unlike other services.
  Query query;
  Headers headers;  ///< Those that are signed, `host` among them.
  std::string payload_hash;
};

/// Where and when a signature is valid.
struct SigningScope {
  int64_t unix_seconds = 0;
  std::string region;
  std::string service = "s3";
};

/// Lower-case hexadecimal SHA-256 of a body, made once for each body. Cancelled or Timeout where
/// `context`, which is looked at between pieces, says so.
Result<std::string> PayloadHash(const Body& body, const Context& context);

/// The query with names and values encoded, sorted: what is signed, and sent too.
std::string CanonicalQuery(const Query& query);
/// The names of the signed headers: lower case, sorted, joined by ";".
std::string SignedHeaderNames(const Headers& headers);
std::string CanonicalRequest(const SignedParts& parts);
std::string StringToSign(std::string_view canonical_request, const SigningScope& scope);

/// \brief The keys that signatures are made with: of one secret, day, region and service each.
///
/// Deriving one takes four of the five HMACs of a signature, so that the last one is kept.
/// Threads: safe. Fork: as ObjectStore.
class SigningKeys {
 public:
  Sha256Value Get(const Secret& secret_access_key, std::string_view day, std::string_view region,
                  std::string_view service);

 private:
  std::mutex mutex_;
  Secret secret_;
  std::string scope_;  ///< Empty before the first.
  Sha256Value key_{};
};

/// The value of `Authorization`.
std::string Authorization(const SignedParts& parts, const Credentials& credentials,
                          const SigningScope& scope, SigningKeys& keys);

}  // namespace airfreight::s3
