#pragma once

/// \file
/// \brief What a process remembers of its own writes.

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace airfreight {

// Coordinates that a process remembers having written. One forgotten costs a later push of the same
// coordinate two requests; a process that lives for weeks (a triggerer) must not grow for ever.
inline constexpr size_t kMaxRemembered = 10'000;

/// An object that this process has written.
struct Written {
  std::string store;  ///< Its configured name: two stores may have the same root.
  std::string key;
  std::string version;
  std::string write;
};

/// \brief What this process has written: a later push of the same coordinate then needs no look at
/// what lies there, and one that goes elsewhere takes the earlier object away.
///
/// Threads: may be shared; its lock is held for no request.
class Ledger {
 public:
  std::optional<Written> Find(const std::string& coordinate_hash) {
    const std::lock_guard lock(mutex_);
    const auto found = written_.find(coordinate_hash);
    if (found == written_.end()) return std::nullopt;
    return found->second;
  }
  void Note(const std::string& coordinate_hash, Written written) {
    const std::lock_guard lock(mutex_);
    if (written_.size() >= kMaxRemembered && !written_.contains(coordinate_hash))
      written_.erase(written_.begin());
    written_.insert_or_assign(coordinate_hash, std::move(written));
  }
  void Forget(const std::string& coordinate_hash, std::string_view write) {
    const std::lock_guard lock(mutex_);
    const auto found = written_.find(coordinate_hash);
    if (found != written_.end() && found->second.write == write) written_.erase(found);
  }

  /// Stores that answered "not implemented" to a condition are asked without from then on.
  bool IsUnconditional(const std::string& store) {
    const std::lock_guard lock(mutex_);
    return unconditional_.contains(store);
  }
  void NoteUnconditional(const std::string& store) {
    const std::lock_guard lock(mutex_);
    unconditional_.insert(store);
  }

  /// Stores that take as much by one connection as by several.
  bool IsFast(const std::string& store) {
    const std::lock_guard lock(mutex_);
    return fast_.contains(store);
  }
  void NoteFast(const std::string& store, bool fast) {
    const std::lock_guard lock(mutex_);
    if (fast) {
      fast_.insert(store);
    } else {
      fast_.erase(store);
    }
  }
  /// Whether that was not tried yet: true once for each store.
  bool TakeTrial(const std::string& store) {
    const std::lock_guard lock(mutex_);
    return tried_.insert(store).second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Written> written_;  // By Coordinate::Hash().
  std::unordered_set<std::string> unconditional_;     // By the name of the store.
  std::unordered_set<std::string> fast_;              // By the name of the store.
  std::unordered_set<std::string> tried_;             // By the name of the store.
};

}  // namespace airfreight
