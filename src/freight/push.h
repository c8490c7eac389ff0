#pragma once

/// \file
/// \brief One push of one value: where it goes, who writes it, and the reference that comes of it.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "airfreight/freight.h"
#include "freight/attempt.h"
#include "freight/freight_write.h"
#include "freight/ledger.h"
#include "freight/place.h"
#include "seal/frames.h"
#include "seal/seal.h"
#include "transfer/memory_budget.h"

namespace airfreight {

/// \brief What all pushes and pulls of one Freight share.
///
/// Threads: may be shared.
struct FreightState {
  FreightState(std::string owner_name, const TransferOptions& options,
               std::shared_ptr<const Seal> how = nullptr)
      : owner(std::move(owner_name)),
        transfer(options),
        seal(how != nullptr ? std::move(how) : std::make_shared<const Seal>()),
        data_keys(seal->sealing),
        sends(MemoryOf(options) / 2),
        pulls(MemoryOf(options) / 2) {}

  const std::string owner;
  const TransferOptions transfer;
  const std::shared_ptr<const Seal> seal;
  DataKeys data_keys;
  Ledger ledger;
  /// One half of the memory is for what is held on its way out,
  MemoryBudget sends;
  /// the other is a gate for pulls that are larger than it, so that they come one after the other.
  /// Not one budget: a thread that pulls while it feeds a writer would wait for itself.
  MemoryBudget pulls;

 private:
  static uint64_t MemoryOf(const TransferOptions& options) {
    return options.memory_bytes > 0 ? options.memory_bytes : DefaultMemoryBudget(options.slots);
  }
};

/// What is known of an object when all of it has been sent.
struct ObjectFacts {
  uint64_t size = 0;
  std::string digest;
  std::optional<Reference::Tail> tail;
};

/// \brief A push from what was decided to its reference.
///
/// Threads: one at a time. Ownership: must not outlive the Freight whose stores and state it has.
/// Blocking: Publish. Errors: as Freight::Put, without the coordinate in their messages; see About.
class Push {
 public:
  Push(const std::vector<NamedStore>& stores, Decision decision, FreightState& state,
       Coordinate coordinate, ValueInfo info);

  /// Checks everything that can be checked before a byte is sent: an object whose
  /// reference could not be written down would be an orphan. \param size 0 when it is not known.
  Status Prepare(const Attempt& attempt, uint64_t size);

  ObjectStore& store() const { return *place_; }
  const std::string& key() const { return place_.key; }
  const Decision& decision() const { return decision_; }
  const ValueInfo& info() const { return info_; }
  const FreightState& state() const { return state_; }
  /// The key of the object to be, where the decision seals it. Errors: as DataKeys.
  Result<DataKeys::Made> NewObjectKey() const { return state_.data_keys.ForNewObject(); }
  FrameBinding Binding() const { return {stamp_.coordinate, stamp_.write}; }
  /// TooLarge above a limit of the settings or of the store.
  Status CheckSize(uint64_t size) const;
  /// For the object: content type and metadata.
  PutOptions Options() const;
  /// What one connection took to send so much, for the whole process; and whether the last that was
  /// noted was so fast that a value in parts would not be sooner there.
  void NoteConnection(uint64_t bytes, std::chrono::nanoseconds time) const;
  bool IsFast() const;
  /// True once for each store: one trial costs every later upload nothing.
  bool TakeTrial() const;
  /// What a later call knows better: all that tells of the value.
  void Describe(const ValueInfo& info);

  /// Writes the object in order and gives its reference; remembers the write, and takes away what
  /// this process wrote for the same coordinate elsewhere. `facts` are looked at after the write.
  Result<Reference> Publish(ObjectWriter& writer, const ObjectFacts& facts, const Context& context);

  template <typename T>
  Result<T> About(Result<T> result) const {
    return airfreight::About(coordinate_, place_, std::move(result));
  }

 private:
  static Decision Sealed(Decision decision, const Seal& seal);
  Reference Draft(const ObjectFacts& facts) const;

  const std::vector<NamedStore>& stores_;
  const Decision decision_;
  FreightState& state_;
  const Coordinate coordinate_;
  ValueInfo info_;
  Place place_;
  WriteStamp stamp_;
  std::optional<int64_t> expires_unix_;
};

/// Removes what this process has written, where it still lies there.
Result<bool> RemoveWritten(const std::vector<NamedStore>& stores, const Written& written,
                           const Context& context);

/// Puts `body` in one request. `crc32c` of it, where it is known.
Result<Reference> PutWhole(Push& push, const Body& body, const ObjectFacts& facts,
                           std::optional<uint32_t> crc32c, const Context& context);

/// Puts `body` in one request or in parts, as is best; up to `connections` parts at once.
Result<Reference> PutBody(Push& push, const Body& body, int connections, const Context& context);

}  // namespace airfreight
