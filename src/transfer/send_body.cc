#include "transfer/send_body.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "store/checks.h"
#include "transfer/for_each.h"

namespace airfreight {
namespace {

// Bytes hashed between two polls of the caller's wishes: SHA-256 without hardware help does 200
// MB/s.
constexpr size_t kDigestPiece = size_t{16} << 20;

Status FeedDigester(Digester& digester, const Body& body, const Context& context) {
  for (ByteView rest : body.segments()) {
    while (!rest.empty()) {
      AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
      const ByteView piece = rest.first(std::min(rest.size(), kDigestPiece));
      digester.Update(piece);
      rest = rest.subspan(piece.size());
    }
  }
  return {};
}

}  // namespace

BodySlices::BodySlices(const Body& body) : segments_(body.segments()) {
  begins_.reserve(segments_.size());
  uint64_t begin = 0;
  for (const ByteView segment : segments_) {
    begins_.push_back(begin);
    begin += segment.size();
  }
}

Body BodySlices::Slice(uint64_t offset, uint64_t size) const {
  Body slice;
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), offset);
  for (auto i = static_cast<size_t>(after - begins_.begin()); size > 0; ++i) {
    const ByteView segment = segments_[i - 1].subspan(offset - begins_[i - 1]);
    const ByteView piece = segment.first(std::min<uint64_t>(segment.size(), size));
    slice.Append(piece);
    offset += piece.size();
    size -= piece.size();
  }
  return slice;
}

Result<SentBody> SendBody(PartUpload& upload, const Body& body, const PartPlan& plan,
                          int connections, Digester* digester, const Context& context) {
  const BodySlices slices(body);
  const auto count = static_cast<size_t>(plan.CountFor(body.size()));
  SentBody sent;
  sent.parts.resize(count);
  const auto send = [&](size_t index, const Context& own) -> Status {
    const int number = static_cast<int>(index) + 1;
    const uint64_t offset = plan.Offset(number);
    const Body part = slices.Slice(offset, std::min(plan.PartBytes(number), body.size() - offset));
    uint32_t crc = 0;
    for (const ByteView segment : part.segments()) crc = ExtendCrc32c(crc, segment);
    AIRFREIGHT_ASSIGN_OR_RETURN(sent.parts[index], upload.PutPart(number, offset, part, crc, own));
    sent.parts[index].crc32c = crc;
    return {};
  };
  // The digest is one piece of work among the parts, and the longest: it comes first.
  const size_t extra = digester != nullptr ? 1 : 0;
  AIRFREIGHT_RETURN_IF_ERROR(ForEach(count + extra, connections + static_cast<int>(extra), context,
                                     [&](size_t index, const Context& own) -> Status {
                                       return index < extra ? FeedDigester(*digester, body, own)
                                                            : send(index - extra, own);
                                     }));
  for (const UploadedPart& part : sent.parts) {
    sent.crc32c = Crc32cCombine(sent.crc32c, part.crc32c, part.size);
  }
  return sent;
}

}  // namespace airfreight
