#pragma once

/// \file
/// \brief The settings of an S3 store, read and checked.

#include <optional>
#include <string>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/curl_transport.h"
#include "store/s3/endpoint.h"
#include "store/s3/profile.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// Whether the body is part of a request's signature.
enum class PayloadSigning {
  kAuto,    ///< Over plain HTTP, where nothing else protects it; not over TLS.
  kAlways,  ///< For servers that refuse unsigned bodies.
  kNever,   ///< Spares a pass over the bytes on a trusted network.
};

/// Whether uploads carry a CRC-32C that the store checks before it confirms them.
enum class Checksums {
  kAuto,    ///< Until the store refuses one (boto/boto3#4392), and then no more.
  kAlways,  ///< A refusal is an error.
  kNever,
};

/// What the settings say; empty where they say nothing and the environment is asked.
struct S3Options {
  std::string endpoint_url;
  std::string region;
  std::string profile;
  std::optional<Credentials> credentials;
  AddressingStyle addressing_style = AddressingStyle::kAuto;
  PayloadSigning payload_signing = PayloadSigning::kAuto;
  /// Whether If-None-Match and If-Match are sent. Off for servers that answer them with an error.
  bool conditional_writes = true;
  bool request_payer = false;
  bool retention_tags = false;  ///< PutOptions::retention_class becomes a tag of the object.
  Checksums checksums = Checksums::kAuto;
  /// "AES256", "aws:kms" or "aws:kms:dsse"; empty: as the bucket has it.
  std::string sse;
  std::string sse_kms_key_id;   ///< With a KMS; empty: the account's own key.
  std::string sse_kms_context;  ///< With a KMS: a JSON object of strings; empty: none.
  bool sse_bucket_key = false;  ///< With "aws:kms": ask for a bucket key.
  CurlTransportOptions transport;
};

/// Invalid when a setting is not known or its value is wrong: the message names it and shows a
/// right one.
Result<S3Options> ParseS3Options(const StoreSettings& settings);

/// The setting, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's, and where none is given AWS's
/// own for the region
/// (docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
Result<Endpoint> ResolveEndpoint(const S3Options& options, const Profile& profile,
                                 const std::string& region, const Environment& environment);

/// The setting, AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1: the one region that
/// tells, for any bucket, where that really lies.
std::string ResolveRegion(const S3Options& options, const Profile& profile,
                          const Environment& environment);

}  // namespace airfreight::s3
