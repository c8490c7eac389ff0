#pragma once

/// \file
/// \brief Sealed objects that lie in no store: made, and opened, whole and in memory.
/// Specification: `formats/sealed.md`, `formats/outage.md`.

#include <cstdint>

#include "airfreight/bytes.h"
#include "airfreight/result.h"
#include "seal/frames.h"
#include "seal/sealing_keys.h"

namespace airfreight {

/// The sealed object that holds `body`. Errors: as DataKeys::ForNewObject; TooLarge where there is
/// no memory for it. Blocking: as DataKeys.
Result<Buffer> SealValue(const Body& body, const FrameBinding& binding, DataKeys& keys);

/// \brief The value in a sealed object, of which nothing else is known.
///
/// Corrupt where `bytes` are no sealed object; Forged where a frame of it does not open under
/// `binding`; else as DataKeys::ForObject and SealValue.
Result<Buffer> OpenValue(ByteView bytes, const FrameBinding& binding, DataKeys& keys);

/// Corrupt, for bytes that are no sealed object since none is so long.
Error NotOfASealedLength(uint64_t size);

}  // namespace airfreight
