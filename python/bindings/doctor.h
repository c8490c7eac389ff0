#pragma once

// What `airfreight doctor` asks of stores and of the core itself.

#include <nanobind/nanobind.h>

namespace airfreight {

void BindDoctor(nanobind::module_& module);

}  // namespace airfreight
