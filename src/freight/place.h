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
Result<Place> Locate(const std::vector<NamedStore>& stores, const Reference& reference);

}  // namespace airfreight
