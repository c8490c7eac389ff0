#pragma once

/// \file
/// \brief The digests that an object's bytes may have. Their text: `formats/reference.md`.

namespace airfreight {

enum class DigestKind { kCrc32c, kSha256 };

}  // namespace airfreight
