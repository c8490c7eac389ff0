#pragma once

/// \file
/// \brief The settings that all stores behind HTTP share.

#include <memory>
#include <string_view>

#include "airfreight/result.h"
#include "airfreight/store.h"
#include "http/curl_transport.h"
#include "http/environment.h"
#include "http/transport.h"

namespace airfreight {

/// Takes `ca_bundle`, `verify`, `connect_timeout` and `idle_timeout` out of `settings`. Invalid
/// when one is wrong; `scheme` for its name in the message.
Result<CurlTransportOptions> TakeTransport(StoreSettings& settings, std::string_view scheme);

/// A transport for services of this machine (metadata of instances, agents in a pod): no proxy, and
/// a second for a connection, since there is no such service in most places.
std::unique_ptr<HttpTransport> MakeLocalTransport(const Environment& environment);

}  // namespace airfreight
