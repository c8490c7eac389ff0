#include "store/azure/azure_client.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/percent.h"
#include "store/cloud/endpoint.h"
#include "store/cloud/transport_settings.h"

namespace airfreight::azure {
namespace {

// Of one request. A server that wants more sends in a circle.
constexpr int kMaxCorrections = 2;

CredentialsAccess AccessOf(HttpTransport& network, const Environment& environment,
                           const AzureClient::Clock& clock) {
  CredentialsAccess access;
  access.network = &network;
  access.local = MakeLocalTransport(environment);
  access.environment = environment;
  access.now = clock;
  return access;
}

// What a server says may repeat what it was sent, and a signature is all that a thief needs.
Error WithoutSignature(Error error, const Credential& credential) {
  if (credential.kind != Credential::Kind::kSas) return error;
  constexpr std::string_view kName = "sig=";
  std::string_view token = credential.secret.Reveal();
  token.remove_prefix(std::min(token.find(kName), token.size() - kName.size()) + kName.size());
  const std::string_view encoded = token.substr(0, token.find('&'));
  const std::string decoded = PercentDecode(encoded).value_or("");
  for (const std::string_view text : {encoded, std::string_view(decoded)}) {
    if (!text.empty() && error.message.find(text) != std::string::npos) {
      error.message = "the store's words repeat the shared access signature and are not shown";
    }
  }
  return error;
}

}  // namespace

AzureClient::AzureClient(StoreUri uri, AzureOptions options,
                         std::unique_ptr<HttpTransport> transport, Environment environment,
                         Clock clock)
    : uri_(std::move(uri)),
      options_(std::move(options)),
      transport_(std::move(transport)),
      environment_(std::move(environment)),
      clock_(std::move(clock)),
      credentials_(DefaultCredentials(options_, AccessOf(*transport_, environment_, clock_))) {}

Result<AzureClient::Target> AzureClient::CurrentTarget() {
  const std::lock_guard lock(mutex_);
  if (!target_) {
    AIRFREIGHT_ASSIGN_OR_RETURN(Account account, ResolveAccount(options_, environment_));
    target_ = Target{std::move(account), 0};
  }
  return *target_;
}

Status AzureClient::CheckSafe(const Credential& credential, const Account& account) const {
  if (credential.kind == Credential::Kind::kSharedKey) {
    if (!account.name.empty()) return {};
    return Fail(ErrorCode::kInvalid,
                "the storage account's name does not follow from its URL, and its key is nothing "
                "without: set [airfreight] az_account or AZURE_STORAGE_ACCOUNT");
  }
  if (account.endpoint.tls || IsLoopback(account.endpoint)) return {};
  return Fail(ErrorCode::kInvalid,
              "tokens and shared access signatures go over https:// only: whoever reads one on the "
              "way can use it. Correct [airfreight] az_endpoint_url (or the connection's)");
}

Result<bool> AzureClient::Apply(const Correction& correction, const Credential& used,
                                const Context& context) {
  switch (correction.kind) {
    case Correction::Kind::kNone:
      break;
    case Correction::Kind::kClock: {
      const std::lock_guard lock(mutex_);
      target_->clock_offset = correction.server_time - clock_();
      break;
    }
    case Correction::Kind::kCredential: {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Credential fresh, credentials_->Refresh(used, context));
      // Nothing but the old one is to be had: the service's own answer says what to do.
      if (fresh == used) return false;
      break;
    }
  }
  return true;
}

Result<HttpResponse> AzureClient::Execute(const AzureRequest& request, const Context& context,
                                          ResponseSink* sink) {
  for (int corrections = 0;; ++corrections) {
    AIRFREIGHT_ASSIGN_OR_RETURN(const Target target, CurrentTarget());
    AIRFREIGHT_ASSIGN_OR_RETURN(const Credential credential, credentials_->Get(context));
    AIRFREIGHT_RETURN_IF_ERROR(CheckSafe(credential, target.account));
    const Signer signer{target.account, uri_.bucket, credential, clock_() + target.clock_offset};
    AIRFREIGHT_ASSIGN_OR_RETURN(const HttpRequest http, Sign(request, signer));
    AIRFREIGHT_ASSIGN_OR_RETURN(HttpResponse response, transport_->Perform(http, context, sink));
    if (response.status >= 200 && response.status < 300) return response;

    const FailedAnswer failed{request.operation, request.if_match, uri_.bucket, &response};
    const int64_t now = clock_();
    const Correction correction =
        DecodeCorrection(failed, credential.kind, now + target.clock_offset);
    bool again = correction.kind != Correction::Kind::kNone && corrections < kMaxCorrections;
    if (again) {
      // That no new token is to be had now says more than that the old one is refused.
      AIRFREIGHT_ASSIGN_OR_RETURN(again, Apply(correction, credential, context));
    }
    if (!again) return Fail(WithoutSignature(DecodeError(failed, now), credential));
  }
}

}  // namespace airfreight::azure
