#pragma once

// What administrators' commands need of the core.

#include <nanobind/nanobind.h>

namespace airfreight {

// Adds `Administration`, `encode_part` and `parse_key`.
void BindAdministration(nanobind::module_& module);

}  // namespace airfreight
