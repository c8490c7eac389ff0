// The input as an endpoint's URL, as a region's name, as a container agent's URL, and as a bucket
// and a key behind an endpoint. What parses goes on the wire as it is: no byte of it could end a
// header or a host, and a URL made of it parses to itself.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "input.h"
#include "store/s3/credentials/container.h"
#include "store/s3/endpoint.h"

namespace {

using namespace airfreight::s3;  // NOLINT(google-build-using-namespace): one room, one file.

void CheckOnTheWire(std::string_view text) {
  for (const char c : text) AIRFREIGHT_FUZZ_CHECK(c > 0x20 && c < 0x7f);
}

void ReadAsEndpoint(std::string_view text) {
  const auto endpoint = ParseEndpoint(text, "setting");
  if (!endpoint) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(endpoint.error().message));
    return;
  }
  CheckOnTheWire(endpoint->host);
  CheckOnTheWire(endpoint->path);
  AIRFREIGHT_FUZZ_CHECK(endpoint->host.find_first_of("/@?#\\") == std::string::npos);
  AIRFREIGHT_FUZZ_CHECK(!endpoint->path.ends_with('/'));
  const std::string url =
      std::string(endpoint->tls ? "https://" : "http://") + endpoint->host + endpoint->path;
  const auto again = ParseEndpoint(url, "setting");
  AIRFREIGHT_FUZZ_CHECK(again && *again == *endpoint);

  const Address address = Locate(*endpoint, AddressingStyle::kAuto, "bucket", text);
  CheckOnTheWire(address.host);
  CheckOnTheWire(address.path);
  AIRFREIGHT_FUZZ_CHECK(address.path.find_first_of("?#") == std::string::npos);
}

void ReadAsAgent(std::string_view text) {
  const auto status = CheckContainerUrl(text, "variable");
  if (!status) {
    AIRFREIGHT_FUZZ_CHECK(airfreight::IsOneLine(status.error().message));
    return;
  }
  CheckOnTheWire(text);
  if (text[4] == 's' || text[4] == 'S') return;
  // In the clear only to this machine and the agents on its link.
  const std::string_view host = text.substr(7);
  bool near = false;
  for (const char* start : {"127.", "[::1]", "localhost", "169.254.170.2", "[fd00:ec2::23]"}) {
    near = near || host.starts_with(start);
  }
  AIRFREIGHT_FUZZ_CHECK(near);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = airfreight::FuzzText(data, size);
  ReadAsEndpoint(text);
  ReadAsAgent(text);
  if (const auto endpoint = AwsEndpoint(text)) {
    CheckOnTheWire(endpoint->host);
    AIRFREIGHT_FUZZ_CHECK(IsAws(*endpoint));
    AIRFREIGHT_FUZZ_CHECK(endpoint->host.starts_with("s3." + std::string(text) + "."));
  }
  return 0;
}
