#pragma once

/// \file
/// \brief One key out of another.

#include <string_view>

#include "airfreight/bytes.h"
#include "base/secret.h"

namespace airfreight {

/// HKDF-SHA256 (www.rfc-editor.org/rfc/rfc5869) with 32 bytes of output. Pure; what it holds on the
/// way is wiped.
Secret HkdfSha256(ByteView key, ByteView salt, std::string_view info);

}  // namespace airfreight
