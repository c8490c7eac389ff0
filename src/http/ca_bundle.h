#pragma once

/// \file
/// \brief Where the certificates lie that a TLS server is checked against.

#include <string>

#include "airfreight/result.h"
#include "http/environment.h"

namespace airfreight {

/// A file of certificates, or a folder with hashed names, and who named it.
struct CaLocation {
  std::string path;
  bool is_directory = false;
  std::string source;  ///< For messages: "[airfreight] s3_ca_bundle", "AWS_CA_BUNDLE", "found on
                       ///< this system".
};

/// What a store says of its certificates, and how its user does.
struct CaSettings {
  std::string path;      ///< Empty: look in the environment.
  std::string name;      ///< Of the setting, for messages: "[airfreight] s3_ca_bundle".
  std::string variable;  ///< Its service's own, which goes before the common ones; may be empty.
};

/// What to set where no certificates are found, or the wrong ones: the setting and a variable.
std::string CaAdvice(const CaSettings& settings);

/// \brief The setting, then its variable, SSL_CERT_FILE, CURL_CA_BUNDLE and SSL_CERT_DIR, then the
/// places of the common systems. The wheel's own TLS library has no place compiled in, and the
/// build machine's would be wrong elsewhere (reports on pyarrow's S3 client: apache/arrow#37001,
/// #40754).
///
/// Invalid when the place that is named is not there, or none is named and none found; the message
/// lists what was tried.
Result<CaLocation> FindCaBundle(const CaSettings& settings, const Environment& environment);

}  // namespace airfreight
