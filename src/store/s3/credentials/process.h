#pragma once

/// \file
/// \brief Running a profile's `credential_process`
/// (docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html).

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/result.h"
#include "airfreight/store.h"

namespace airfreight::s3 {

/// What a program did.
struct ProcessResult {
  int exit_status = 0;  ///< As a shell has it: 128 + n where signal n ended it.
  std::string output;
};

/// Runs a program with its arguments and returns when it has ended.
using ProcessRunner = std::function<Result<ProcessResult>(const std::vector<std::string>& command,
                                                          const Context& context)>;

/// A command line in its arguments, as botocore splits it (Python's `shlex.split`): blanks
/// separate; between single quotes everything stands for itself, between double quotes `\` goes
/// before `"` and `\`, elsewhere before anything. No variable, pattern or `~` is expanded. Invalid
/// when a quote is open at the end, or nothing is there.
Result<std::vector<std::string>> SplitCommand(std::string_view text);

/// \brief The ProcessRunner of this machine: no shell, nothing on standard input, standard error
/// left as it is.
///
/// Threads: may be called from several. Blocking and cancellation: for a minute at most, within the
/// context's deadline and until it is cancelled; the program and what it started are then killed.
/// Fork: starts its child by posix_spawn, which runs none of our code in it. Errors: Invalid when
/// the program cannot be started or prints more than credentials have; Timeout; Cancelled.
Result<ProcessResult> RunProcess(const std::vector<std::string>& command, const Context& context);

}  // namespace airfreight::s3
