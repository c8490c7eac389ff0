#include "opening.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "py_store.h"

namespace airfreight {

namespace nb = nanobind;

std::vector<StoreSpec> WithTimeout(std::vector<StoreSpec> stores, double timeout) {
  for (auto& [name, uri, settings] : stores) {
    settings.try_emplace("retry_timeout", nb::cast<std::string>(nb::str(nb::float_(timeout))));
  }
  return stores;
}

Result<std::vector<NamedStore>> OpenNamed(const std::vector<StoreSpec>& stores,
                                          const AliasPairs& aliases) {
  std::vector<NamedStore> named;
  for (const auto& [name, uri, settings] : stores) {
    auto store = OpenAnyStore(uri, settings);
    if (!store) return Fail(std::move(store).error());
    named.push_back({name, *std::move(store)});
  }
  if (named.empty()) return Fail(ErrorCode::kInvalid, "no store given");
  std::vector<Alias> places;
  for (const auto& [from, to] : aliases) places.push_back({from, to});
  if (Status set = SetAliases(places, &named); !set) return Fail(std::move(set).error());
  return named;
}

}  // namespace airfreight
