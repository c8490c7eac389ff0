#pragma once

/// \file
/// \brief A machine of literals for the tests of credentials: variables, files, clock, program, and
/// a scripted server that is STS, container agent and metadata service.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "http/curl_transport.h"
#include "http/fake_environment.h"
#include "http/test_server.h"
#include "store/s3/credentials.h"

namespace airfreight::s3::testing {

using ::airfreight::testing::ScriptedReply;
using ::airfreight::testing::SeenRequest;
using ::airfreight::testing::TestServer;

constexpr int64_t kNow = 1767225600;  // 2026-01-01T00:00:00Z
constexpr char kRoleArn[] = "arn:aws:iam::123456789012:role/airflow";

inline std::string StsXml(const std::string& action, const std::string& key, int64_t expires) {
  return "<" + action + "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><" + action +
         "Result><Credentials><AccessKeyId>" + key +
         "</AccessKeyId><SecretAccessKey>hunter2</SecretAccessKey><SessionToken>tok+en==" +
         "</SessionToken><Expiration>" + FormatIso8601(expires) + "</Expiration></Credentials></" +
         action + "Result></" + action + "Response>";
}

inline std::string StsErrorXml(const std::string& code, const std::string& message) {
  return "<ErrorResponse><Error><Type>Sender</Type><Code>" + code + "</Code><Message>" + message +
         "</Message></Error><RequestId>r</RequestId></ErrorResponse>";
}

inline std::string MetadataJson(const std::string& key, int64_t expires) {
  return R"({"Code":"Success","AccessKeyId":")" + key +
         R"(","SecretAccessKey":"hunter2","Token":"tok+en==","Expiration":")" +
         FormatIso8601(expires) + "\"}";
}

/// The id of the keys, or what went wrong in their place.
inline std::string Id(const Result<Credentials>& keys) {
  return keys ? keys->access_key_id : keys.error().ToString();
}

inline std::vector<std::string> Lines(const TestServer& server) {
  std::vector<std::string> lines;
  for (const SeenRequest& seen : server.requests())
    lines.push_back(seen.method + " " + seen.target);
  return lines;
}

/// Answers as a metadata service does whose role is "airflow".
inline ScriptedReply InstanceReply(const SeenRequest& seen, int64_t expires = kNow + 21600) {
  if (seen.target == "/latest/api/token") {
    const bool asks =
        seen.method == "PUT" && seen.headers.Get("x-aws-ec2-metadata-token-ttl-seconds") == "21600";
    return ScriptedReply::Http(asks ? 200 : 400, {}, asks ? "metadatatoken" : "");
  }
  if (seen.headers.Get("x-aws-ec2-metadata-token") != "metadatatoken") {
    return ScriptedReply::Http(401, {}, "");
  }
  constexpr std::string_view kRoles = "/latest/meta-data/iam/security-credentials/";
  if (seen.target == kRoles) return ScriptedReply::Http(200, {}, "airflow\n");
  if (seen.target == std::string(kRoles) + "airflow") {
    return ScriptedReply::Http(200, {}, MetadataJson("instance", expires));
  }
  return ScriptedReply::Http(404, {}, "");
}

struct World {
  World() {
    fake.variables["HOME"] = "/h";
    // A test must not ask the metadata service of the machine that runs it.
    fake.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  }

  /// What a chain of this machine uses; the world outlives it.
  CredentialsAccess Access() {
    CredentialsAccess access;
    access.network = &network;
    // Without the short time-outs of the real one, which a busy test machine may miss.
    CurlTransportOptions options;
    options.local_service = true;
    access.local = std::make_unique<CurlTransport>(options, Environment::OfProcess());
    access.environment = fake.Get();
    access.now = [this] { return now.load(); };
    access.run = run;
    return access;
  }
  std::unique_ptr<CredentialsChain> Chain(CredentialsSettings settings = {}) {
    return DefaultCredentials(std::move(settings), Access());
  }
  Result<Credentials> Get(CredentialsSettings settings = {}) {
    return Chain(std::move(settings))->Get({});
  }
  /// The machine's own metadata service is `server`.
  void Instance(const TestServer& server) {
    fake.variables.erase("AWS_EC2_METADATA_DISABLED");
    fake.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server.url();
  }
  void WebIdentity(const TestServer& sts) {
    fake.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/var/run/token";
    fake.variables["AWS_ROLE_ARN"] = kRoleArn;
    fake.variables["AWS_ENDPOINT_URL_STS"] = sts.url();
    fake.files["/var/run/token"] = "eyJhbGciOi.JSUzI1NiIsIm.tpZCI6Ij\n";
  }

  FakeEnvironment fake;
  std::atomic<int64_t> now{kNow};
  ProcessRunner run = [](const std::vector<std::string>&, const Context&) -> Result<ProcessResult> {
    return Fail(ErrorCode::kInternal, "no program is expected");
  };
  CurlTransport network{CurlTransportOptions{}, FakeEnvironment{}.Get()};
};

}  // namespace airfreight::s3::testing
