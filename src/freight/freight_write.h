#pragma once

/// \file
/// \brief The protocol of attempts on one object: who may write it, and who may take it away.
/// Specification: `formats/reference.md`, "Attempts".

#include <string_view>

#include "airfreight/store.h"
#include "freight/attempt.h"

namespace airfreight {

/// What WriteInOrder came to.
struct WriteOutcome {
  ObjectInfo info;
  bool unconditional = false;  ///< The store refused conditions as such, and was asked without.
};

/// Puts `body` at `key` unless a newer attempt has. `expected` is what is thought to lie there:
/// absent, or the version that this process wrote itself; None for a store without conditions.
/// `stamp` goes into the object's metadata.
///
/// One Put when `expected` holds; each time it does not, one Head more and another Put on what was
/// found. Without conditions one Head and one Put: what is written between the two is lost. A write
/// of ours whose reply was lost is recognised by its write id. Superseded when a newer attempt's
/// object is there, Internal when it is another coordinate's, Invalid when it is another
/// deployment's; none is touched. Denied when something is there that may not be looked at.
/// Unavailable when it changes as often as it is looked at.
Result<WriteOutcome> WriteInOrder(ObjectStore& store, std::string_view key, const Body& body,
                                  std::string_view content_type, const WriteStamp& stamp,
                                  Condition expected, const Context& context);

/// Removes the object at `key` if it bears this write id: a Head, and where it does, a Remove on
/// the version that was seen. False when it is gone or another's.
///
/// The version alone would not do: on S3 it is the ETag, which two writes of the same bytes share.
Result<bool> RemoveWrite(ObjectStore& store, std::string_view key, std::string_view write,
                         const Context& context);

}  // namespace airfreight
