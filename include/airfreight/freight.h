#pragma once

/// \file
/// \brief Freight: the facade that the Python bindings use. Put a value's bytes, get them back,
/// take them away; everything about keys, attempts, references and trust happens behind it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/coordinate.h"
#include "airfreight/policy.h"
#include "airfreight/reference.h"
#include "airfreight/store.h"

namespace airfreight {

/// What a codec says of the bytes it made.
struct ValueInfo {
  std::string type;       ///< `_xcom_type`.
  std::string extension;  ///< `[a-z0-9]{1,16}`.
  std::string content_type = "application/octet-stream";
  std::optional<int64_t> rows;
  std::string summary;
  std::vector<std::pair<std::string, std::string>> columns;
};

/// Who pushes. Orders the writers of one coordinate (see `formats/reference.md`, "Attempts").
struct Attempt {
  int64_t number = 0;          ///< Airflow's try number; 0 when not known.
  int64_t started_micros = 0;  ///< Start of the task instance, microseconds since 1970; 0: now.
};

/// A store by its configured name. The first of a list is the one that is written to.
struct NamedStore {
  std::string name;
  std::shared_ptr<ObjectStore> store;
};

/// \brief The facade.
///
/// Threads: every method may be called from several at once. Ownership: shares the stores. Fork: as
/// ObjectStore. Blocking: as ObjectStore; `context` reaches every request. Errors: as listed, each
/// with store and key, and messages that name the coordinate.
class Freight {
 public:
  Freight(std::vector<NamedStore> stores, Policy policy, std::string owner = {});
  Freight(const Freight&) = delete;
  Freight& operator=(const Freight&) = delete;
  ~Freight();

  /// Writes `body` as the value of `coordinate` and returns the reference for the row, once the
  /// store has confirmed. One request when nothing lies there yet; on a conflict one HEAD and one
  /// more PUT; on a store without conditional writes always one HEAD and one PUT. Superseded when a
  /// newer attempt has written there, Invalid when another deployment has; TooLarge above a limit.
  Result<Reference> Put(const Coordinate& coordinate, const Body& body, const ValueInfo& info,
                        const Attempt& attempt, const Context& context);

  /// Follows a reference: one GET. OutOfScope when it points outside the configured stores or its
  /// URI is not the one that its coordinate gives; NotFound, Corrupt, Replaced as they say.
  Result<Buffer> Get(const Reference& reference, const Context& context);

  /// Removes the object of a reference if it still bears the reference's write id; true when it
  /// removed one, false when it was gone or belongs to another write.
  Result<bool> Purge(const Reference& reference, const Context& context);

  /// To be called when a value of `coordinate` was kept in the row: removes what this process wrote
  /// for the same coordinate before, if anything. No request when it wrote nothing.
  Status Settle(const Coordinate& coordinate, const Context& context);

  const Policy& policy() const { return policy_; }
  const std::vector<NamedStore>& stores() const { return stores_; }

 private:
  class Ledger;

  std::vector<NamedStore> stores_;
  Policy policy_;
  std::string owner_;
  std::unique_ptr<Ledger> ledger_;  // What this process itself has written.
};

}  // namespace airfreight
