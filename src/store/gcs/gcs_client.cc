#include "store/gcs/gcs_client.h"

#include <utility>

#include "store/cloud/transport_settings.h"

namespace airfreight::gcs {
namespace {

// A description has below 4 KiB: at most 2,000 bytes of metadata, and a name of 1,024.
constexpr uint64_t kMaxResource = kMaxErrorDocument;

}  // namespace

GcsClient::GcsClient(StoreUri uri, GcsOptions options, std::unique_ptr<HttpTransport> transport,
                     Environment environment, Clock clock)
    : uri_(std::move(uri)),
      options_(std::move(options)),
      transport_(std::move(transport)),
      environment_(std::move(environment)),
      clock_(std::move(clock)) {}

Result<Target> GcsClient::CurrentTarget() {
  const std::lock_guard lock(mutex_);
  if (target_) return *target_;
  AIRFREIGHT_ASSIGN_OR_RETURN(Target target, ResolveTarget(options_, environment_));
  tokens_ = std::make_unique<TokenSource>(
      options_, target.emulator,
      CredentialsTools{transport_.get(), MakeLocalTransport(environment_), environment_, clock_});
  target_ = std::move(target);
  return *target_;
}

Result<bool> GcsClient::IsGoogle() {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Target target, CurrentTarget());
  return !target.foreign;
}

Result<HttpResponse> GcsClient::Execute(const GcsRequest& request, const Context& context,
                                        ResponseSink* sink) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const Target target, CurrentTarget());
  AIRFREIGHT_ASSIGN_OR_RETURN(Secret token, tokens_->Get(context));
  for (bool refreshed = false;; refreshed = true) {
    AIRFREIGHT_ASSIGN_OR_RETURN(
        HttpResponse response,
        transport_->Perform(Address(request, target.endpoint, token.Reveal()), context, sink));
    if (response.status >= 200 && response.status < 300) return response;
    if (response.status == 401 && !token.empty() && !refreshed) {
      auto fresh = tokens_->Refresh(token, context);
      // Nothing but the old one is to be had: the store's own answer says what is wrong.
      if (fresh && !(*fresh == token)) {
        token = *std::move(fresh);
        continue;
      }
    }
    return Fail(DecodeError({request.operation, request.conditional, uri_.bucket, response.status,
                             &response.headers, response.error_document},
                            clock_()));
  }
}

Result<ObjectResource> GcsClient::ExecuteForResource(const GcsRequest& request,
                                                     std::string_view key, const Context& context) {
  BufferSink answer(kMaxResource);
  AIRFREIGHT_RETURN_IF_ERROR(Execute(request, context, &answer).map([](const HttpResponse&) {}));
  return DecodeResource(key, AsText(answer.view()));
}

}  // namespace airfreight::gcs
