#pragma once

/// \file
/// \brief The protocol of attempts on one object: who may write it, and who may take it away.
/// Specification: `formats/reference.md`, "Attempts".

#include <optional>
#include <string_view>

#include "airfreight/store.h"
#include "freight/attempt.h"

namespace airfreight {

/// \brief One way of writing an object: a Put of its bytes, or the completion of an upload in
/// parts.
///
/// Threads: one at a time. Errors: as ObjectStore::Put.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  /// Writes the object under this condition. May be called again with another after ConditionFailed
  /// and Unsupported.
  virtual Result<ObjectInfo> Write(const Condition& condition) = 0;
  /// Whether the last failure was that the store knows the upload no more. Either it was completed,
  /// and the reply was lost on its way; or it was given up, by a store that asks for the parts
  /// again after a conflict, or by whoever clears old ones away.
  virtual bool UploadIsGone() const { return false; }
  /// Whether Write sends everything anew after that.
  virtual bool CanStartOver() const { return false; }
};

/// What WriteInOrder came to.
struct WriteOutcome {
  ObjectInfo info;
  bool unconditional = false;  ///< The store refused conditions as such, and was asked without.
};

/// Writes at `key` by `writer` unless a newer attempt has. `expected` is what is thought to lie
/// there: absent, or the version that this process wrote itself; None for a store without
/// conditions. `stamp` is what the object's metadata will say.
///
/// One Write when `expected` holds; each time it does not, one Head more and another Write on what
/// was found. Without conditions one Head and one Write: what is written between the two is lost. A
/// write of ours whose reply was lost is recognised by its write id, also where an upload in parts
/// is gone because it was completed. Superseded when a newer attempt's object is there, Internal
/// when it is another coordinate's, Invalid when it is another deployment's; none is touched.
/// Denied when something is there that may not be looked at. Unavailable when it changes as often
/// as it is looked at, and when an upload is gone that cannot start over.
Result<WriteOutcome> WriteInOrder(ObjectStore& store, std::string_view key, ObjectWriter& writer,
                                  const WriteStamp& stamp, Condition expected,
                                  const Context& context);

/// Removes the object at `key` if it bears this write id: a Head, and where it does, a Remove on
/// the version that was seen. False when it is gone or another's. Where the Remove does not begin
/// within 10 seconds of the Head, both are done anew, three times at most.
///
/// The version alone would not do: on S3 it is the ETag, which two writes of the same bytes share.
/// `owner` is whose it has to be besides: the deployment's name, empty where it has none. Absent
/// where this process has made the write id itself.
Result<bool> RemoveWrite(ObjectStore& store, std::string_view key, std::string_view write,
                         const Context& context,
                         std::optional<std::string_view> owner = std::nullopt);

}  // namespace airfreight
