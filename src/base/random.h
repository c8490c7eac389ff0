#pragma once

/// \file
/// \brief Unpredictable ids.

#include <string>

#include "airfreight/result.h"

namespace airfreight {

/// 128 bits from the kernel's generator, as 32 hexadecimal digits. No state in the process: a
/// forked child never repeats its parent's. Internal when the system has no generator.
Result<std::string> RandomHex128();

}  // namespace airfreight
