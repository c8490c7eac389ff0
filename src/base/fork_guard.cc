#include "base/fork_guard.h"

#include <pthread.h>

namespace airfreight {
namespace {

// Constant-initialised and trivially destroyed: there before any code runs, and to the end.
constinit std::mutex guard;

void Lock() { guard.lock(); }
void Unlock() { guard.unlock(); }

// When the library is loaded, since no later moment is safe from a fork itself. In the child the
// thread that forked holds the mutex, as it does in the parent. It fails only for want of memory.
[[maybe_unused]] const int registered = pthread_atfork(Lock, Unlock, Unlock);

}  // namespace

ForkGuard::ForkGuard() : hold_(guard) {}

}  // namespace airfreight
