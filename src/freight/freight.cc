#include "airfreight/freight.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include "base/digest.h"
#include "base/time.h"
#include "base/utf8.h"
#include "freight/attempt.h"
#include "freight/freight_write.h"
#include "freight/ledger.h"
#include "freight/place.h"
#include "freight/push.h"
#include "freight/value_writer.h"
#include "store/checks.h"
#include "transfer/for_each.h"

namespace airfreight {
namespace {
constexpr size_t kDigestPiece = size_t{16} << 20;

Result<std::string> Digest(DigestKind kind, const Body& body, const Context& context) {
  Digester digester(kind);
  for (ByteView rest : body.segments()) {
    while (!rest.empty()) {
      if (context.IsCancelled()) return Fail(ErrorCode::kCancelled, "the caller asked to stop");
      if (context.Expired()) return Fail(ErrorCode::kTimeout, "the deadline has passed");
      const ByteView piece = rest.first(std::min(rest.size(), kDigestPiece));
      digester.Update(piece);
      rest = rest.subspan(piece.size());
    }
  }
  return digester.Finish();
}

// Checks what was got against what the row promises.
Result<Buffer> Verify(GetResult got, const Reference& reference, DigestKind kind,
                      const Context& context) {
  const uint64_t size = got.body.size();
  std::string digest;
  if (size == reference.size_bytes) {
    AIRFREIGHT_ASSIGN_OR_RETURN(digest, Digest(kind, Body(got.body.view()), context));
    // Whoever wrote it: these are the bytes that the reference promises.
    if (digest == reference.digest) return std::move(got.body);
  }
  const std::optional<WriteStamp> stamp = ParseWriteMetadata(got.info.metadata);
  if (stamp && stamp->write != reference.write) {
    return Fail(
        ErrorCode::kReplaced,
        fmt::format("a later push (attempt {}, started {}) has replaced the object that this row "
                    "refers to (attempt {}, written {}). Pull again; if the row stays behind, "
                    "clear the task that pushes",
                    stamp->attempt, FormatIso8601(stamp->started_micros / 1'000'000),
                    reference.attempt, VisibleText(reference.written)));
  }
  if (size != reference.size_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the object is damaged: it has {} bytes, and {} were "
                            "written",
                            size, reference.size_bytes));
  }
  return Fail(ErrorCode::kCorrupt,
              fmt::format("the object is damaged: the digest of its {} bytes is {}, "
                          "and {} was written",
                          size, digest, reference.digest));
}

Result<Buffer> GetAt(const Place& place, const Reference& reference, const Context& context) {
  const std::optional<DigestKind> kind = DigestKindOf(reference.digest);
  if (!kind) {
    return Fail(
        ErrorCode::kNewerFormat,
        fmt::format(
            "the reference has a digest that this release does not know ('{}'); install the "
            "release of airfreight that wrote it",
            VisibleText(reference.digest.substr(0, reference.digest.find(':')))));
  }
  GetOptions options;
  options.expected_size = reference.size_bytes;  // A hint; the store's own answer sizes the buffer.
  auto got = (*place).Get(place.key, options, context);
  if (got) return Verify(std::move(got).value(), reference, *kind, context);
  Error error = std::move(got).error();
  const bool denied = error.code == ErrorCode::kNotFoundOrDenied;
  if (denied || error.code == ErrorCode::kNotFound) {
    error.message = fmt::format("the object of this XCom, written {}, is missing{}: {}",
                                VisibleText(reference.written), denied ? " or may not be read" : "",
                                error.message);
  }
  return Fail(std::move(error));
}

// The results of tasks that were never begun, because the caller wanted no more.
template <typename T>
void FillUnbegun(std::vector<std::optional<Result<T>>>& results, const Status& why,
                 std::vector<Result<T>>* out) {
  out->reserve(results.size());
  for (std::optional<Result<T>>& result : results) {
    if (result) {
      out->push_back(*std::move(result));
    } else {
      out->push_back(
          Fail(why ? Error{ErrorCode::kCancelled, "the caller asked to stop"} : why.error()));
    }
  }
}

}  // namespace

Freight::Freight(std::vector<NamedStore> stores, Policy policy, std::string owner,
                 TransferOptions transfer)
    : stores_(std::move(stores)),
      policy_(std::move(policy)),
      state_(std::make_unique<FreightState>(std::move(owner), transfer)) {}

Freight::~Freight() = default;

Result<Reference> Freight::Put(const Coordinate& coordinate, const Body& body,
                               const ValueInfo& info, const Attempt& attempt,
                               const Context& context) {
  Push push(stores_, policy_, *state_, coordinate, info);
  const auto put = [&]() -> Result<Reference> {
    AIRFREIGHT_RETURN_IF_ERROR(push.Prepare(attempt, body.size()));
    return PutBody(push, body, context);
  };
  return push.About(put());
}

Result<std::unique_ptr<ValueWriter>> Freight::Open(const Coordinate& coordinate,
                                                   const ValueInfo& info, const Attempt& attempt) {
  auto push = std::make_unique<Push>(stores_, policy_, *state_, coordinate, info);
  if (Status prepared = push->Prepare(attempt, 0); !prepared) {
    return push->About(Result<std::unique_ptr<ValueWriter>>(Fail(std::move(prepared).error())));
  }
  return std::make_unique<StreamingWriter>(std::move(push), state_->sends);
}

std::vector<Result<Reference>> Freight::PutMany(const std::vector<Item>& items,
                                                const Context& context) {
  std::vector<std::optional<Result<Reference>>> results(items.size());
  const Status ended = ForEach(items.size(), state_->transfer.connections, context,
                               [&](size_t index, const Context& own) -> Status {
                                 AIRFREIGHT_RETURN_IF_ERROR(CheckContext(own));
                                 const Item& item = items[index];
                                 results[index] =
                                     Put(item.coordinate, item.body, item.info, item.attempt, own);
                                 return {};
                               });
  std::vector<Result<Reference>> out;
  FillUnbegun(results, ended, &out);
  return out;
}

Result<Buffer> Freight::Get(const Reference& reference, const Context& context) {
  auto place = Locate(stores_, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  return About(reference.coordinate, *place, GetAt(*place, reference, context));
}

Result<bool> Freight::Purge(const Reference& reference, const Context& context) {
  auto place = Locate(stores_, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  auto removed = RemoveWrite(**place, place->key, reference.write, context);
  if (removed) state_->ledger.Forget(reference.coordinate.Hash(), reference.write);
  return About(reference.coordinate, *place, std::move(removed));
}

Status Freight::Settle(const Coordinate& coordinate, const Context& context) {
  const std::string hash = coordinate.Hash();
  const std::optional<Written> earlier = state_->ledger.Find(hash);
  if (!earlier) return {};
  auto removed = RemoveWritten(stores_, *earlier, context);
  if (!removed) return Fail(About(coordinate, {}, std::move(removed).error()));
  state_->ledger.Forget(hash, earlier->write);
  return {};
}

}  // namespace airfreight
