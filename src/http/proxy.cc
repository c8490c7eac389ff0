#include "http/proxy.h"

#include <initializer_list>

#include "http/headers.h"

namespace airfreight {

Proxy FindProxy(std::string_view url, const Environment& environment) {
  Proxy proxy;
  const auto look = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (!proxy.url.empty()) return;
      if (auto value = environment.variable(name)) {
        proxy.url = *std::move(value);
        proxy.source = name;
      }
    }
  };
  if (EqualsIgnoreCase(url.substr(0, 8), "https://")) {
    look({"https_proxy", "HTTPS_PROXY"});
  } else if (environment.variable("REQUEST_METHOD")) {
    look({"http_proxy"});
  } else {
    look({"http_proxy", "HTTP_PROXY"});
  }
  look({"all_proxy", "ALL_PROXY"});
  if (proxy.url.empty()) return {};
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    if (proxy.exempt.empty()) proxy.exempt = environment.variable(name).value_or("");
  }
  return proxy;
}

}  // namespace airfreight
