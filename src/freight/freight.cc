#include "airfreight/freight.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "base/time.h"
#include "freight/freight_write.h"
#include "freight/ledger.h"
#include "freight/open_sealed.h"
#include "freight/place.h"
#include "freight/pull.h"
#include "freight/push.h"
#include "freight/retention.h"
#include "freight/rewrap.h"
#include "freight/seal_value.h"
#include "freight/value_reader.h"
#include "freight/value_writer.h"
#include "store/checks.h"
#include "store/for_each.h"

namespace airfreight {
namespace {

// Whether an error, after all its retries, says that no other request will fare better.
bool StoreIsDown(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kThrottled ||
         error.code == ErrorCode::kTimeout;
}

// Runs `task` for each index, many at once; results in their order. Those that were not begun
// because the caller wanted no more say so. When the store is down the rest is not tried, each item
// for as long as retries go on: they have the error of the one that found out.
template <typename T, typename Task>
std::vector<Result<T>> Many(size_t count, int connections, const Context& context,
                            const Task& task) {
  std::vector<std::optional<Result<T>>> results(count);
  std::mutex mutex;
  std::optional<Error> down;
  const Status ended =
      ForEach(count, connections, context, [&](size_t index, const Context& own) -> Status {
        AIRFREIGHT_RETURN_IF_ERROR(CheckContext(own));
        {
          const std::lock_guard lock(mutex);
          if (down) {
            results[index].emplace(Fail(*down));
            return {};
          }
        }
        results[index].emplace(task(index, own));
        if (!*results[index] && StoreIsDown(results[index]->error())) {
          const std::lock_guard lock(mutex);
          if (!down) down = results[index]->error();
        }
        return {};
      });
  std::vector<Result<T>> out;
  out.reserve(count);
  for (std::optional<Result<T>>& result : results) {
    out.push_back(result ? *std::move(result) : Result<T>(Fail(ended.error())));
  }
  return out;
}

// The place of what may be looked at: its signature first, so that what is forged learns nothing of
// the stores that there are.
Result<Place> Trusted(const std::vector<NamedStore>& stores, const Seal& seal,
                      const Reference& reference) {
  AIRFREIGHT_RETURN_IF_ERROR(seal.Check(reference, UnixSecondsNow()));
  return Locate(stores, reference);
}

// The place of what may be read, and is still to be: what comes after Locate is about its object.
Result<Place> Readable(const std::vector<NamedStore>& stores, const Seal& seal,
                       const Reference& reference) {
  AIRFREIGHT_ASSIGN_OR_RETURN(Place place, Trusted(stores, seal, reference));
  AIRFREIGHT_RETURN_IF_ERROR(CheckRetention(reference, UnixSecondsNow()));
  return place;
}

}  // namespace

Freight::Freight(std::vector<NamedStore> stores, Decision defaults, std::string owner,
                 TransferOptions transfer, std::shared_ptr<const Seal> seal)
    : stores_(std::move(stores)),
      defaults_(std::move(defaults)),
      state_(std::make_unique<FreightState>(std::move(owner), transfer, std::move(seal))) {}

Freight::~Freight() = default;

Result<Reference> Freight::Put(const Coordinate& coordinate, const Body& body,
                               const ValueInfo& info, const Attempt& attempt,
                               const Context& context) {
  return Put(Item{coordinate, body, info, attempt}, context);
}

Result<Reference> Freight::Put(const Item& item, const Context& context) {
  return PutOne(item, state_->transfer.connections, context);
}

Result<Reference> Freight::PutOne(const Item& item, int connections, const Context& context) {
  if (item.decision.value_or(defaults_).seal) return PutSealed(item, context);
  Push push(stores_, item.decision.value_or(defaults_), *state_, item.coordinate, item.info);
  const auto put = [&]() -> Result<Reference> {
    AIRFREIGHT_RETURN_IF_ERROR(push.Prepare(item.attempt, item.body.size()));
    return PutBody(push, item.body, connections, context);
  };
  return push.About(put());
}

// Encrypted piece by piece on its way into the parts, so that no second whole of it is needed.
Result<Reference> Freight::PutSealed(const Item& item, const Context& context) {
  AIRFREIGHT_ASSIGN_OR_RETURN(const std::unique_ptr<ValueWriter> writer,
                              Open(item.coordinate, item.info, item.attempt, item.decision));
  for (const ByteView segment : item.body.segments()) {
    AIRFREIGHT_RETURN_IF_ERROR(writer->Append(segment, context));
  }
  return writer->Finish(item.info, context);
}

Result<std::unique_ptr<ValueWriter>> Freight::Open(const Coordinate& coordinate,
                                                   const ValueInfo& info, const Attempt& attempt,
                                                   const std::optional<Decision>& decision) {
  auto push =
      std::make_unique<Push>(stores_, decision.value_or(defaults_), *state_, coordinate, info);
  if (Status prepared = push->Prepare(attempt, 0); !prepared) {
    return push->About(Result<std::unique_ptr<ValueWriter>>(Fail(std::move(prepared).error())));
  }
  return std::make_unique<StreamingWriter>(std::move(push), state_->sends);
}

std::vector<Result<Reference>> Freight::PutMany(const std::vector<Item>& items,
                                                const Context& context) {
  const int connections = ConnectionsOfEach(items.size());
  return Many<Reference>(
      items.size(), state_->transfer.connections, context,
      [&](size_t index, const Context& own) { return PutOne(items[index], connections, own); });
}

std::vector<Result<Buffer>> Freight::GetMany(const std::vector<Reference>& references,
                                             const Context& context) {
  const int connections = ConnectionsOfEach(references.size());
  return Many<Buffer>(references.size(), state_->transfer.connections, context,
                      [&](size_t index, const Context& own) {
                        return GetOne(references[index], connections, true, own);
                      });
}

// What is left for one of many, so that all together keep to the setting.
int Freight::ConnectionsOfEach(size_t items) const {
  const int connections = std::max(state_->transfer.connections, 1);
  return connections /
         static_cast<int>(std::clamp<size_t>(items, 1, static_cast<size_t>(connections)));
}

Result<Buffer> Freight::Get(const Reference& reference, const Context& context) {
  return GetOne(reference, state_->transfer.connections, false, context);
}

Result<Buffer> Freight::GetOne(const Reference& reference, int connections, bool one_of_many,
                               const Context& context) {
  auto place = Readable(stores_, *state_->seal, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  return About(reference.coordinate, *place,
               PullBuffer(*place, reference, *state_, {connections, one_of_many}, context));
}

Status Freight::GetToFile(const Reference& reference, const std::string& path,
                          const Context& context) {
  auto place = Readable(stores_, *state_->seal, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  return About(reference.coordinate, *place, PullToFile(*place, reference, *state_, path, context));
}

Result<std::unique_ptr<ValueReader>> Freight::OpenReader(const Reference& reference) {
  auto place = Readable(stores_, *state_->seal, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  if (Status known = CheckSealed(reference); !known) {
    return Fail(About(reference.coordinate, *place, std::move(known).error()));
  }
  return std::make_unique<RangeReader>(*std::move(place), reference, *state_);
}

Result<bool> Freight::Purge(const Reference& reference, const Context& context) {
  auto place = Trusted(stores_, *state_->seal, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  if (!place->alias.empty()) return false;
  // A row of a copied database, or one from before this deployment had its name.
  if (reference.owner != state_->owner) return false;
  auto removed = RemoveWrite(**place, place->key, reference.write, context, reference.owner);
  if (removed) state_->ledger.Forget(reference.coordinate.Hash(), reference.write);
  return About(reference.coordinate, *place, std::move(removed));
}

Result<Rewrap> Freight::RewrapKey(const Reference& reference,
                                  const std::optional<Decision>& decision, bool dry,
                                  const Context& context) {
  auto place = Trusted(stores_, *state_->seal, reference);
  if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
  return About(
      reference.coordinate, *place,
      RewrapObject(*place, reference, decision.value_or(defaults_), dry, *state_, context));
}

Result<SealedValue> Freight::SealValue(const Coordinate& coordinate, const Body& body) {
  const auto seal = [&]() -> Result<SealedValue> {
    AIRFREIGHT_RETURN_IF_ERROR(coordinate.Validate());
    AIRFREIGHT_ASSIGN_OR_RETURN(std::string write, RandomHex128());
    AIRFREIGHT_ASSIGN_OR_RETURN(
        Buffer bytes, airfreight::SealValue(body, {coordinate.Hash(), write}, state_->data_keys));
    return SealedValue{std::move(write), std::move(bytes)};
  };
  return About(coordinate, {}, seal());
}

Result<Buffer> Freight::OpenValue(const Coordinate& coordinate, const std::string& write,
                                  ByteView bytes) {
  return About(coordinate, {},
               airfreight::OpenValue(bytes, {coordinate.Hash(), write}, state_->data_keys));
}

Result<std::optional<std::string>> Freight::RewrapValue(ByteView bytes) {
  if (!PlainSize(bytes.size())) return Fail(NotOfASealedLength(bytes.size()));
  AIRFREIGHT_ASSIGN_OR_RETURN(const Envelope envelope, Envelope::Parse(bytes.last(kEnvelopeBytes)));
  const SealingKeys& keys = state_->seal->sealing;
  if (!keys.empty() && envelope.key_id == keys.newest()) return std::nullopt;
  AIRFREIGHT_ASSIGN_OR_RETURN(const Envelope rewrapped, state_->data_keys.Rewrap(envelope));
  return rewrapped.Encode();
}

Status Freight::Adopt(const Reference& reference, const Coordinate& coordinate,
                      bool external) const {
  const Seal& seal = *state_->seal;
  if (seal.Signs()) {
    AIRFREIGHT_RETURN_IF_ERROR(seal.keys.Verify(reference));
  } else if (!external) {
    return Fail(ErrorCode::kForged,
                "there is no key here that could tell who made it, and no rule of the policy says "
                "accept_external");
  }
  if (reference.coordinate != coordinate) {
    return Fail(ErrorCode::kForged,
                fmt::format("it is of another XCom ({}) than is pushed ({})",
                            reference.coordinate.ToString(), coordinate.ToString()));
  }
  AIRFREIGHT_ASSIGN_OR_RETURN(const Place place, Locate(stores_, reference));
  if (place.store->name.empty() || !place.alias.empty()) {
    return Fail(ErrorCode::kOutOfScope,
                fmt::format("its object lies in {}, which is only read from", place.root()));
  }
  if (!state_->owner.empty() && !reference.owner.empty() && reference.owner != state_->owner) {
    return Fail(ErrorCode::kInvalid, fmt::format("its deployment_id is {}, and the one here is {}",
                                                 Quoted(reference.owner), Quoted(state_->owner)));
  }
  return {};
}

Result<Reference> Freight::Sign(Reference reference, const Context& context) {
  const SigningKeys& keys = state_->seal->keys;
  if (!reference.signature.empty()) {
    AIRFREIGHT_RETURN_IF_ERROR(keys.Verify(reference));
  } else {
    auto place = Locate(stores_, reference);
    if (!place) return Fail(About(reference.coordinate, {}, std::move(place).error()));
    auto digest = [&]() -> Result<std::string> {
      AIRFREIGHT_RETURN_IF_ERROR(CheckRetention(reference, UnixSecondsNow()));
      return PullDigest(*place, reference, *state_, context);
    }();
    if (!digest) return Fail(About(reference.coordinate, *place, std::move(digest).error()));
    reference.digest = *std::move(digest);
  }
  AIRFREIGHT_RETURN_IF_ERROR(keys.Sign(&reference));
  return reference;
}

Status Freight::Settle(const Coordinate& coordinate, const Context& context,
                       std::string_view keep) {
  const std::string hash = coordinate.Hash();
  const std::optional<Written> earlier = state_->ledger.Find(hash);
  if (!earlier || earlier->write == keep) return {};
  auto removed = RemoveWritten(stores_, *earlier, context);
  if (!removed) return Fail(About(coordinate, {}, std::move(removed).error()));
  state_->ledger.Forget(hash, earlier->write);
  return {};
}

}  // namespace airfreight
