#pragma once

/// \file
/// \brief Freight's ValueReader.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "airfreight/freight.h"
#include "freight/open_sealed.h"
#include "freight/place.h"
#include "freight/push.h"

namespace airfreight {

/// See ValueReader.
class RangeReader final : public ValueReader {
 public:
  RangeReader(Place place, Reference reference, FreightState& state);

  uint64_t size() const override { return ValueSize(reference_); }
  uint64_t tail_offset() const override;
  Result<Buffer> ReadTail(const Context& context) override;
  Status SetBlocks(std::vector<uint32_t> blocks) override;
  Status SetChecks(std::vector<Check> checks) override;
  Result<std::vector<Buffer>> Read(const std::vector<Range>& ranges,
                                   const Context& context) override;

 private:
  class Sink;
  class OpeningSink;
  // Checks [first, last] of the object in one request, with what lies between them.
  struct Piece {
    size_t first = 0;
    size_t last = 0;
  };

  // Of the stored object.
  Result<GetResult> GetRange(uint64_t offset, uint64_t length, const Context& context);
  Result<Buffer> DoReadTail(const Context& context);
  Result<Buffer> OpenTail(const GetResult& got);
  Status FetchEnvelope(const Context& context);
  Result<std::vector<Buffer>> DoRead(const std::vector<Range>& ranges, const Context& context);
  static Result<Piece> Cover(const Range& range, const std::vector<Check>& checks);
  static std::vector<Piece> Plan(std::vector<Piece> runs, const std::vector<Check>& checks);
  Status Fetch(const Piece& piece, const std::vector<Check>& checks,
               const std::vector<Range>& ranges, std::vector<Buffer>& out, const Context& context);
  Status Admit(const ObjectInfo& info);
  std::string Version();
  Error Changed(Error error, const Context& context) const;
  template <typename T>
  Result<T> Here(Result<T> result) const {
    return About(reference_.coordinate, place_, std::move(result));
  }

  const Place place_;
  const Reference reference_;
  const FreightState& state_;
  PartOpener opener_;  // Of what is sealed.
  std::mutex mutex_;
  std::string version_;                               // Of the first response; empty before.
  std::shared_ptr<const std::vector<Check>> checks_;  // Null before they are set.
};

}  // namespace airfreight
