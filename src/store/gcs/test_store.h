#pragma once

/// \file
/// \brief For tests: stores on Google Cloud Storage in front of a scripted server.

#include <memory>
#include <utility>

#include "airfreight/store.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/cloud/test_store.h"
#include "store/gcs/gcs_store.h"
#include "store/gcs/options.h"

namespace airfreight::gcs {

/// A store of `gs://bucket/xcom`, with a token where `settings` have no credentials.
inline std::unique_ptr<GcsStore> OpenAt(const testing::TestServer& server,
                                        StoreSettings settings = {},
                                        const FakeEnvironment& environment = {}) {
  settings.emplace("endpoint_url", server.url());
  if (!settings.contains("anonymous") && !settings.contains("key_path")) {
    settings.emplace("access_token", "ya29");
  }
  return testing::MakeStore<GcsStore>("gs", "bucket", ParseGcsOptions(settings), environment);
}

}  // namespace airfreight::gcs
