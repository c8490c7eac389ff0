#pragma once

/// \file
/// \brief For tests: S3 stores in front of a scripted server.

#include <memory>
#include <utility>

#include "airfreight/store.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/cloud/test_store.h"
#include "store/s3/options.h"
#include "store/s3/s3_store.h"

namespace airfreight::s3 {

/// A store, or its client, of `s3://bucket/xcom`, with keys where `settings` have none.
template <typename Made = S3Store>
std::unique_ptr<Made> OpenAt(const testing::TestServer& server, StoreSettings settings = {},
                             const FakeEnvironment& environment = {}) {
  settings.emplace("endpoint_url", server.url());
  settings.emplace("access_key_id", "AKID");
  settings.emplace("secret_access_key", "hunter2");
  return testing::MakeStore<Made>("s3", "bucket", ParseS3Options(settings), environment);
}

}  // namespace airfreight::s3
