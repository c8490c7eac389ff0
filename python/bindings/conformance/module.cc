// The conformance suite of the stores (tests/conformance) as an extension, for stores in Python.

#include <gtest/gtest.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../calls.h"
#include "../py_store.h"
#include "conformance/stores.h"

namespace airfreight {
namespace {

// Part of the tests' names, scheme, whether it is a directory, and what opens one by a unique name.
using Guest = std::tuple<std::string, std::string, bool, nb::object>;

Result<std::shared_ptr<ObjectStore>> Open(const nb::object& open, const std::string& unique) {
  const nb::gil_scoped_acquire gil;
  return WrapStore(open(unique), {{"retry_timeout", "5"}});
}

int Run(std::vector<std::string> arguments, const std::vector<Guest>& guests) {
  for (const auto& [name, scheme, directory, open] : guests) {
    // Never destroyed: gtest keeps its parameters until after the interpreter has ended.
    const auto* held = new nb::object(open);
    conformance::Guests().push_back({name, scheme, directory, [held](const std::string& unique) {
                                       return Open(*held, unique);
                                     }});
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release release;
  testing::InitGoogleTest(&count, pointers.data());
  return RUN_ALL_TESTS();
}

}  // namespace

NB_MODULE(_conformance, module) {
  module.def("run", &Run, nb::arg("arguments"), nb::arg("guests"));
}

}  // namespace airfreight
