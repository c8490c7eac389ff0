#include "store/cloud/transport_settings.h"

#include <chrono>
#include <utility>

#include "store/checks.h"

namespace airfreight {

namespace {

// What botocore waits for a connection (configprovider.py, metadata_service_timeout).
constexpr std::chrono::milliseconds kLocalConnect{1'000};
// For an answer it waits one to two seconds; an agent that has to ask STS first may take longer.
constexpr std::chrono::seconds kLocalIdle{5};

}  // namespace

Result<CurlTransportOptions> TakeTransport(StoreSettings& settings, std::string_view scheme) {
  using Seconds = std::chrono::duration<double>;
  CurlTransportOptions transport;
  transport.names = {SettingName(scheme, "ca_bundle"), scheme == "s3" ? "AWS_CA_BUNDLE" : "",
                     SettingName(scheme, "connect_timeout"), SettingName(scheme, "idle_timeout")};
  transport.ca_bundle = TakeText(settings, "ca_bundle");
  AIRFREIGHT_ASSIGN_OR_RETURN(transport.verify,
                              TakeBool(settings, scheme, "verify", transport.verify));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const double connect,
      TakeSeconds(settings, scheme, "connect_timeout", Seconds(transport.connect_timeout).count()));
  transport.connect_timeout = std::chrono::ceil<std::chrono::milliseconds>(Seconds(connect));
  AIRFREIGHT_ASSIGN_OR_RETURN(
      const double idle,
      TakeSeconds(settings, scheme, "idle_timeout", Seconds(transport.idle_timeout).count()));
  transport.idle_timeout = std::chrono::ceil<std::chrono::seconds>(Seconds(idle));
  return transport;
}

std::unique_ptr<HttpTransport> MakeLocalTransport(const Environment& environment) {
  CurlTransportOptions options;
  options.local_service = true;
  options.connect_timeout = kLocalConnect;
  options.idle_timeout = kLocalIdle;
  return std::make_unique<CurlTransport>(std::move(options), environment);
}

}  // namespace airfreight
