#include "store/s3/s3_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/time.h"
#include "http/curl_transport.h"
#include "store/checks.h"

namespace airfreight {
namespace s3 {
namespace {

// One of each kind of Correction.
constexpr int kMaxCorrections = 3;
// Room for an error document within a success. A success of PUT and DELETE has no body.
constexpr uint64_t kMaxWriteAnswer = kMaxErrorDocument;
// A page of 1,000 keys of 1,024 bytes, each byte encoded as three and with its other elements
// around it, has below 4 MiB; ten times that is no page.
constexpr uint64_t kMaxListAnswer = uint64_t{40} << 20;

/// Receives an object. The length of an answer to a range is checked before memory is taken.
class ObjectSink final : public ResponseSink {
 public:
  ObjectSink(const GetOptions& options, BufferSink& buffer) : options_(options), buffer_(buffer) {}

  Status Begin(const HttpResponse& head) override {
    const bool asked_for_range = options_.offset > 0 || options_.length;
    if (asked_for_range != (head.status == 206)) {
      return Fail(ErrorCode::kInternal,
                  fmt::format("the store answered a request {} range with status {}",
                              asked_for_range ? "for a" : "without a", head.status));
    }
    const std::string begin = fmt::format("bytes {}-", options_.offset);
    if (asked_for_range && !head.headers.Get("content-range").starts_with(begin)) {
      return Fail(ErrorCode::kInternal, "the store answered with another range than was asked for");
    }
    return buffer_.Begin(head);
  }
  Status Write(ByteView bytes) override { return buffer_.Write(bytes); }

 private:
  const GetOptions& options_;
  BufferSink& buffer_;
};

}  // namespace

S3Store::S3Store(StoreUri uri, S3Options options, std::unique_ptr<HttpTransport> transport,
                 Environment environment, Clock clock)
    : uri_(std::move(uri)),
      root_(uri_.Root()),
      options_(std::move(options)),
      transport_(std::move(transport)),
      environment_(std::move(environment)),
      clock_(std::move(clock)),
      credentials_(DefaultCredentials({options_.credentials, options_.profile, options_.region},
                                      CredentialsAccess::Of(*transport_, environment_, clock_))) {}

Capabilities S3Store::capabilities() const {
  Capabilities capabilities;
  capabilities.conditional_put = options_.conditional_writes;
  // AWS honours If-Match on DELETE, most others ignore it and remove.
  capabilities.conditional_remove = false;
  capabilities.max_put_bytes = kMaxPutBytes;
  return capabilities;
}

Result<S3Store::Target> S3Store::CurrentTarget() {
  const std::lock_guard lock(mutex_);
  if (target_) return *target_;
  // What the settings say is enough where they say both; else a broken file of profiles is in the
  // way.
  Profile profile;
  if (options_.endpoint_url.empty() || options_.region.empty()) {
    AIRFREIGHT_ASSIGN_OR_RETURN(profile, LoadProfile(options_.profile, environment_));
  }
  Target target;
  target.region = ResolveRegion(options_, profile, environment_);
  AIRFREIGHT_ASSIGN_OR_RETURN(const Endpoint of_region, AwsEndpoint(target.region));
  AIRFREIGHT_ASSIGN_OR_RETURN(target.endpoint,
                              ResolveEndpoint(options_, profile, target.region, environment_));
  target.own_endpoint = target.endpoint == of_region;
  target_ = std::move(target);
  return *target_;
}

Status S3Store::Apply(const Correction& correction, const Credentials& used,
                      const Context& context) {
  switch (correction.kind) {
    case Correction::Kind::kNone:
      break;
    case Correction::Kind::kRegion: {
      const std::lock_guard lock(mutex_);
      AIRFREIGHT_ASSIGN_OR_RETURN(Endpoint endpoint, AwsEndpoint(correction.region));
      if (target_->own_endpoint) target_->endpoint = std::move(endpoint);
      target_->region = correction.region;
      break;
    }
    case Correction::Kind::kClock: {
      const std::lock_guard lock(mutex_);
      target_->clock_offset = correction.server_time - clock_();
      break;
    }
    case Correction::Kind::kCredentials: {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Credentials fresh, credentials_->Refresh(used, context));
      // Nothing but the old ones is to be had: the store's own answer says what to do.
      if (fresh == used) return Fail(ErrorCode::kDenied, "");
      break;
    }
  }
  return {};
}

Result<HttpResponse> S3Store::Execute(const S3Request& request, const Context& context,
                                      ResponseSink* sink, const BufferSink* document) {
  std::string payload_hash;  // Once, however often the request is sent.
  for (int corrections = 0;; ++corrections) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Target target, CurrentTarget());
    AIRFREIGHT_ASSIGN_OR_RETURN(const Credentials credentials, credentials_->Get(context));
    Signer signer;
    signer.endpoint = target.endpoint;
    signer.addressing_style = options_.addressing_style;
    signer.bucket = uri_.bucket;
    signer.credentials = credentials;
    signer.scope.unix_seconds = clock_() + target.clock_offset;
    signer.scope.region = target.region;
    if (options_.payload_signing == PayloadSigning::kAlways ||
        (options_.payload_signing == PayloadSigning::kAuto && !target.endpoint.tls)) {
      if (payload_hash.empty()) {
        AIRFREIGHT_ASSIGN_OR_RETURN(payload_hash, PayloadHash(request.body, context));
      }
      signer.payload_hash = payload_hash;
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(HttpResponse response,
                                transport_->Perform(Sign(request, signer), context, sink));

    FailedAnswer failed{request.operation, request.conditional, uri_.bucket,
                        response.status,   &response.headers,   std::nullopt};
    if (response.status >= 200 && response.status < 300) {
      // A success may hold an error all the same (apache/arrow-rs-object-store#122).
      if (document != nullptr) failed.document = ParseErrorDocument(AsText(document->view()));
      if (!failed.document) return response;
    } else {
      failed.document = ParseErrorDocument(response.error_document);
    }
    const int64_t now = clock_();
    const Correction correction =
        DecodeCorrection(failed, target.region, now + target.clock_offset);
    if (correction.kind == Correction::Kind::kNone || corrections == kMaxCorrections ||
        !Apply(correction, credentials, context)) {
      return Fail(DecodeError(failed, now));
    }
  }
}

