#include "freight/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/digest.h"
#include "freight/pull.h"
#include "store/for_each.h"

namespace airfreight {
namespace {

// Ranges that lie nearer than this are read in one request: what lies between costs less than the
// answer to another (at 50 MB/s, 5 ms).
constexpr uint64_t kNear = uint64_t{256} << 10;
// A longer run is read in several requests at once, each of whole blocks or runs that have a
// checksum: the size of an upload's part.
constexpr uint64_t kPieceBytes = uint64_t{8} << 20;

}  // namespace

RangeReader::RangeReader(Place place, Reference reference, FreightState& state)
    : place_(std::move(place)),
      reference_(std::move(reference)),
      state_(state),
      opener_(reference_, state.data_keys) {}

uint64_t RangeReader::tail_offset() const {
  return reference_.tail ? reference_.tail->offset : size();
}

Result<GetResult> RangeReader::GetRange(uint64_t offset, uint64_t length, const Context& context) {
  GetOptions options;
  options.offset = offset;
  options.length = length;
  options.expected_size = length;
  options.if_version = Version();
  auto got = (*place_).Get(place_.key, options, context);
  if (!got) return Fail(Changed(std::move(got).error(), context));
  if (Status same = Admit(got->info); !same) {
    return Fail(Changed(std::move(same).error(), context));
  }
  if (got->body.size() == length) return got;
  return Fail(NotAsPromised(got->info, reference_, "the store ended the body early"));
}

Result<Buffer> RangeReader::ReadTail(const Context& context) { return Here(DoReadTail(context)); }

Result<Buffer> RangeReader::DoReadTail(const Context& context) {
  if (!reference_.tail) {
    return Fail(ErrorCode::kInvalid,
                "the reference tells of no tail: its object was not written to be read in parts");
  }
  if (size() == reference_.tail->offset) return Buffer();
  // Of what is sealed all of the frame that it begins in; the envelope, which is behind, with it.
  const uint64_t first = reference_.tail->offset / kFrameBytes;
  const uint64_t offset =
      reference_.sealed != 0 ? PartOpener::Begin(first) : reference_.tail->offset;
  AIRFREIGHT_ASSIGN_OR_RETURN(GetResult got,
                              GetRange(offset, reference_.size_bytes - offset, context));
  const uint64_t envelope = reference_.sealed != 0 ? kEnvelopeBytes : 0;
  const ByteView checked = got.body.view().first(got.body.size() - envelope);
  const std::string digest = Crc32cText(Crc32c(checked));
  if (digest != reference_.tail->digest) {
    return Fail(NotAsPromised(got.info, reference_,
                              fmt::format("the digest of the {} bytes of its tail is {}, and {} "
                                          "was written",
                                          checked.size(), digest, reference_.tail->digest)));
  }
  if (reference_.sealed != 0) return OpenTail(got);
  return std::move(got.body);
}

// Of frames up to the end, and the envelope.
Result<Buffer> RangeReader::OpenTail(const GetResult& got) {
  AIRFREIGHT_RETURN_IF_ERROR(opener_.SetEnvelope(got.body.view().last(kEnvelopeBytes), got.info));
  const uint64_t offset = reference_.tail->offset;
  AIRFREIGHT_ASSIGN_OR_RETURN(Buffer tail, Buffer::Allocate(size() - offset));
  AIRFREIGHT_ASSIGN_OR_RETURN(Buffer frame, Buffer::Allocate(kFrameBytes));
  frame.Resize(kFrameBytes);
  ByteView rest = got.body.view();
  for (uint64_t index = offset / kFrameBytes; index <= opener_.last(); ++index) {
    const uint64_t plain = opener_.PlainBytes(index);
    const uint64_t sealed = opener_.SealedBytes(index, index + 1);
    AIRFREIGHT_RETURN_IF_ERROR(opener_.Open(index, rest.first(sealed), frame.data(), got.info));
    rest = rest.subspan(sealed);
    const uint64_t skip = std::max(offset, index * kFrameBytes) - index * kFrameBytes;
    (void)tail.Append(frame.view().subspan(skip, plain - skip));
  }
  return tail;
}

Status RangeReader::FetchEnvelope(const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const GetResult got, GetRange(reference_.size_bytes - kEnvelopeBytes,
                                                            kEnvelopeBytes, context));
  return opener_.SetEnvelope(got.body.view(), got.info);
}

