#pragma once

/// \file
/// \brief An upload in parts of bytes that lie in memory already.

#include <cstdint>
#include <vector>

#include "airfreight/store.h"
#include "base/digest.h"
#include "transfer/plan.h"

namespace airfreight {

/// \brief Cuts pieces out of a Body, however many segments it has, without copying.
///
/// Threads: immutable. Ownership: as Body.
class BodySlices {
 public:
  explicit BodySlices(const Body& body);
  /// Bytes [offset, offset + size), which must lie in the body.
  Body Slice(uint64_t offset, uint64_t size) const;

 private:
  std::vector<ByteView> segments_;
  std::vector<uint64_t> begins_;  // Of each segment.
};

struct SentBody {
  std::vector<UploadedPart> parts;
  uint32_t crc32c = 0;  ///< Of the whole.
};

/// Sends all of `body`, up to `connections` parts at once, as views without a copy. Where
/// `digester` is given, it is fed the whole meanwhile. Errors are those of the parts; nothing is
/// aborted.
Result<SentBody> SendBody(PartUpload& upload, const Body& body, const PartPlan& plan,
                          int connections, Digester* digester, const Context& context);

}  // namespace airfreight
