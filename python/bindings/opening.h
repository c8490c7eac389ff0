#pragma once

// Stores by name, as the runtime gives them.

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight {

// Name, URI, settings.
using StoreSpec = std::tuple<std::string, std::string, StoreSettings>;
// URIs, and those that are read in their place.
using AliasPairs = std::vector<std::pair<std::string, std::string>>;

// With the seconds that a request may be tried again, where a store does not say it itself.
std::vector<StoreSpec> WithTimeout(std::vector<StoreSpec> stores, double timeout);

// Opens each. With the GIL held.
Result<std::vector<NamedStore>> OpenNamed(const std::vector<StoreSpec>& stores,
                                          const AliasPairs& aliases);

}  // namespace airfreight
