// The input as a file of profiles, and then its sections as profiles of both files. Names and
// values have no line break in them; a profile that is found can be loaded, and its keys can be
// headers. Nothing is started and no one is asked.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.h"
#include "dead_transport.h"
#include "http/environment.h"
#include "store/s3/credentials.h"
#include "store/s3/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using airfreight::s3::ParseProfileFile;
  const std::string text(reinterpret_cast<const char*>(data), size);
  airfreight::Environment environment;
  environment.variable = [](const char*) { return std::nullopt; };
  environment.read_file = [&text](const std::string&) { return text; };
  environment.readable = [](const std::string&) { return true; };

  for (const auto& [section, properties] : ParseProfileFile(text)) {
    AIRFREIGHT_FUZZ_CHECK(section.find('\n') == std::string::npos);
    for (const auto& [name, value] : properties) {
      AIRFREIGHT_FUZZ_CHECK(!name.empty());
      AIRFREIGHT_FUZZ_CHECK((name + value).find('\n') == std::string::npos);
    }
    if (section.empty()) continue;
    const auto profile = airfreight::s3::LoadProfile(section, environment);
    AIRFREIGHT_FUZZ_CHECK(profile && profile->found);
    airfreight::DeadTransport network;
    airfreight::s3::CredentialsAccess access;
    access.network = &network;
    access.local = std::make_unique<airfreight::DeadTransport>();
    access.environment = environment;
    access.now = [] { return int64_t{1767225600}; };
    access.run = [](const std::vector<std::string>& command, const airfreight::Context&) {
      AIRFREIGHT_FUZZ_CHECK(!command.empty() && !command[0].empty());
      return airfreight::Result<airfreight::s3::ProcessResult>({1, ""});
    };
    const auto credentials =
        airfreight::s3::DefaultCredentials({std::nullopt, section, ""}, std::move(access))->Get({});
    if (!credentials) continue;
    // They go into headers.
    for (const char c : credentials->access_key_id) AIRFREIGHT_FUZZ_CHECK(c > 0x20 && c < 0x7f);
    for (const char c : credentials->session_token.Reveal()) {
      AIRFREIGHT_FUZZ_CHECK(c > 0x20 && c < 0x7f);
    }
  }
  return 0;
}
