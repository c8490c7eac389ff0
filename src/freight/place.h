#pragma once

/// \file
/// \brief Where a value's object lies, and whether it may be read there.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/freight.h"

namespace airfreight {

/// \brief An object by its store and the key in it.
///
/// Threads: immutable. Ownership: a view of one of Freight's stores.
struct Place {
  const NamedStore* store = nullptr;
  std::string key;
  std::string alias = {};  ///< The root that the reference has, where an alias led here.
  /// The administrator has said that copies lie here: by an alias or in `read_also`.
  bool of_copies = false;

  ObjectStore& operator*() const { return *store->store; }
  const std::string& root() const { return store->store->root(); }
  std::string Uri() const;
};

/// The error with what only Freight knows: whose value it was about, and where that lies.
Error About(const Coordinate& coordinate, const Place& place, Error error);

template <typename T>
Result<T> About(const Coordinate& coordinate, const Place& place, Result<T> result) {
  if (!result) return Fail(About(coordinate, place, std::move(result).error()));
  return result;
}

/// The store of that name; the first one for "default", when none has that name. Invalid when there
/// is none.
Result<const NamedStore*> FindStoreToWrite(const std::vector<NamedStore>& stores,
                                           std::string_view name);

/// The place that a reference may be read from, or why not: OutOfScope. The key is recomputed,
/// never taken from the row: whoever can edit the database could name any object there.
///
/// Two stores may have the same root (equal bucket names on two servers), so that the name decides:
/// 1. the store of the reference's name, if it has the reference's root;
/// 2. what an alias of that root leads to: of several stores the one of that name;
/// 3. a store without a name that has the root;
/// 4. where the name is not configured any more (or is "default", which moves when that setting is
///    changed): the only store that has the root.
/// Never one of several by chance, and never another store while the named one is elsewhere.
Result<Place> Locate(const std::vector<NamedStore>& stores, const Reference& reference);

}  // namespace airfreight
