// The input as an error document, as the body of an answer that failed, as a page of a list and as
// the answers to an upload in parts. An error has a message of one line; the keys of a page lie
// under the prefix that was asked for; an upload's id and version can go into later requests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/marker.h"
#include "store/s3/decoder.h"
#include "store/s3/versions.h"

namespace {

using airfreight::Headers;
using namespace airfreight::s3;  // NOLINT(google-build-using-namespace): one room, one file.

constexpr int64_t kNow = 1767225600;
constexpr std::string_view kRoot = "xcom/";

void ReadAsError(std::string_view text) {
  FailedAnswer answer;
  answer.bucket = "bucket";
  // Headers and status come out of the same bytes, so that a document meets each of them.
  answer.status = text.empty() ? 500 : 200 + static_cast<unsigned char>(text.back()) % 4 * 100;
  answer.operation = text.size() % 2 == 0 ? Operation::kGet : Operation::kPut;
  const Headers headers{{"Retry-After", std::string(text.substr(0, 40))},
                        {"Date", std::string(text.substr(0, 40))},
                        {"x-amz-bucket-region", std::string(text.substr(0, 12))},
                        {"x-amz-request-id", std::string(text.substr(0, 300))}};
  answer.headers = &headers;
  answer.document = ParseErrorDocument(text);
  const airfreight::Error error = DecodeError(answer, kNow);
  AIRFREIGHT_FUZZ_CHECK(!error.message.empty());
  AIRFREIGHT_FUZZ_CHECK(error.retry_after_seconds >= 0 && error.retry_after_seconds <= 300);
  for (const char c : error.ToString()) {
    AIRFREIGHT_FUZZ_CHECK(static_cast<unsigned char>(c) >= 0x20);
  }
  const Correction correction = DecodeCorrection(answer, "us-east-1", kNow);
  // A region becomes part of a host name.
  AIRFREIGHT_FUZZ_CHECK(correction.kind != Correction::Kind::kRegion ||
                        AwsEndpoint(correction.region));
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

// What is listed for an administrator can be asked for again, and a page's token goes on.
void ReadAsVersions(std::string_view text) {
  const auto versions = DecodeVersions(text, kRoot);
  const auto uploads = DecodeUploads(text, kRoot);
  AIRFREIGHT_FUZZ_CHECK(!versions || !uploads);
  if (versions) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::ParseMarker(versions->next_token));
    for (const auto& version : versions->versions) {
      AIRFREIGHT_FUZZ_CHECK(!version.id.empty() && version.id.size() <= 2048);
    }
  }
  if (uploads) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::ParseMarker(uploads->next_token));
    for (const auto& upload : uploads->uploads) {
      AIRFREIGHT_FUZZ_CHECK(!upload.id.empty() && upload.id.size() <= 2048);
    }
  }
  if (const auto marker = airfreight::ParseMarker(text)) {
    const auto again = airfreight::ParseMarker(airfreight::PrintMarker(*marker));
    AIRFREIGHT_FUZZ_CHECK(again && *again == *marker);
  }
}

void ReadAsUpload(std::string_view text) {
  const auto id = DecodeCreateUpload(text);
  if (id) {
    AIRFREIGHT_FUZZ_CHECK(!id->empty() && id->size() <= 64 * 1024);
  } else {
    AIRFREIGHT_FUZZ_CHECK(!id.error().retryable && airfreight::IsOneLine(id.error().message));
  }
  const auto version = DecodeCompleteUpload(text);
  if (version) {
    // It becomes the value of If-Match.
    AIRFREIGHT_FUZZ_CHECK(version->ends_with('"'));
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(*version));
  } else {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(version.error().message));
  }
  // One document is never both.
  AIRFREIGHT_FUZZ_CHECK(!id || !version);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  ReadAsError(text);
  ReadAsList(text);
  ReadAsUpload(text);
  ReadAsVersions(text);
  return 0;
}
