#include "store/s3/s3_client.h"

#include <utility>

#include "store/s3/sigv4.h"

namespace airfreight::s3 {
namespace {

// Of one request. A server that wants more sends in a circle.
constexpr int kMaxCorrections = 3;

}  // namespace

S3Client::S3Client(StoreUri uri, S3Options options, std::unique_ptr<HttpTransport> transport,
                   Environment environment, Clock clock)
    : uri_(std::move(uri)),
      options_(std::move(options)),
      transport_(std::move(transport)),
      environment_(std::move(environment)),
      clock_(std::move(clock)),
      credentials_(DefaultCredentials({options_.credentials, options_.profile, options_.region},
                                      CredentialsAccess::Of(*transport_, environment_, clock_))) {}

Result<S3Client::Target> S3Client::CurrentTarget() {
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

Result<bool> S3Client::Apply(const Correction& correction, const Credentials& used,
                             const Context& context) {
  switch (correction.kind) {
    case Correction::Kind::kNone:
    case Correction::Kind::kChecksums:
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
      if (fresh == used) return false;
      break;
    }
  }
  return true;
}

bool S3Client::UsesChecksums() const {
  return options_.checksums == Checksums::kAlways ||
         (options_.checksums == Checksums::kAuto && !checksums_refused_);
}

// What one answer only hints at (a balancer's bare 400 may be about anything) is believed when
// another request has met it too.
void S3Client::NoteRefusal(bool named) {
  if (named || ++guessed_refusals_ >= 2) checksums_refused_ = true;
}

Result<HttpResponse> S3Client::Execute(const S3Request& request, const Context& context,
                                       ResponseSink* sink, const BufferSink* document,
                                       std::atomic<bool>* own_checksums) {
  std::string payload_hash;  // Once, however often the request is sent.
  bool checksums = !request.checksum_headers.empty() &&
                   (own_checksums != nullptr ? own_checksums->load() : UsesChecksums());
  bool refused = false;  // The store may have refused the request for them,
  bool named = false;    // and said so.
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
    signer.checksums = checksums;
    if (!MayBeUnsigned(request.operation) || options_.payload_signing == PayloadSigning::kAlways ||
        (options_.payload_signing == PayloadSigning::kAuto && !target.endpoint.tls)) {
      if (payload_hash.empty()) {
        AIRFREIGHT_ASSIGN_OR_RETURN(payload_hash, PayloadHash(request.body, context));
      }
      signer.payload_hash = payload_hash;
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(HttpResponse response,
                                transport_->Perform(Sign(request, signer, keys_), context, sink));

    FailedAnswer failed{request.operation, request.conditional, uri_.bucket,
                        response.status,   &response.headers,   std::nullopt};
    if (response.status >= 200 && response.status < 300) {
      // A success may hold an error all the same (apache/arrow-rs-object-store#122).
      if (document != nullptr) failed.document = ParseErrorDocument(AsText(document->view()));
      if (!failed.document) {
        if (refused) {
          NoteRefusal(named);
          if (own_checksums != nullptr) *own_checksums = false;
        }
        return response;
      }
    } else {
      failed.document = ParseErrorDocument(response.error_document);
    }
    failed.if_match = request.headers.Find("If-Match").has_value();
    failed.checksums = checksums && options_.checksums == Checksums::kAuto;
    const int64_t now = clock_();
    const Correction correction =
        DecodeCorrection(failed, target.region, now + target.clock_offset);
    bool again = correction.kind != Correction::Kind::kNone && corrections < kMaxCorrections;
    if (again) {
      // That no new keys are to be had now says more than that the old ones are refused.
      AIRFREIGHT_ASSIGN_OR_RETURN(again, Apply(correction, credentials, context));
    }
    if (!again) return Fail(DecodeError(failed, now));
    if (correction.kind == Correction::Kind::kChecksums) {
      checksums = false;
      refused = true;
      named = correction.named;
    }
  }
}

}  // namespace airfreight::s3
