#pragma once

/// \file
/// \brief Which proxy a request goes through, as the environment says.

#include <string>
#include <string_view>

#include "http/environment.h"

namespace airfreight {

/// In libcurl's terms; both are empty where there is none.
struct Proxy {
  std::string url;          ///< May hold a user and a password: never in a message.
  std::string exempt;       ///< Hosts that are reached without it, as CURLOPT_NOPROXY takes them.
  const char* source = "";  ///< The variable that named it, for messages.
};

/// \brief `https_proxy`, `HTTPS_PROXY` or `http_proxy`, `HTTP_PROXY` by the URL's scheme, then
/// `all_proxy`, `ALL_PROXY`; `no_proxy`, `NO_PROXY` beside each. As curl and Python's clients do it
/// (everything.curl.dev, "Proxy environment variables"), but for one thing: curl reads `http_proxy`
/// in lower case only, since CGI gives a client's `Proxy` header to a script as HTTP_PROXY; here,
/// as in Python, it counts outside of CGI.
Proxy FindProxy(std::string_view url, const Environment& environment);

}  // namespace airfreight
