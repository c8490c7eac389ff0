// The input as the body of an answer that failed, as a page of a list, as a token, as a connection
// string, a signature and a service's URL. An error has a message of one line and holds no secret;
// the names of a page lie under the prefix that was asked for; what is read can go into requests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/azure/account.h"
#include "store/azure/credentials/credential.h"
#include "store/azure/decoder.h"
#include "store/azure/metadata.h"
#include "store/azure/versions.h"

namespace {

using airfreight::HttpResponse;
using airfreight::IsOneLine;
using namespace airfreight::azure;  // NOLINT(google-build-using-namespace): one room, one file.

constexpr int64_t kNow = 1767225600;
constexpr std::string_view kRoot = "xcom/";

HttpResponse Answer(std::string_view text) {
  // Headers and status come out of the same bytes, so that a document meets each of them.
  HttpResponse response;
  response.status = text.empty() ? 500 : 200 + static_cast<unsigned char>(text.back()) % 4 * 100;
  response.error_document = text;
  response.headers = {{"Retry-After", std::string(text.substr(0, 40))},
                      {"Date", std::string(text.substr(0, 40))},
                      {"x-ms-request-id", std::string(text.substr(0, 300))}};
  if (text.size() % 3 == 0) response.headers.Set("x-ms-error-code", text.substr(0, 80));
  return response;
}

void ReadAsError(std::string_view text) {
  const HttpResponse response = Answer(text);
  const FailedAnswer answer{text.size() % 2 == 0 ? Operation::kGet : Operation::kPutBlockList,
                            text.size() % 5 == 0, "box", &response};
  for (const airfreight::Error& error :
       {DecodeError(answer, kNow), DecodeTokenError(response, "Entra", {}, kNow)}) {
    AIRFREIGHT_FUZZ_CHECK(!error.message.empty() && IsOneLine(error.ToString()));
    AIRFREIGHT_FUZZ_CHECK(error.retry_after_seconds >= 0 && error.retry_after_seconds <= 300);
  }
  (void)DecodeCorrection(answer, Credential::Kind::kSharedKey, kNow);
}

void ReadAsList(std::string_view text) {
  const auto page = DecodeList(text, kRoot);
  const auto whole = DecodeList(text, "");
  if (!page) return;
  AIRFREIGHT_FUZZ_CHECK(whole && whole->objects.size() == page->objects.size());
  for (size_t i = 0; i < page->objects.size(); ++i) {
    AIRFREIGHT_FUZZ_CHECK(whole->objects[i].key == std::string(kRoot) + page->objects[i].key);
  }
}

// What is listed for an administrator can be asked for again.
void ReadAsVersions(std::string_view text) {
  if (const auto page = DecodeVersions(text, kRoot)) {
    for (const auto& version : page->versions) {
      AIRFREIGHT_FUZZ_CHECK(ParseVersionName(version.id));
    }
  }
  if (const auto page = DecodeUploads(text, kRoot)) {
    for (const auto& upload : page->uploads) AIRFREIGHT_FUZZ_CHECK(upload.id == kBlocksId);
  }
  if (const auto name = ParseVersionName(text)) {
    AIRFREIGHT_FUZZ_CHECK(PrintVersionName(*name) == text);
  }
}

void ReadAsSecrets(std::string_view text) {
  if (const auto token = ParseToken(text, "Entra", kNow)) {
    AIRFREIGHT_FUZZ_CHECK(!token->keys.secret.empty());
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsHeaderText(token->keys.secret.Reveal()));
  }
  if (const auto parsed = ParseConnectionString(text, "X")) {
    AIRFREIGHT_FUZZ_CHECK(parsed->account_key.empty() != parsed->sas_token.empty());
    AIRFREIGHT_FUZZ_CHECK(!parsed->account.endpoint.host.empty());
  } else {
    AIRFREIGHT_FUZZ_CHECK(IsOneLine(parsed.error().message));
  }
  if (const auto sas = ParseSasToken(text)) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsHeaderText(sas->Reveal()));
    AIRFREIGHT_FUZZ_CHECK(sas->Reveal().find('?') == std::string_view::npos ||
                          sas->Reveal().find("sig=") != std::string_view::npos);
  }
  if (const auto account = ParseServiceUrl(text, "", "X")) {
    AIRFREIGHT_FUZZ_CHECK(account->name.empty() || CheckAccountName(account->name, "X"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  ReadAsError(text);
  ReadAsList(text);
  ReadAsVersions(text);
  ReadAsSecrets(text);
  const std::string value(text);
  AIRFREIGHT_FUZZ_CHECK(DecodeMetadataValue(EncodeMetadataValue(value)) == value);
  return 0;
}
