// The input as each answer of Google Cloud Storage and as each document of credentials. What is
// read can be sent on; an error is one line and bounded, and of credentials it shows nothing.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/cloud/secret.h"
#include "store/gcs/credentials/documents.h"
#include "store/gcs/decoder.h"
#include "store/gcs/request_builder.h"
#include "store/gcs/versions.h"

namespace {

using namespace airfreight;       // NOLINT(google-build-using-namespace): one room, one file.
using namespace airfreight::gcs;  // NOLINT(google-build-using-namespace)

constexpr size_t kMaxMessage = 4096;
// Long enough that it is in no message of ours by accident.
constexpr char kSecret[] = "SeCrEtSeCrEt";
constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z

void CheckError(const Error& error) {
  AIRFREIGHT_FUZZ_CHECK(!error.message.empty() && error.message.size() <= kMaxMessage);
  AIRFREIGHT_FUZZ_CHECK(IsOneLine(error.ToString()));
}

void CheckInfo(const ObjectInfo& info) {
  // It becomes a parameter and a header.
  AIRFREIGHT_FUZZ_CHECK(!info.version.empty() && IsHeaderText(info.version));
  AIRFREIGHT_FUZZ_CHECK(info.version.find_first_not_of("0123456789") == std::string::npos);
}

void ReadAsError(std::string_view text) {
  for (const int status : {307, 400, 403, 404, 412, 429, 503}) {
    for (const Operation operation : {Operation::kGet, Operation::kPut, Operation::kCompose}) {
      Headers headers;
      headers.Set("retry-after", text.substr(0, 64));
      headers.Set("x-guploader-uploadid", text.substr(0, 200));
      const Error error =
          DecodeError({operation, text.size() % 2 == 0, "bucket", status, &headers, text}, kNow);
      CheckError(error);
      AIRFREIGHT_FUZZ_CHECK(error.retry_after_seconds >= 0 && error.retry_after_seconds <= 300);
      AIRFREIGHT_FUZZ_CHECK(error.service_code.size() <= 64 && error.request_id.size() <= 128);
    }
  }
}

void ReadAsHead(std::string_view text) {
  HttpResponse response;
  response.status = text.size() % 2 == 0 ? 200 : 206;
  const size_t half = text.size() / 2;
  response.headers.Set("content-range", text.substr(0, half));
  response.headers.Set("x-goog-generation", text.substr(half));
  response.headers.Set("x-goog-hash", text);
  response.headers.Set("last-modified", text);
  if (const auto info = DecodeInfo("k", response)) CheckInfo(*info);
  if (const auto crc32c = DecodeChecksum(response.headers)) {
    AIRFREIGHT_FUZZ_CHECK(text.find(Crc32cText(*crc32c)) != std::string_view::npos);
  }
}

void ReadAsCredentials(std::string_view text) {
  const auto key = ParseKeyDocument(text, "the file");
  if (!key) {
    CheckError(key.error());
    AIRFREIGHT_FUZZ_CHECK(key.error().ToString().find(kSecret) == std::string::npos);
  } else if (key->kind == KeyDocument::Kind::kServiceAccount) {
    const auto token = SignToken(*key, "scope", kNow, "the file");
    if (token) AIRFREIGHT_FUZZ_CHECK(IsHeaderText(token->keys.Reveal()));
    if (!token) CheckError(token.error());
  } else {
    AIRFREIGHT_FUZZ_CHECK(IsHeaderText(RefreshForm(*key).Reveal()));
  }
  const auto token = ParseTokenAnswer(text, kNow, "server");
  if (token) {
    AIRFREIGHT_FUZZ_CHECK(!token->keys.empty() && IsHeaderText(token->keys.Reveal()));
    AIRFREIGHT_FUZZ_CHECK(!token->expires_unix || *token->expires_unix >= kNow);
  } else {
    CheckError(token.error());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  if (const auto found = DecodeResource("k", text)) {
    CheckInfo(found->info);
    AIRFREIGHT_FUZZ_CHECK(found->info.key == "k");
  } else {
    CheckError(found.error());
  }
  if (const auto page = DecodeList(text, "x/")) {
    for (const ObjectInfo& object : page->objects) {
      CheckInfo(object);
      AIRFREIGHT_FUZZ_CHECK(!object.key.starts_with(kPartsFolder));
    }
  } else {
    CheckError(page.error());
  }
  if (const auto page = DecodeVersions(text, "x/")) {
    for (const VersionInfo& version : page->versions) {
      CheckInfo(version.object);
      AIRFREIGHT_FUZZ_CHECK(version.id == version.object.version);
    }
  }
  if (const auto page = DecodeParts(text, "x/")) {
    for (const PartVersion& part : page->parts) {
      AIRFREIGHT_FUZZ_CHECK(IsUploadId(part.upload) && part.name.starts_with("x/~parts/"));
    }
  }
  ReadAsError(text);
  ReadAsHead(text);
  ReadAsCredentials(text);
  return 0;
}
