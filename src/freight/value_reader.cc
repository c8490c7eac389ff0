#include "freight/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/digest.h"
#include "freight/pull.h"
#include "transfer/for_each.h"

namespace airfreight {
namespace {

// Ranges that lie nearer than this are read in one request: what lies between costs less than the
// answer to another (at 50 MB/s, 5 ms).
constexpr uint64_t kNear = uint64_t{256} << 10;
// A longer run is read in several requests at once; whole blocks, and the size of an upload's part.
constexpr uint64_t kPieceBytes = uint64_t{8} << 20;

uint64_t BlockStart(uint64_t offset) { return offset / kBlockBytes * kBlockBytes; }

}  // namespace

RangeReader::RangeReader(Place place, Reference reference, const FreightState& state)
    : place_(std::move(place)), reference_(std::move(reference)), state_(state) {}

uint64_t RangeReader::tail_offset() const {
  return reference_.tail ? reference_.tail->offset : reference_.size_bytes;
}

Result<Buffer> RangeReader::ReadTail(const Context& context) { return Here(DoReadTail(context)); }

Result<Buffer> RangeReader::DoReadTail(const Context& context) {
  if (!reference_.tail) {
    return Fail(ErrorCode::kInvalid,
                "the reference tells of no tail: its object was not written to be read in parts");
  }
  const uint64_t length = reference_.size_bytes - reference_.tail->offset;
  if (length == 0) return Buffer();
  GetOptions options;
  options.offset = reference_.tail->offset;
  options.length = length;
  options.expected_size = length;
  options.if_version = Version();
  auto got = (*place_).Get(place_.key, options, context);
  if (!got) return Fail(Changed(std::move(got).error(), context));
  if (Status same = Admit(got->info); !same) {
    return Fail(Changed(std::move(same).error(), context));
  }
  const std::string digest = Crc32cText(Crc32c(got->body.view()));
  if (got->body.size() != length || digest != reference_.tail->digest) {
    return Fail(NotAsPromised(got->info, reference_,
                              fmt::format("the digest of the {} bytes of its tail is {}, and {} "
                                          "was written",
                                          got->body.size(), digest, reference_.tail->digest)));
  }
  return std::move(got->body);
}

Status RangeReader::SetBlocks(std::vector<uint32_t> blocks) {
  const uint64_t expected =
      tail_offset() / kBlockBytes + (tail_offset() % kBlockBytes != 0 ? 1 : 0);
  if (blocks.size() != expected) {
    return Here(Status(Fail(ErrorCode::kInvalid,
                            fmt::format("the table has the checksums of {} blocks, and the object "
                                        "has {}",
                                        blocks.size(), expected))));
  }
  const std::lock_guard lock(mutex_);
  blocks_ = std::move(blocks);
  blocks_set_ = true;
  return {};
}

Result<std::vector<Buffer>> RangeReader::Read(const std::vector<Range>& ranges,
                                              const Context& context) {
  return Here(DoRead(ranges, context));
}

Result<std::vector<Buffer>> RangeReader::DoRead(const std::vector<Range>& ranges,
                                                const Context& context) {
  std::vector<uint32_t> blocks;
  {
    const std::lock_guard lock(mutex_);
    if (!blocks_set_) {
      return Fail(ErrorCode::kInvalid,
                  "no table of checksums was set: ranges could not be checked");
    }
    blocks = blocks_;
  }
  std::vector<Buffer> out;
  for (const Range& range : ranges) {
    if (range.offset > tail_offset() || range.length > tail_offset() - range.offset) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("the range of {} bytes at {} reaches beyond {}, where the blocks end",
                              range.length, range.offset, tail_offset()));
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(range.length));
    buffer.Resize(range.length);
    out.push_back(std::move(buffer));
  }
  const std::vector<Piece> pieces = Plan(ranges);
  size_t done = 0;
  if (!pieces.empty() && Version().empty()) {
    // All on the version of the first response, which has to be known before the others are asked.
    AIRFREIGHT_RETURN_IF_ERROR(Fetch(pieces.front(), blocks, ranges, out, context));
    done = 1;
  }
  const int connections = (*place_).capabilities().parallel ? state_.transfer.connections : 1;
  AIRFREIGHT_RETURN_IF_ERROR(
      ForEach(pieces.size() - done, connections, context, [&](size_t index, const Context& own) {
        return Fetch(pieces[done + index], blocks, ranges, out, own);
      }));
  return out;
}

