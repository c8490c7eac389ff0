#pragma once

/// \file
/// \brief From an ObjectStore's verb to an HTTP request: what is asked, and then the same addressed
/// and signed. Pure functions; clock, keys and place come in as arguments.

#include <cstdint>
#include <string>
#include <string_view>

#include "airfreight/store.h"
#include "http/transport.h"
#include "store/s3/endpoint.h"
#include "store/s3/options.h"
#include "store/s3/sigv4.h"

namespace airfreight::s3 {

/// The largest object of a single PUT
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html).
inline constexpr uint64_t kMaxPutBytes = uint64_t{5} << 30;

enum class Operation { kPut, kGet, kHead, kRemove, kList };

/// What is asked, before it is known of whom.
struct S3Request {
  Operation operation = Operation::kGet;
  std::string key;  ///< Full key in the bucket, not encoded; empty: the bucket itself.
  Query query;
  Headers headers;
  Body body;
  bool conditional = false;  ///< Holds If-None-Match or If-Match.
};

S3Request BuildPut(std::string_view key, const Body& body, const PutOptions& put,
                   const S3Options& options);
S3Request BuildGet(std::string_view key, const GetOptions& get, const S3Options& options);
S3Request BuildHead(std::string_view key, const S3Options& options);
/// The condition is sent too, though servers that do not know it remove all the same: hence
/// Capabilities::conditional_remove is false.
S3Request BuildRemove(std::string_view key, const Condition& condition, const S3Options& options);
S3Request BuildList(std::string_view prefix, std::string_view token, int limit,
                    const S3Options& options);

/// Of whom, by whom and when.
struct Signer {
  Endpoint endpoint;
  AddressingStyle addressing_style = AddressingStyle::kAuto;
  std::string bucket;
  Credentials credentials;
  SigningScope scope;
  std::string payload_hash;  ///< Of the body, where that is part of the signature; else empty.
};

/// Signs `host` and `x-amz-*` only: whatever else a request carries may be changed on its way by
/// proxies and front ends (versity/versitygw#2045, rclone/rclone#6670).
HttpRequest Sign(const S3Request& request, const Signer& signer);

}  // namespace airfreight::s3
