#pragma once

/// \file
/// \brief Does what a case says and compares outcome and requests with what it expects.

#include <string>

#include "faults/case.h"

namespace airfreight::faults {

/// \brief Runs a case against a server of its own. Each difference is one line of the result, which
/// is empty when there is none.
///
/// Threads: one at a time in a process: it sets environment variables, so that the machine's own
/// keys and proxies play no part.
std::string RunCase(const Case& fault_case);

}  // namespace airfreight::faults
