#include "store/s3/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/checks.h"
#include "store/cloud/transport_settings.h"
#include "store/s3/credentials.h"

namespace airfreight::s3 {
namespace {

constexpr char kDefaultRegion[] = "us-east-1";

// docs.aws.amazon.com/AmazonS3/latest/userguide/specifying-kms-encryption.html,
// docs.aws.amazon.com/AmazonS3/latest/userguide/UsingDSSEncryption.html
Status TakeEncryption(StoreSettings& settings, S3Options& options) {
  AIRFREIGHT_ASSIGN_OR_RETURN(
      options.sse,
      TakeChoice(settings, "s3", "sse", std::string(),
                 {{"AES256", "AES256"}, {"aws:kms", "aws:kms"}, {"aws:kms:dsse", "aws:kms:dsse"}}));
  options.sse_kms_key_id = TakeText(settings, "sse_kms_key_id");
  options.sse_kms_context = TakeText(settings, "sse_kms_context");
  AIRFREIGHT_ASSIGN_OR_RETURN(options.sse_bucket_key,
                              TakeBool(settings, "s3", "sse_bucket_key", false));
  const bool kms = options.sse.starts_with("aws:kms");
  if (!options.sse_kms_key_id.empty() && !kms) {
    return Fail(ErrorCode::kInvalid,
                "[airfreight] s3_sse_kms_key_id needs s3_sse = aws:kms beside it");
  }
  if (!options.sse_kms_context.empty()) {
    if (!kms) {
      return Fail(ErrorCode::kInvalid,
                  "[airfreight] s3_sse_kms_context needs s3_sse = aws:kms beside it");
    }
    // Without exceptions: what is no JSON comes out as "discarded".
    const auto context = nlohmann::json::parse(options.sse_kms_context, nullptr, false);
    if (!context.is_object() || !std::all_of(context.begin(), context.end(),
                                             [](const auto& value) { return value.is_string(); })) {
      return Fail(ErrorCode::kInvalid,
                  "[airfreight] s3_sse_kms_context is no JSON object of texts; right is e.g. "
                  R"({"team": "sales"})");
    }
  }
  if (options.sse_bucket_key && options.sse != "aws:kms") {
    return Fail(ErrorCode::kInvalid,
                "[airfreight] s3_sse_bucket_key needs s3_sse = aws:kms beside it");
  }
  return {};
}

}  // namespace

Result<S3Options> ParseS3Options(const StoreSettings& settings) {
  StoreSettings rest = settings;
  S3Options options;
  options.endpoint_url = TakeText(rest, "endpoint_url");
  options.region = TakeText(rest, "region");
  options.profile = TakeText(rest, "profile");
  const auto access_key_id = TakeOptional(rest, "access_key_id");
  const auto secret_access_key = TakeOptional(rest, "secret_access_key");
  const auto session_token = TakeOptional(rest, "session_token");
  AIRFREIGHT_ASSIGN_OR_RETURN(options.credentials,
                              MakeCredentials(access_key_id, secret_access_key, session_token,
                                              "the Airflow connection of s3://conn_id@bucket"));
  AIRFREIGHT_ASSIGN_OR_RETURN(options.addressing_style,
                              TakeChoice(rest, "s3", "addressing_style", AddressingStyle::kAuto,
                                         {{"auto", AddressingStyle::kAuto},
                                          {"path", AddressingStyle::kPath},
                                          {"virtual", AddressingStyle::kVirtual}}));
  AIRFREIGHT_ASSIGN_OR_RETURN(options.payload_signing,
                              TakeChoice(rest, "s3", "payload_signing", PayloadSigning::kAuto,
                                         {{"auto", PayloadSigning::kAuto},
                                          {"always", PayloadSigning::kAlways},
                                          {"never", PayloadSigning::kNever}}));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      options.conditional_writes,
      TakeChoice(rest, "s3", "conditional_writes", true, {{"auto", true}, {"never", false}}));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      options.request_payer,
      TakeChoice(rest, "s3", "request_payer", false, {{"requester", true}, {"owner", false}}));
  AIRFREIGHT_ASSIGN_OR_RETURN(options.checksums,
                              TakeChoice(rest, "s3", "checksums", Checksums::kAuto,
                                         {{"auto", Checksums::kAuto},
                                          {"always", Checksums::kAlways},
                                          {"never", Checksums::kNever}}));
  AIRFREIGHT_ASSIGN_OR_RETURN(options.retention_tags,
                              TakeBool(rest, "s3", "retention_tags", false));
  AIRFREIGHT_RETURN_IF_ERROR(TakeEncryption(rest, options));

  AIRFREIGHT_ASSIGN_OR_RETURN(options.transport, TakeTransport(rest, "s3"));
  AIRFREIGHT_RETURN_IF_ERROR(RefuseUnknown(rest, "s3",
                                           {"endpoint_url",
                                            "region",
                                            "profile",
                                            "access_key_id",
                                            "secret_access_key",
                                            "session_token",
                                            "addressing_style",
                                            "payload_signing",
                                            "conditional_writes",
                                            "request_payer",
                                            "retention_tags",
                                            "checksums",
                                            "sse",
                                            "sse_kms_key_id",
                                            "sse_kms_context",
                                            "sse_bucket_key",
                                            "ca_bundle",
                                            "verify",
                                            "connect_timeout",
                                            "idle_timeout",
                                            "retry_timeout",
                                            "max_attempts"}));
  if (!options.endpoint_url.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(ParseEndpoint(options.endpoint_url, "[airfreight] s3_endpoint_url")
                                   .map([](const Endpoint&) {}));
  }
  if (!options.region.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(AwsEndpoint(options.region).map([](const Endpoint&) {}));
  }
  return options;
}

Result<Endpoint> ResolveEndpoint(const S3Options& options, const Profile& profile,
                                 const std::string& region, const Environment& environment) {
  if (!options.endpoint_url.empty()) {
    return ParseEndpoint(options.endpoint_url, "[airfreight] s3_endpoint_url");
  }
  if (environment.variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").value_or("") != "true") {
    for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
      if (const auto url = environment.variable(name)) return ParseEndpoint(*url, name);
    }
    if (profile.endpoint_url) {
      return ParseEndpoint(*profile.endpoint_url,
                           fmt::format("endpoint_url of profile '{}'", profile.name));
    }
  }
  return AwsEndpoint(region);
}

std::string ResolveRegion(const S3Options& options, const Profile& profile,
                          const Environment& environment) {
  if (!options.region.empty()) return options.region;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = environment.variable(name)) return *std::move(region);
  }
  return profile.Find("region").value_or(kDefaultRegion);
}

}  // namespace airfreight::s3