Status RangeReader::SetBlocks(std::vector<uint32_t> blocks) {
  const uint64_t end = tail_offset();
  const uint64_t expected = end / kBlockBytes + (end % kBlockBytes != 0 ? 1 : 0);
  if (blocks.size() != expected) {
    return Here(Status(Fail(ErrorCode::kInvalid,
                            fmt::format("the table has the checksums of {} blocks, and the object "
                                        "has {}",
                                        blocks.size(), expected))));
  }
  std::vector<Check> checks;
  checks.reserve(blocks.size());
  for (const uint32_t crc : blocks) {
    const uint64_t begin = checks.size() * kBlockBytes;
    checks.push_back({begin, std::min(kBlockBytes, end - begin), crc});
  }
  return SetChecks(std::move(checks));
}

Status RangeReader::SetChecks(std::vector<Check> checks) {
  uint64_t position = 0;
  for (const Check& check : checks) {
    if (check.length == 0 || check.offset < position || check.offset > tail_offset() ||
        check.length > tail_offset() - check.offset) {
      return Here(Status(Fail(ErrorCode::kInvalid,
                              fmt::format("a checksum of {} bytes at {} can't be: those before it "
                                          "end at {}, and the tail begins at {}",
                                          check.length, check.offset, position, tail_offset()))));
    }
    position = check.offset + check.length;
  }
  auto shared = std::make_shared<const std::vector<Check>>(std::move(checks));
  const std::lock_guard lock(mutex_);
  checks_ = std::move(shared);
  return {};
}

Result<std::vector<Buffer>> RangeReader::Read(const std::vector<Range>& ranges,
                                              const Context& context) {
  return Here(DoRead(ranges, context));
}

Result<std::vector<Buffer>> RangeReader::DoRead(const std::vector<Range>& ranges,
                                                const Context& context) {
  std::shared_ptr<const std::vector<Check>> checks;
  {
    const std::lock_guard lock(mutex_);
    checks = checks_;
  }
  if (!checks) {
    return Fail(ErrorCode::kInvalid, "no table of checksums was set: ranges could not be checked");
  }
  std::vector<Buffer> out;
  std::vector<Piece> runs;
  for (const Range& range : ranges) {
    if (range.offset > tail_offset() || range.length > tail_offset() - range.offset) {
      return Fail(ErrorCode::kInvalid,
                  fmt::format("the range of {} bytes at {} reaches beyond {}, where the blocks end",
                              range.length, range.offset, tail_offset()));
    }
    if (range.length > 0) {
      AIRFREIGHT_ASSIGN_OR_RETURN(const Piece run, Cover(range, *checks));
      runs.push_back(run);
    }
  }
  for (const Range& range : ranges) {
    AIRFREIGHT_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(range.length));
    buffer.Resize(range.length);
    out.push_back(std::move(buffer));
  }
  const std::vector<Piece> pieces = Plan(std::move(runs), *checks);
  if (reference_.sealed != 0 && !pieces.empty() && !opener_.ready()) {
    AIRFREIGHT_RETURN_IF_ERROR(FetchEnvelope(context));  // Whose tail has not been read.
  }
  size_t done = 0;
  if (!pieces.empty() && Version().empty()) {
    // All on the version of the first response, which has to be known before the others are asked.
    AIRFREIGHT_RETURN_IF_ERROR(Fetch(pieces.front(), *checks, ranges, out, context));
    done = 1;
  }
  const int connections = (*place_).capabilities().parallel ? state_.transfer.connections : 1;
  AIRFREIGHT_RETURN_IF_ERROR(
      ForEach(pieces.size() - done, connections, context, [&](size_t index, const Context& own) {
        return Fetch(pieces[done + index], *checks, ranges, out, own);
      }));
  return out;
}