Result<ObjectInfo> S3Store::DoPut(std::string_view key, const Body& body, const PutOptions& options,
                                  const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
  AIRFREIGHT_RETURN_IF_ERROR(CheckPutOptions(options));
  if (body.size() > kMaxPutBytes) {
    return Fail(ErrorCode::kTooLarge,
                fmt::format("{} bytes; S3 takes at most {} (5 GiB) in one request", body.size(),
                            kMaxPutBytes));
  }
  BufferSink answer(kMaxWriteAnswer);
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const HttpResponse response,
      Execute(BuildPut(uri_.FullKey(key), body, options, options_), context, &answer, &answer));
  ObjectInfo info;
  info.key = key;
  info.size = body.size();
  info.version = response.headers.Get("etag");
  info.metadata = options.metadata;
  if (info.version.empty()) {
    return Fail(ErrorCode::kInternal, "the store confirmed a write without an ETag");
  }
  return info;
}

Result<GetResult> S3Store::DoGet(std::string_view key, const GetOptions& options,
                                 const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
  BufferSink buffer(UINT64_MAX, options.expected_size.value_or(0));
  ObjectSink sink(options, buffer);
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const HttpResponse response,
      Execute(BuildGet(uri_.FullKey(key), options, options_), context, &sink, nullptr));
  GetResult result;
  AIRFREIGHT_ASSIGN_OR_RETURN(result.info, DecodeInfo(key, response));
  result.body = std::move(buffer.buffer());
  if (response.status == 200 && !response.content_length) result.info.size = result.body.size();
  if (options.length == uint64_t{0}) result.body.Resize(0);
  // What the transport cannot know: that the range is as long as it had to be.
  AIRFREIGHT_ASSIGN_OR_RETURN(const Range range, ClipRange(options, result.info.size));
  if (result.body.size() != range.length) {
    Error error;
    error.code = ErrorCode::kUnavailable;
    error.message = fmt::format("the store sent {} bytes where {} were asked for",
                                result.body.size(), range.length);
    error.retryable = true;
    return Fail(std::move(error));
  }
  return result;
}

Result<ObjectInfo> S3Store::DoHead(std::string_view key, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const HttpResponse response,
      Execute(BuildHead(uri_.FullKey(key), options_), context, nullptr, nullptr));
  return DecodeInfo(key, response);
}

Status S3Store::DoRemove(std::string_view key, const Condition& condition, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckKey(key, uri_.prefix));
  BufferSink answer(kMaxWriteAnswer);
  const auto response =
      Execute(BuildRemove(uri_.FullKey(key), condition, options_), context, &answer, &answer);
  if (response || response.error().code == ErrorCode::kNotFound) return {};
  return Fail(response.error());
}

Result<ListPage> S3Store::DoList(std::string_view prefix, std::string_view token, int limit,
                                 const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckListLimit(limit));
  const std::string under = uri_.prefix.empty() ? std::string() : uri_.prefix + "/";
  BufferSink answer(kMaxListAnswer);
  AIRFREIGHT_RETURN_IF_ERROR(Execute(BuildList(under + std::string(prefix), token, limit, options_),
                                     context, &answer, &answer)
                                 .map([](const HttpResponse&) {}));
  return DecodeList(AsText(answer.view()), under);
}

Result<ObjectInfo> S3Store::Put(std::string_view key, const Body& body, const PutOptions& options,
                                const Context& context) {
  return DoPut(key, body, options, context).map_error([&](Error error) {
    return Located(std::move(error), root_, key);
  });
}

Result<GetResult> S3Store::Get(std::string_view key, const GetOptions& options,
                               const Context& context) {
  return DoGet(key, options, context).map_error([&](Error error) {
    return Located(std::move(error), root_, key);
  });
}

Result<ObjectInfo> S3Store::Head(std::string_view key, const Context& context) {
  return DoHead(key, context).map_error([&](Error error) {
    return Located(std::move(error), root_, key);
  });
}

Status S3Store::Remove(std::string_view key, const Condition& condition, const Context& context) {
  return DoRemove(key, condition, context).map_error([&](Error error) {
    return Located(std::move(error), root_, key);
  });
}

Result<ListPage> S3Store::List(std::string_view prefix, std::string_view token, int limit,
                               const Context& context) {
  return DoList(prefix, token, limit, context).map_error([&](Error error) {
    return Located(std::move(error), root_, {});
  });
}

}  // namespace s3

Result<std::shared_ptr<ObjectStore>> OpenS3Store(const StoreUri& uri,
                                                 const StoreSettings& settings) {
  AIRFREIGHT_ASSIGN_OR_RETURN(s3::S3Options options, s3::ParseS3Options(settings));
  auto transport = std::make_unique<CurlTransport>(options.transport);
  return std::make_shared<s3::S3Store>(uri, std::move(options), std::move(transport),
                                       Environment::OfProcess(), &UnixSecondsNow);
}

}  // namespace airfreight
