// The stores that a case may be about.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/percent.h"
#include "faults/fake_azure.h"
#include "faults/fake_gcs.h"
#include "faults/fake_s3.h"
#include "faults/fake_service.h"

namespace airfreight::faults {
namespace {

constexpr char kSecret[] = "hunter2-is-secret";

// As a whole or not at all: a reader must not meet half of it.
void WriteFile(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::ofstream(fresh) << text;
  std::filesystem::rename(fresh, path);
}

void UnsetProxies() {
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) unsetenv(name);
}

Dialect S3() {
  Dialect s3;
  s3.store = "s3";
  s3.uri = "s3://bucket/xcom";
  s3.secret = kSecret;
  s3.names = [](std::string_view name, std::string_view key) {
    return std::map<std::string, std::string>{{std::string(name), "/bucket/" + std::string(key)}};
  };
  s3.error = &ErrorXml;
  s3.settings = [](const std::string& url, bool keys) {
    StoreSettings settings = {{"endpoint_url", url}, {"region", "us-east-1"}};
    if (keys) {
      settings["access_key_id"] = "AKIDEXAMPLE";
      settings["secret_access_key"] = kSecret;
    }
    return settings;
  };
  s3.set_environment = [](const std::string& credentials_path) {
    for (const char* name :
         {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
          "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
          "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
          "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"}) {
      unsetenv(name);
    }
    UnsetProxies();
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("AWS_CONFIG_FILE", "/dev/null", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", credentials_path.c_str(), 1);
  };
  s3.write_credentials = [](const std::string& path, const std::string& id) {
    WriteFile(path, "[default]\naws_access_key_id = " + id +
                        "\naws_secret_access_key = " + kSecret + "\n");
  };
  s3.make = []() -> std::unique_ptr<FakeService> { return std::make_unique<FakeS3>(); };
  return s3;
}

Dialect Gcs() {
  Dialect gcs;
  gcs.store = "gs";
  gcs.uri = "gs://bucket/xcom";
  gcs.secret = kSecret;
  // {object} is where it is removed, {media object} where its bytes are; {upload object},
  // {look object} and {compose object} have the parameters of each such request too.
  gcs.names = [](std::string_view name, std::string_view key) {
    const std::string encoded = PercentEncode(key, kUriUnreserved);
    const std::string fields = "fields=name%2Csize%2Cgeneration%2Ccrc32c%2Cmetadata%2Cupdated";
    return std::map<std::string, std::string>{
        {std::string(name), "/storage/v1/b/bucket/o/" + encoded},
        {"media " + std::string(name), "/bucket/" + PercentEncode(key, kUriPath)},
        {"upload " + std::string(name),
         "/upload/storage/v1/b/bucket/o?uploadType=multipart&name=" + encoded + "&" + fields},
        {"look " + std::string(name), "/storage/v1/b/bucket/o/" + encoded + "?" + fields},
        {"compose " + std::string(name),
         "/storage/v1/b/bucket/o/" + encoded + "/compose?" + fields}};
  };
  gcs.error = &ErrorJson;
  gcs.settings = [](const std::string& url, bool keys) {
    StoreSettings settings = {{"endpoint_url", url}};
    if (keys) settings["access_token"] = kSecret;
    return settings;
  };
  gcs.set_environment = [](const std::string& credentials_path) {
    for (const char* name : {"STORAGE_EMULATOR_HOST", "CLOUDSDK_CONFIG", "HOME"}) unsetenv(name);
    UnsetProxies();
    setenv("NO_GCE_CHECK", "true", 1);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials_path.c_str(), 1);
  };
  gcs.write_credentials = [](const std::string& path, const std::string& id) {
    WriteFile(path, id);
  };
  gcs.make = []() -> std::unique_ptr<FakeService> { return std::make_unique<FakeGcs>(); };
  return gcs;
}

Dialect Azure() {
  // A key, and in cases of their own the end of a signature: neither may be said.
  static constexpr char kKey[] = "aHVudGVyMi1pcy1zZWNyZXQ=";
  Dialect azure;
  azure.store = "azure";
  azure.uri = "az://bucket/xcom";
  azure.secret = "aHVudGVyMi1pcy1zZWNyZXQ";
  azure.names = [](std::string_view name, std::string_view key) {
    return std::map<std::string, std::string>{
        {std::string(name), "/account/bucket/" + std::string(key)}};
  };
  azure.error = &AzureErrorXml;
  azure.settings = [](const std::string& url, bool keys) {
    StoreSettings settings = {{"endpoint_url", url}, {"account", "account"}};
    if (keys) {
      settings["account_key"] = kKey;
    } else {
      settings["authority_host"] = url;
      settings["tenant_id"] = "tenant";
      settings["client_id"] = "client";
    }
    return settings;
  };
  azure.set_environment = [](const std::string& credentials_path) {
    for (const char* name :
         {"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
          "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SERVICE_ENDPOINT",
          "AZURE_STORAGE_AUTH_MODE", "AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET",
          "AZURE_AUTHORITY_HOST", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT",
          "IDENTITY_HEADER"}) {
      unsetenv(name);
    }
    UnsetProxies();
    // Where nothing answers: a test must not ask the machine that runs it.
    setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1", 1);
    if (credentials_path != "/dev/null") {
      setenv("AZURE_FEDERATED_TOKEN_FILE", credentials_path.c_str(), 1);
    }
  };
  azure.write_credentials = [](const std::string& path, const std::string& id) {
    WriteFile(path, id + "\n");
  };
  azure.make = []() -> std::unique_ptr<FakeService> { return std::make_unique<FakeAzure>(); };
  return azure;
}

}  // namespace

Target ParseTarget(std::string_view target) {
  Target parsed;
  const size_t mark = std::min(target.find('?'), target.size());
  parsed.path = target.substr(0, mark);
  target.remove_prefix(std::min(mark + 1, target.size()));
  while (!target.empty()) {
    const std::string_view pair = target.substr(0, target.find('&'));
    target.remove_prefix(std::min(pair.size() + 1, target.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    parsed.query[std::string(pair.substr(0, equals))] =
        pair.substr(std::min(equals + 1, pair.size()));
  }
  return parsed;
}

const Dialect* FindDialect(std::string_view store) {
  static const Dialect dialects[] = {S3(), Gcs(), Azure()};
  for (const Dialect& dialect : dialects) {
    if (dialect.store == store) return &dialect;
  }
  return nullptr;
}

}  // namespace airfreight::faults
