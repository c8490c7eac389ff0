#pragma once

// What a task is told while the Python code of a store runs.

#include <nanobind/nanobind.h>

namespace airfreight {

/// \brief An exception that is the task's and not the store's: what a signal handler raised while a
/// store's Python code ran (a time-out, SIGTERM), KeyboardInterrupt. The call of the core that was
/// under way ends as cancelled, and the exception is raised in its place.
///
/// Threads: each has its own.
class Interruption {
 public:
  /// Keeps the exception, with the GIL held.
  static void Keep(nanobind::python_error& error);
  static bool IsThere();
  /// Raises it, if there is one, as what the Python code sees; with the GIL held.
  static void RaiseIfThere();
};

}  // namespace airfreight