// The checks that a range, which is not empty, lies in.
Result<RangeReader::Piece> RangeReader::Cover(const Range& range,
                                              const std::vector<Check>& checks) {
  const auto after = std::upper_bound(
      checks.begin(), checks.end(), range.offset,
      [](uint64_t offset, const Check& check) { return offset < check.offset + check.length; });
  Piece piece;
  piece.first = static_cast<size_t>(after - checks.begin());
  uint64_t covered = range.offset;
  for (size_t i = piece.first; i < checks.size() && checks[i].offset <= covered; ++i) {
    piece.last = i;
    covered = checks[i].offset + checks[i].length;
    if (covered >= range.offset + range.length) return piece;
  }
  return Fail(ErrorCode::kInvalid, fmt::format("there is no checksum for all of the {} bytes at {}",
                                               range.length, range.offset));
}

std::vector<RangeReader::Piece> RangeReader::Plan(std::vector<Piece> runs,
                                                  const std::vector<Check>& checks) {
  const auto begin = [&](const Piece& run) { return checks[run.first].offset; };
  const auto end = [&](size_t check) { return checks[check].offset + checks[check].length; };
  std::sort(runs.begin(), runs.end(),
            [](const Piece& a, const Piece& b) { return a.first < b.first; });
  std::vector<Piece> merged;
  for (const Piece& run : runs) {
    if (!merged.empty() &&
        (run.first <= merged.back().last || begin(run) - end(merged.back().last) < kNear)) {
      merged.back().last = std::max(merged.back().last, run.last);
    } else {
      merged.push_back(run);
    }
  }
  std::vector<Piece> pieces;
  for (const Piece& run : merged) {
    Piece piece{run.first, run.first};
    for (size_t i = run.first; i <= run.last; ++i) {
      piece.last = i;
      if (i < run.last && end(i) - begin(piece) < kPieceBytes) continue;
      pieces.push_back(piece);
      piece.first = i + 1;
    }
  }
  return pieces;
}

// Checks runs as they come, and copies what is asked for out of them.
class RangeReader::Sink final : public ReadSink {
 public:
  Sink(RangeReader& reader, const Piece& piece, const std::vector<Check>& checks,
       const std::vector<Range>& ranges, std::vector<Buffer>& out)
      : reader_(reader),
        checks_(checks),
        ranges_(ranges),
        out_(out),
        check_(piece.first),
        last_(piece.last),
        position_(checks[piece.first].offset) {
    const uint64_t end = checks[piece.last].offset + checks[piece.last].length;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Range& range = ranges[i];
      if (range.offset < end && range.offset + range.length > position_) touched_.push_back(i);
    }
  }

  Status Begin(const ObjectInfo& info) override {
    info_ = info;
    return reader_.Admit(info);
  }

  Status Write(ByteView bytes) override {
    while (!bytes.empty()) {
      if (complete()) return Fail(ErrorCode::kInternal, "more bytes than were asked for");
      const Check& check = checks_[check_];
      const bool between = position_ < check.offset;
      const uint64_t end = between ? check.offset : check.offset + check.length;
      const ByteView run = bytes.first(std::min<uint64_t>(bytes.size(), end - position_));
      if (!between) {
        crc_ = ExtendCrc32c(crc_, run);
        CopyOut(run);
      }
      position_ += run.size();
      bytes = bytes.subspan(run.size());
      if (!between && position_ == end) AIRFREIGHT_RETURN_IF_ERROR(EndCheck(check));
    }
    return {};
  }

  bool complete() const { return check_ > last_; }

 private:
  void CopyOut(ByteView run) {
    for (const size_t index : touched_) {
      const Range& range = ranges_[index];
      const uint64_t from = std::max(range.offset, position_);
      const uint64_t to = std::min(range.offset + range.length, position_ + run.size());
      if (from >= to) continue;
      std::memcpy(out_[index].data() + (from - range.offset), run.data() + (from - position_),
                  to - from);
    }
  }

  Status EndCheck(const Check& check) {
    ++check_;
    const uint32_t crc = std::exchange(crc_, 0);
    if (crc == check.crc32c) return {};
    return Fail(NotAsPromised(
        info_, reader_.reference_,
        fmt::format("the checksum of bytes {} to {} is {:08x}, and {:08x} was written",
                    check.offset, position_ - 1, crc, check.crc32c)));
  }

  RangeReader& reader_;
  const std::vector<Check>& checks_;
  const std::vector<Range>& ranges_;
  std::vector<Buffer>& out_;
  std::vector<size_t> touched_;
  size_t check_;
  const size_t last_;
  uint64_t position_;
  uint32_t crc_ = 0;
  ObjectInfo info_;
};

