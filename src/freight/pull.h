#pragma once

/// \file
/// \brief Following a reference: all of its object, checked.

#include <string>

#include "airfreight/freight.h"
#include "base/digest.h"
#include "freight/place.h"
#include "freight/push.h"

namespace airfreight {

/// The kind of a reference's digest; NewerFormat when this release does not know it.
Result<DigestKind> KnownDigest(const Reference& reference);

/// Why an object with this description is not what the reference promises: Replaced when a later
/// write put it there, else Corrupt for the reason given.
Error NotAsPromised(const ObjectInfo& info, const Reference& reference, std::string reason);

/// Whether the object with this description is the very one that the reference is of, by what lies
/// with it: Forged when it was written for another XCom, Replaced when by another write. Without
/// that it is taken where its place is one of copies, which some tools make without it, or the
/// reference is signed, so that its bytes are known; else Corrupt.
Status CheckStamp(const Place& place, const ObjectInfo& info, const Reference& reference,
                  const Seal& seal);

/// The error of a read with what only this layer knows: since when the object has been there.
Error ReadError(Error error, const Reference& reference);

struct PullOptions {
  int connections = 1;       ///< Most streams at once.
  bool count_small = false;  ///< Whether a value below the budget counts in it, too.
};

/// The object's bytes, in an allocation of their size.
Result<Buffer> PullBuffer(const Place& place, const Reference& reference, FreightState& state,
                          const PullOptions& options, const Context& context);

/// The SHA-256 of the object, which is read once and found to be what is promised; none of it is
/// kept.
Result<std::string> PullDigest(const Place& place, const Reference& reference, FreightState& state,
                               const Context& context);

/// The object in a file, which appears when it is complete and verified.
Status PullToFile(const Place& place, const Reference& reference, FreightState& state,
                  const std::string& path, const Context& context);

}  // namespace airfreight
