#include "store/azure/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/base64.h"
#include "http/headers.h"
#include "store/checks.h"

namespace airfreight::azure {
namespace {

constexpr size_t kMinName = 3;
constexpr size_t kMaxName = 24;
constexpr EndpointWords kWords{"https://myaccount.blob.core.windows.net",
                               "an Airflow connection (az://conn_id@container) or the environment"};
// The emulator's account and key are the same everywhere and no secret
// (learn.microsoft.com/azure/storage/common/storage-use-azurite#well-known-storage-account-and-key).
constexpr std::string_view kDevelopmentUrl = "http://127.0.0.1:10000/devstoreaccount1";
constexpr std::string_view kDevelopmentKey =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

bool IsNameByte(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsName(std::string_view name) {
  return name.size() >= kMinName && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), IsNameByte);
}

using Parts = std::map<std::string, std::string, std::less<>>;

// `Name=value;Name=value`; a value may hold '=', and names are compared without regard to case as
// Azure's own clients do.
Result<Parts> Split(std::string_view text, std::string_view source) {
  Parts parts;
  while (!text.empty()) {
    const std::string part = TrimBlanks(text.substr(0, text.find(';')));
    text.remove_prefix(std::min(text.find(';'), text.size() - 1) + 1);
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("{} has a part without '=': it is made of Name=value;Name=value, as "
                              "the portal shows it under \"Access keys\"",
                              source));
    }
    std::string name = part.substr(0, equals);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    parts[std::move(name)] = part.substr(equals + 1);
  }
  return parts;
}

std::string Find(const Parts& parts, std::string_view name) {
  const auto found = parts.find(name);
  return found == parts.end() ? std::string() : found->second;
}

}  // namespace

Status CheckAccountName(std::string_view name, std::string_view source) {
  if (IsName(name)) return {};
  return Fail(ErrorCode::kInvalid,
              fmt::format("{} is {}: a storage account's name has {} to {} small letters and "
                          "digits; right is e.g. 'myaccount'",
                          source, Quoted(name), kMinName, kMaxName));
}

Account AccountOf(std::string_view name, std::string_view suffix) {
  return {std::string(name), {true, fmt::format("{}.blob.{}", name, suffix), ""}};
}

Result<Account> ParseServiceUrl(std::string_view url, std::string_view name,
                                std::string_view source) {
  Account account;
  AIRFREIGHT_ASSIGN_OR_RETURN(account.endpoint, ParseEndpoint(url, source, kWords));
  account.name = name;
  Endpoint& endpoint = account.endpoint;
  const size_t dot = std::min(endpoint.host.find('.'), endpoint.host.size());
  const std::string label = endpoint.host.substr(0, dot);
  // What Data Lake's own protocol is asked for is asked of the blob service here.
  constexpr std::string_view kDataLake = ".dfs.";
  if (std::string_view(endpoint.host).substr(dot).starts_with(kDataLake)) {
    endpoint.host = fmt::format("{}.blob.{}", label,
                                std::string_view(endpoint.host).substr(dot + kDataLake.size()));
  }
  const std::string domain = endpoint.host.substr(std::min(dot, endpoint.host.size()));
  if (domain.starts_with(".blob.") && !endpoint.path.empty()) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} has a path behind its host, which a storage account's URL has not: "
                            "the container stands in the store's URI (az://container/prefix). "
                            "Right is https://{}",
                            source, endpoint.host));
  }
  if (!account.name.empty()) {
    if (IsLoopback(endpoint) && endpoint.path.empty()) endpoint.path = "/" + account.name;
    return account;
  }
  const std::string_view path = std::string_view(endpoint.path);
  if (domain.starts_with(".blob.") && IsName(label)) {
    account.name = label;
  } else if (path.size() > 1 && IsName(path.substr(1))) {
    account.name = path.substr(1);
  }
  return account;
}

Result<ConnectionString> ParseConnectionString(std::string_view text, std::string_view source) {
  const auto refuse = [&](std::string_view why) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} {}; right looks like DefaultEndpointsProtocol=https;"
                            "AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net",
                            source, why));
  };
  AIRFREIGHT_ASSIGN_OR_RETURN(const Parts parts, Split(text, source));
  ConnectionString parsed;
  std::string name = Find(parts, "accountname");
  std::string key = Find(parts, "accountkey");
  std::string url = Find(parts, "blobendpoint");
  if (EqualsIgnoreCase(Find(parts, "usedevelopmentstorage"), "true")) {
    name = "devstoreaccount1";
    key = kDevelopmentKey;
    url = kDevelopmentUrl;
  }
  if (!name.empty() && !IsName(name)) return refuse("has an AccountName that is no account's name");
  const std::string sas = Find(parts, "sharedaccesssignature");
  if (!sas.empty()) {
    auto token = ParseSasToken(sas);
    if (!token) return refuse("has a SharedAccessSignature without sig=");
    parsed.sas_token = *std::move(token);
  } else if (!key.empty()) {
    if (!Base64Decode(key)) return refuse("has an AccountKey that is no base64 (cut off?)");
    parsed.account_key = Secret(std::move(key));
  } else {
    return refuse("has neither AccountKey nor SharedAccessSignature");
  }
  if (!url.empty()) {
    AIRFREIGHT_ASSIGN_OR_RETURN(
        parsed.account, ParseServiceUrl(url, name, fmt::format("BlobEndpoint in {}", source)));
  } else {
    if (name.empty()) return refuse("has neither AccountName nor BlobEndpoint");
    std::string suffix = Find(parts, "endpointsuffix");
    if (suffix.empty()) suffix = "core.windows.net";
    const std::string protocol = Find(parts, "defaultendpointsprotocol");
    AIRFREIGHT_ASSIGN_OR_RETURN(
        parsed.account,
        ParseServiceUrl(
            fmt::format("{}://{}.blob.{}", protocol.empty() ? "https" : protocol, name, suffix),
            name, fmt::format("the endpoint made of {}", source)));
  }
  if (parsed.account.name.empty() && !parsed.account_key.empty()) {
    return refuse("has an AccountKey but no AccountName");
  }
  return parsed;
}

std::optional<Secret> ParseSasToken(std::string_view text) {
  std::string token = TrimBlanks(text);
  if (const size_t query = token.find('?'); query != std::string::npos) token.erase(0, query + 1);
  const bool legal = std::all_of(token.begin(), token.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '#';
  });
  const bool is_signed = token.starts_with("sig=") || token.find("&sig=") != std::string::npos;
  if (!legal || !is_signed) return std::nullopt;
  return Secret(std::move(token));
}

}  // namespace airfreight::azure
