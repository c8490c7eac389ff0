#pragma once

/// \file
/// \brief For tests: stores in front of a scripted server, and what they have asked it for.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "airfreight/result.h"
#include "conformance/matchers.h"
#include "http/curl_transport.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/uri.h"

namespace airfreight::testing {

inline constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z

/// A store, or its client, for `<scheme>://<bucket>/xcom`, with a fixed clock and nothing from this
/// machine's settings.
template <typename Made, typename Options>
std::unique_ptr<Made> MakeStore(std::string scheme, std::string bucket,
                                const Result<Options>& options,
                                const FakeEnvironment& environment) {
  EXPECT_TRUE(IsOk(options));
  StoreUri uri;
  uri.scheme = std::move(scheme);
  uri.bucket = std::move(bucket);
  uri.prefix = "xcom";
  return std::make_unique<Made>(
      uri, *options, std::make_unique<CurlTransport>(options->transport, environment.Get()),
      environment.Get(), [] { return kNow; });
}

/// Method and target of what has come.
inline std::vector<std::string> Lines(const TestServer& server) {
  std::vector<std::string> lines;
  for (const SeenRequest& request : server.requests()) {
    lines.push_back(request.method + " " + request.target);
  }
  return lines;
}

}  // namespace airfreight::testing