// Gathers frames as they come, opens them and passes on what lies in a run of the value's bytes.
class RangeReader::OpeningSink final : public ReadSink {
 public:
  /// [begin, end) of the value, which is not empty.
  OpeningSink(RangeReader& reader, Sink& sink, uint64_t begin, uint64_t end)
      : reader_(reader), sink_(sink), begin_(begin), end_(end), index_(begin / kFrameBytes) {}

  Status Begin(const ObjectInfo& info) override {
    info_ = info;
    AIRFREIGHT_ASSIGN_OR_RETURN(frame_, Buffer::Allocate(kSealedFrameBytes));
    return sink_.Begin(info);
  }

  Status Write(ByteView bytes) override {
    while (!bytes.empty()) {
      if (index_ * kFrameBytes >= end_) {
        return Fail(ErrorCode::kInternal, "more bytes than were asked for");
      }
      const uint64_t whole = reader_.opener_.SealedBytes(index_, index_ + 1);
      const ByteView piece = bytes.first(std::min<uint64_t>(bytes.size(), whole - frame_.size()));
      (void)frame_.Append(piece);
      bytes = bytes.subspan(piece.size());
      if (frame_.size() == whole) AIRFREIGHT_RETURN_IF_ERROR(Pass());
    }
    return {};
  }

 private:
  Status Pass() {
    AIRFREIGHT_RETURN_IF_ERROR(reader_.opener_.Open(index_, frame_.view(), frame_.data(), info_));
    const uint64_t at = index_ * kFrameBytes;
    const uint64_t from = std::max(begin_, at) - at;
    const uint64_t to = std::min(end_, at + reader_.opener_.PlainBytes(index_)) - at;
    Status passed = sink_.Write(frame_.view().subspan(from, to - from));
    frame_.Resize(0);
    ++index_;
    return passed;
  }

  RangeReader& reader_;
  Sink& sink_;
  const uint64_t begin_;
  const uint64_t end_;
  uint64_t index_;
  Buffer frame_;
  ObjectInfo info_;
};

Status RangeReader::Fetch(const Piece& piece, const std::vector<Check>& checks,
                          const std::vector<Range>& ranges, std::vector<Buffer>& out,
                          const Context& context) {
  const uint64_t begin = checks[piece.first].offset;
  const uint64_t end = checks[piece.last].offset + checks[piece.last].length;
  GetOptions options;
  options.offset = begin;
  options.length = end - begin;
  if (reference_.sealed != 0) {
    const uint64_t first = begin / kFrameBytes;
    options.offset = PartOpener::Begin(first);
    options.length = opener_.SealedBytes(first, (end - 1) / kFrameBytes + 1);
  }
  options.expected_size = options.length;
  options.if_version = Version();
  Sink sink(*this, piece, checks, ranges, out);
  OpeningSink opening(*this, sink, begin, end);
  auto read =
      (*place_).Read(place_.key, options,
                     reference_.sealed != 0 ? static_cast<ReadSink&>(opening) : sink, context);
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
  AIRFREIGHT_RETURN_IF_ERROR(CheckStamp(place_, info, reference_, *state_.seal));
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