std::vector<RangeReader::Piece> RangeReader::Plan(const std::vector<Range>& ranges) const {
  std::vector<Piece> runs;
  for (const Range& range : ranges) {
    if (range.length == 0) continue;
    const uint64_t end = range.offset + range.length;
    // Up to the end of the block; the last one is shorter.
    const uint64_t last = BlockStart(end - 1);
    const uint64_t rest = tail_offset() - last;
    runs.push_back({BlockStart(range.offset), last + std::min(rest, kBlockBytes)});
  }
  std::sort(runs.begin(), runs.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::vector<Piece> merged;
  for (const Piece& run : runs) {
    if (!merged.empty() &&
        (run.begin <= merged.back().end || run.begin - merged.back().end < kNear)) {
      merged.back().end = std::max(merged.back().end, run.end);
    } else {
      merged.push_back(run);
    }
  }
  std::vector<Piece> pieces;
  for (const Piece& run : merged) {
    for (uint64_t begin = run.begin; begin < run.end; begin += kPieceBytes) {
      pieces.push_back({begin, begin + std::min(kPieceBytes, run.end - begin)});
    }
  }
  return pieces;
}

// Checks blocks as they come, and copies what is asked for out of them.
class RangeReader::Sink final : public ReadSink {
 public:
  Sink(RangeReader& reader, const Piece& piece, const std::vector<uint32_t>& blocks,
       const std::vector<Range>& ranges, std::vector<Buffer>& out)
      : reader_(reader),
        blocks_(blocks),
        ranges_(ranges),
        out_(out),
        end_(piece.end),
        position_(piece.begin) {
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Range& range = ranges[i];
      if (range.offset < piece.end && range.offset + range.length > piece.begin) {
        touched_.push_back(i);
      }
    }
  }

  Status Begin(const ObjectInfo& info) override {
    info_ = info;
    return reader_.Admit(info);
  }

  Status Write(ByteView bytes) override {
    while (!bytes.empty()) {
      if (position_ == end_) return Fail(ErrorCode::kInternal, "more bytes than were asked for");
      const uint64_t block_end = std::min(BlockStart(position_) + kBlockBytes, end_);
      const ByteView piece = bytes.first(std::min<uint64_t>(bytes.size(), block_end - position_));
      crc_ = ExtendCrc32c(crc_, piece);
      CopyOut(piece);
      position_ += piece.size();
      bytes = bytes.subspan(piece.size());
      if (position_ == block_end) AIRFREIGHT_RETURN_IF_ERROR(EndBlock());
    }
    return {};
  }

  bool complete() const { return position_ == end_; }

 private:
  void CopyOut(ByteView piece) {
    for (const size_t index : touched_) {
      const Range& range = ranges_[index];
      const uint64_t from = std::max(range.offset, position_);
      const uint64_t to = std::min(range.offset + range.length, position_ + piece.size());
      if (from >= to) continue;
      std::memcpy(out_[index].data() + (from - range.offset), piece.data() + (from - position_),
                  to - from);
    }
  }

  Status EndBlock() {
    const uint64_t number = (position_ - 1) / kBlockBytes;
    const uint32_t crc = std::exchange(crc_, 0);
    if (crc == blocks_[number]) return {};
    return Fail(NotAsPromised(
        info_, reader_.reference_,
        fmt::format("the checksum of bytes {} to {} is {:08x}, and {:08x} was written",
                    number * kBlockBytes, position_ - 1, crc, blocks_[number])));
  }

  RangeReader& reader_;
  const std::vector<uint32_t>& blocks_;
  const std::vector<Range>& ranges_;
  std::vector<Buffer>& out_;
  std::vector<size_t> touched_;
  const uint64_t end_;
  uint64_t position_;
  uint32_t crc_ = 0;
  ObjectInfo info_;
};

Status RangeReader::Fetch(const Piece& piece, const std::vector<uint32_t>& blocks,
                          const std::vector<Range>& ranges, std::vector<Buffer>& out,
                          const Context& context) {
  GetOptions options;
  options.offset = piece.begin;
  options.length = piece.end - piece.begin;
  options.expected_size = options.length;
  options.if_version = Version();
  Sink sink(*this, piece, blocks, ranges, out);
  auto read = (*place_).Read(place_.key, options, sink, context);
  if (!read) return Fail(Changed(std::move(read).error(), context));
  if (!sink.complete()) {
    return Fail(NotAsPromised(*read, reference_, "the store ended the body early"));
  }
  return {};
}

// Whether a response is of the one object that all are to be of.
Status RangeReader::Admit(const ObjectInfo& info) {
  if (info.size != reference_.size_bytes) {
    return Fail(NotAsPromised(
        info, reference_,
        fmt::format("it has {} bytes, and {} were written", info.size, reference_.size_bytes)));
  }
  const std::lock_guard lock(mutex_);
  if (version_.empty()) version_ = info.version;
  if (version_ == info.version) return {};
  return Fail(ErrorCode::kConditionFailed, "the object has changed");
}

std::string RangeReader::Version() {
  const std::lock_guard lock(mutex_);
  return version_;
}

// ConditionFailed never leaves Freight: it is said who changed the object.
Error RangeReader::Changed(Error error, const Context& context) const {
  // A range that the object does not have is one of an object that has become smaller.
  const bool outside = error.code == ErrorCode::kInvalid;
  if (error.code != ErrorCode::kConditionFailed && !outside) {
    return ReadError(std::move(error), reference_);
  }
  const auto there = (*place_).Head(place_.key, context);
  if (!there) return ReadError(there.error(), reference_);
  if (outside && there->size == reference_.size_bytes) return error;
  Error changed = NotAsPromised(
      *there, reference_,
      fmt::format("it has {} bytes, and {} were written", there->size, reference_.size_bytes));
  if (outside) return changed;
  if (changed.code != ErrorCode::kReplaced) {
    // The same write, put there again: by a copy, for one.
    changed.code = ErrorCode::kReplaced;
    changed.message = "the object was put in its place again while it was read. Pull again";
  }
  return changed;
}

}  // namespace airfreight
