#include "transfer/send_body.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/crc32c.h"
#include "store/checks.h"
#include "store/for_each.h"

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

/// Keeps the others back while the first part is under way, for a while.
///
/// Threads: any number in Wait, one in End.
class Hold {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Hold(std::chrono::milliseconds most)
      : over_(most.count() <= 0), began_(Clock::now()), until_(began_ + most) {}

  void Wait() {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_until(lock, until_, [this] { return over_; })) over_ = true;
  }
  /// How long it took if nobody else has begun.
  std::optional<std::chrono::nanoseconds> End() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(over_, true)) return std::nullopt;
    ended_.notify_all();
    return Clock::now() - began_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_;
  const Clock::time_point began_;
  const Clock::time_point until_;
};

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
                          int connections, Digester* digester, std::chrono::milliseconds hold_for,
                          const Context& context) {
  const BodySlices slices(body);
  const auto count = static_cast<size_t>(plan.CountFor(body.size()));
  SentBody sent;
  sent.parts.resize(count);
  Hold hold(hold_for);
  const auto send = [&](size_t index, const Context& own) -> Status {
    const int number = static_cast<int>(index) + 1;
    const uint64_t offset = plan.Offset(number);
    const Body part = slices.Slice(offset, std::min(plan.PartBytes(number), body.size() - offset));
    uint32_t crc = 0;
    for (const ByteView segment : part.segments()) crc = ExtendCrc32c(crc, segment);
    if (index > 0) hold.Wait();
    auto done = upload.PutPart(number, offset, part, crc, own);
    if (index == 0) sent.first_alone = hold.End();
    AIRFREIGHT_ASSIGN_OR_RETURN(sent.parts[index], std::move(done));
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
