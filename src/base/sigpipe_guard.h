#pragma once

/// \file
/// \brief Writing to a connection that its other end has closed.

#include <pthread.h>
#include <signal.h>

namespace airfreight {

/// \brief While one lives, the SIGPIPE of a closed connection does not end this process, even where
/// it does not ignore that signal.
///
/// For libraries whose writes cannot be told so (OpenSSL's, libcurl's). They would change the
/// handler of the whole process instead, which is no business of a library in a threaded program.
///
/// Threads: of the calling one only. Blocking: never.
class SigPipeGuard {
 public:
  SigPipeGuard() {
    // As in Python: one system call instead of four for each request.
    struct sigaction now{};
    if (sigaction(SIGPIPE, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
        now.sa_handler == SIG_IGN) {
      return;
    }
    active_ = true;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  SigPipeGuard(const SigPipeGuard&) = delete;
  SigPipeGuard& operator=(const SigPipeGuard&) = delete;
  ~SigPipeGuard() {
    if (!active_) return;
    sigset_t pending;
    sigpending(&pending);
    if (!was_pending_ && sigismember(&pending, SIGPIPE) == 1) {
      int signal = 0;
      sigwait(&pipe_, &signal);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool active_ = false;
  bool was_pending_ = false;
};

}  // namespace airfreight
