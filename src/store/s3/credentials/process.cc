#include "store/s3/credentials/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "store/checks.h"
#include "store/s3/credentials/documents.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us.

namespace airfreight::s3 {
namespace {

using std::chrono::milliseconds;

// As the SDK for Go has it (ProcessProvider, DefaultTimeout): long enough for a program that asks a
// server, short enough to see that one waits for an answer at a prompt.
constexpr std::chrono::seconds kTimeLimit{60};
// Context promises a look at cancellation every 200 ms.
constexpr milliseconds kPollInterval{100};
// Between looks at a program that has closed its output but not ended yet.
constexpr milliseconds kReapInterval{2};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// The child: killed, with its group, and reaped unless it has been waited for.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (reaped_) return;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  /// Its exit status once it has ended.
  std::optional<int> TryWait() {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
    reaped_ = true;
    // A process that ignores SIGCHLD is not told; then the output alone decides.
    if (got < 0) return 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

Result<pid_t> Spawn(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  // posix_spawn's signature is older than const.
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own, so that what it starts can be ended with it; signals as a new program
  // expects them, whatever Python or this thread has blocked or ignores.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &pipe);

  pid_t pid = 0;
  const int code =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("{} cannot be started: {}", Quoted(command[0]), std::strerror(code)));
  }
  return pid;
}

}  // namespace

Result<std::vector<std::string>> SplitCommand(std::string_view text) {
  std::vector<std::string> arguments;
  std::string argument;
  bool any = false;  // An argument has begun; it may be empty.
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == '\'' || (quote == '"' && c != '\\')) {
      argument += c;
    } else if (c == '\\') {
      if (i + 1 == text.size()) {
        return Fail(ErrorCode::kInvalid, "a command line ends in a backslash");
      }
      const char next = text[i + 1];
      // Within double quotes, before anything else, a backslash is one.
      if (quote == '"' && next != '"' && next != '\\') argument += c;
      argument += next;
      any = true;
      ++i;
    } else if (c == '"' || c == '\'') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (any) arguments.push_back(std::move(argument));
      argument.clear();
      any = false;
    } else {
      argument += c;
      any = true;
    }
  }
  if (quote != 0) return Fail(ErrorCode::kInvalid, "a command line ends within quotes");
  if (any) arguments.push_back(std::move(argument));
  if (arguments.empty() || arguments[0].empty()) {
    return Fail(ErrorCode::kInvalid, "a command line names no program");
  }
  return arguments;
}

Result<ProcessResult> RunProcess(const std::vector<std::string>& command, const Context& context) {
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Fail(ErrorCode::kTooLarge, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  AIRFREIGHT_ASSIGN_OR_RETURN(const pid_t pid, Spawn(command, to.get()));
  Child child(pid);
  to.Close();

  const auto end = Context::Clock::now() + kTimeLimit;
  const auto check = [&]() -> Status {
    AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
    if (Context::Clock::now() < end) return {};
    // Not Timeout, which is the caller's own: others who wait for the same program would run it
    // again, one after the other.
    return Fail(ErrorCode::kUnavailable,
                fmt::format("{} had not ended after {} s; it must not ask for input",
                            Quoted(command[0]), kTimeLimit.count()));
  };

  ProcessResult result;
  std::array<char, 4096> chunk{};
  for (;;) {
    AIRFREIGHT_RETURN_IF_ERROR(check());
    pollfd waiting{from.get(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(kPollInterval.count())) <= 0) continue;
    const ssize_t count = read(from.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    result.output.append(chunk.data(), static_cast<size_t>(count));
    if (result.output.size() > kMaxCredentialsDocument) {
      return Fail(ErrorCode::kInvalid, fmt::format("{} prints more than {} bytes",
                                                   Quoted(command[0]), kMaxCredentialsDocument));
    }
  }
  for (;;) {
    if (const auto status = child.TryWait()) {
      result.exit_status = *status;
      return result;
    }
    AIRFREIGHT_RETURN_IF_ERROR(check());
    std::this_thread::sleep_for(kReapInterval);
  }
}

}  // namespace airfreight::s3
