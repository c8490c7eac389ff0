#pragma once

/// \file
/// \brief The stores that the conformance suite runs against. To register one: add it to
/// AllStores().

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/store.h"

namespace airfreight::conformance {

/// One store under test.
struct Registration {
  std::string name;         ///< Part of the tests' names.
  std::string scheme = {};  ///< Empty: as `name`.
  bool directory = false;   ///< Its own path does not count towards the length of keys.
  /// Opens an empty place by a unique name; the same one again by the same name. Empty: by URI.
  std::function<Result<std::shared_ptr<ObjectStore>>(const std::string&)> open = {};
};

/// Stores to run against in place of all others: those that are written in Python
/// (`python/bindings/conformance`), which a program adds before its tests begin.
std::vector<Registration>& Guests();

inline void PrintTo(const Registration& registration, std::ostream* out) {
  *out << registration.name;
}

/// memory, file, s3, gs, az, redis and rediss (Redis over TLS).
std::vector<Registration> AllStores();
std::string NameOf(const testing::TestParamInfo<Registration>& info);

/// \brief A fixture with a fresh, empty place in the store; it is cleaned up after the test.
///
/// The S3 registration reads its server from the environment: AIRFREIGHT_TEST_S3 (a store URI, e.g.
/// `s3://bucket/tests`), AIRFREIGHT_TEST_S3_ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
/// AWS_REGION, AIRFREIGHT_TEST_S3_CA (a file with its CA), AIRFREIGHT_TEST_S3_LACKS (see Lacks).
/// `tests/servers` sets them. Without the first the tests fail, unless AIRFREIGHT_TEST_SKIP_S3=1
/// says that this is meant. Redis: AIRFREIGHT_TEST_REDIS and, over TLS, AIRFREIGHT_TEST_REDISS,
/// each with _USER, _PASSWORD and _CA after it; or AIRFREIGHT_TEST_SKIP_REDIS=1. The gs
/// registration reads AIRFREIGHT_TEST_GS, …_ENDPOINT and …_LACKS as S3's does, and needs no keys;
/// or AIRFREIGHT_TEST_SKIP_GS=1. The az registration reads AIRFREIGHT_TEST_AZ, …_ENDPOINT and
/// …_LACKS as S3's does, AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY; or AIRFREIGHT_TEST_SKIP_AZ=1.
class StoreTest : public testing::TestWithParam<Registration> {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Another store object of the same place, opened anew.
  std::shared_ptr<ObjectStore> Reopen() const;
  /// The same server or directory, another prefix.
  std::shared_ptr<ObjectStore> OpenNeighbour() const;

  /// Whether this server is known to do without something; the names are those of
  /// tests/servers/README.md. A test that asks asserts what the server does instead.
  bool Lacks(std::string_view what) const;

  ObjectStore& store() { return *store_; }
  const std::shared_ptr<ObjectStore>& shared_store() const { return store_; }

 private:
  Result<std::shared_ptr<ObjectStore>> Open(const std::string& uri) const;

  std::string uri_;
  StoreSettings settings_;
  std::string directory_;  // Of the file store, to be removed.
  std::shared_ptr<ObjectStore> store_;
};

}  // namespace airfreight::conformance
