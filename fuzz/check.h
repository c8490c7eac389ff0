#pragma once

/// \file
/// \brief What a fuzz target holds to be true.

#include <cstdio>
#include <cstdlib>

/// Ends the run as a finding when `condition` does not hold, whatever NDEBUG says.
#define AIRFREIGHT_FUZZ_CHECK(condition)                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
