// The input as each of the documents in which a bucket tells of itself. What is told is one line;
// days are no fewer than none; a narrower folder is under no fewer rules than the whole bucket.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/s3/bucket_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace airfreight::s3;  // NOLINT(google-build-using-namespace): one room, one file.
  const std::string_view text = airfreight::FuzzText(data, size);
  for (const auto& told :
       {DecodeVersioning(text), DecodeLogging(text), DecodePublicAccessBlock(text)}) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(told ? *told : told.error().message));
  }
  const auto whole = DecodeLifecycle(text, "");
  const auto folder = DecodeLifecycle(text, "xcom/");
  AIRFREIGHT_FUZZ_CHECK(whole.has_value() == folder.has_value());
  if (!whole) return 0;
  for (const auto days : {&LifecycleFacts::abort_uploads, &LifecycleFacts::old_versions,
                          &LifecycleFacts::everything}) {
    AIRFREIGHT_FUZZ_CHECK((*whole).*days >= 0 && (*folder).*days >= 0);
    AIRFREIGHT_FUZZ_CHECK((*whole).*days == 0 ||
                          ((*folder).*days > 0 && (*folder).*days <= (*whole).*days));
  }
  return 0;
}
