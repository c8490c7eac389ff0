#include "http/ca_bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <array>

namespace airfreight {
namespace {

// The order of go.dev/src/crypto/x509/root_linux.go, and macOS.
constexpr std::array<const char*, 7> kWellKnown = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // RHEL, Fedora, Amazon Linux
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/pki/tls/cacert.pem",                            // OpenELEC
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL 7 and later
    "/etc/ssl/cert.pem",                                  // Alpine without the bundle, macOS
    "/usr/local/share/certs/ca-root-nss.crt",             // FreeBSD
};

bool IsDirectory(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<CaLocation> Named(std::string path, std::string source, const Environment& environment) {
  if (!environment.readable(path)) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} names '{}', which cannot be read: it has to be a file of PEM "
                            "certificates, e.g. {}",
                            source, path, kWellKnown[0]));
  }
  const bool is_directory = IsDirectory(path);
  return CaLocation{std::move(path), is_directory, std::move(source)};
}

}  // namespace

std::string CaAdvice(const CaSettings& settings) {
  const std::string variable = settings.variable.empty() ? "SSL_CERT_FILE" : settings.variable;
  return settings.name.empty() ? variable : fmt::format("{} or {}", settings.name, variable);
}

Result<CaLocation> FindCaBundle(const CaSettings& settings, const Environment& environment) {
  if (!settings.path.empty()) return Named(settings.path, settings.name, environment);
  for (const char* name :
       {settings.variable.c_str(), "SSL_CERT_FILE", "CURL_CA_BUNDLE", "SSL_CERT_DIR"}) {
    if (*name == '\0') continue;
    if (auto path = environment.variable(name)) return Named(*std::move(path), name, environment);
  }
  for (const char* path : kWellKnown) {
    if (environment.readable(path)) return CaLocation{path, false, "found on this system"};
  }
  return Fail(
      ErrorCode::kInvalid,
      fmt::format("no CA certificates found to check the server with; tried {}. Install the "
                  "package ca-certificates, or set {}",
                  fmt::join(kWellKnown, ", "), CaAdvice(settings)));
}

}  // namespace airfreight
