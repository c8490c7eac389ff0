#pragma once

/// \file
/// \brief An upload in parts of bytes that lie in memory already.

#include <chrono>
#include <cstdint>
#include <optional>
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
  /// How long the first part took while it was alone; absent where it was not, to its end.
  std::optional<std::chrono::nanoseconds> first_alone;
};

/// Sends all of `body`, up to `connections` parts at once, as views without a copy. Where
/// `digester` is given, it is fed the whole meanwhile. The other parts wait for the first for as
/// long as `hold` at most, so that it shows what one connection alone is given. Errors are those of
/// the parts; nothing is aborted.
Result<SentBody> SendBody(PartUpload& upload, const Body& body, const PartPlan& plan,
                          int connections, Digester* digester, std::chrono::milliseconds hold,
                          const Context& context);

}  // namespace airfreight
