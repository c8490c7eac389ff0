// The input as each of the documents in which credentials arrive, and as STS's error. Keys that are
// read can be headers; an error is one line, holds none of what it was about, and is bounded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/s3/credentials/documents.h"
#include "store/s3/credentials/process.h"
#include "store/s3/credentials/sts.h"

namespace {

using namespace airfreight;      // NOLINT(google-build-using-namespace): one room, one file.
using namespace airfreight::s3;  // NOLINT(google-build-using-namespace)

constexpr size_t kMaxMessage = 4096;
// Long enough that it is in no message of ours by accident.
constexpr char kSecret[] = "SeCrEtSeCrEt";

void CheckError(const airfreight::Error& error) {
  AIRFREIGHT_FUZZ_CHECK(!error.message.empty() && error.message.size() <= kMaxMessage);
  AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(error.ToString()));
  AIRFREIGHT_FUZZ_CHECK(error.ToString().find(kSecret) == std::string::npos);
}

void CheckLoaded(const airfreight::Result<LoadedCredentials>& loaded) {
  if (!loaded) return CheckError(loaded.error());
  const Credentials& keys = loaded->keys;
  AIRFREIGHT_FUZZ_CHECK(IsHeaderText(keys.access_key_id) && !keys.access_key_id.empty());
  AIRFREIGHT_FUZZ_CHECK(IsHeaderText(keys.session_token.Reveal()));
  AIRFREIGHT_FUZZ_CHECK(!keys.secret_access_key.empty());
}

void ReadAsStsError(std::string_view text) {
  airfreight::HttpResponse response;
  response.status = text.size() % 2 == 0 ? 403 : 400;
  response.error_document = text;
  response.headers.Set("x-amzn-requestid", text.substr(0, 200));
  const RoleRequest role{"arn:aws:iam::123456789012:role/r", "", "", "", "AWS_ROLE_ARN"};
  CheckError(DecodeStsError(response, role, "the token", Secret(kSecret)));
}

void ReadAsCommand(std::string_view text) {
  const auto command = SplitCommand(text);
  if (!command) return;
  AIRFREIGHT_FUZZ_CHECK(!command->empty() && !command->front().empty());
  size_t bytes = 0;
  std::string quoted;
  for (const std::string& argument : *command) {
    bytes += argument.size();
    // Quoted, it is split to itself.
    quoted += '"';
    for (const char c : argument) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    quoted += "\" ";
  }
  AIRFREIGHT_FUZZ_CHECK(bytes <= text.size());
  const auto again = SplitCommand(quoted);
  AIRFREIGHT_FUZZ_CHECK(again && *again == *command);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  CheckLoaded(ParseStsCredentials(text, "STS"));
  CheckLoaded(ParseMetadataCredentials(text, "agent"));
  CheckLoaded(ParseProcessCredentials(text, "program"));
  const auto role = ParseRoleList(text);
  if (role && *role) {
    AIRFREIGHT_FUZZ_CHECK((*role)->find('/') == std::string::npos && **role != "..");
    AIRFREIGHT_FUZZ_CHECK(IsHeaderText(**role));
  }
  ReadAsStsError(text);
  ReadAsCommand(text);
  return 0;
}
