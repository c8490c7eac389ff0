#include "store/for_each.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "store/checks.h"
#include "store/workers.h"

namespace airfreight {
namespace {

// Half of what Context promises between two polls of `cancelled`.
constexpr std::chrono::milliseconds kPoll{100};

}  // namespace

Status ForEach(size_t count, int threads, const Context& context,
               const std::function<Status(size_t index, const Context& context)>& task) {
  // Workers learn of the caller's wish from the calling thread: what it was before they are there
  // has to be known now.
  AIRFREIGHT_RETURN_IF_ERROR(CheckContext(context));
  StopFlag stop;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::condition_variable ended;
  size_t running = 0;
  Status first;

  const auto run = [&](const Context& own) {
    while (!stop.IsSet()) {
      const size_t index = next.fetch_add(1);
      if (index >= count) return;
      if (Status done = task(index, own); !done) {
        const std::lock_guard lock(mutex);
        if (first) first = std::move(done);
        stop.Set();
      }
    }
  };

  const Context for_worker = stop.ForWorker(context);
  const Context for_caller = stop.ForCaller(context);
  Workers workers;
  const size_t others =
      std::min(count, static_cast<size_t>(std::max(threads, 1))) - (count > 0 ? 1 : 0);
  for (size_t i = 0; i < others; ++i) {
    {
      const std::lock_guard lock(mutex);
      ++running;
    }
    const bool started = workers.Start([&] {
      run(for_worker);
      const std::lock_guard lock(mutex);
      --running;
      ended.notify_all();
    });
    if (started) continue;
    const std::lock_guard lock(mutex);
    --running;
    break;
  }
  run(for_caller);

  std::unique_lock lock(mutex);
  while (running > 0) {
    // Without the lock, as the poll may wait for the caller's own locks.
    lock.unlock();
    const Status wanted = CheckContext(for_caller);
    lock.lock();
    if (!wanted) {
      if (first) first = wanted;
      stop.Set();
    }
    if (running > 0) ended.wait_for(lock, kPoll);
  }
  lock.unlock();
  workers.Join();
  // Stopped by the caller's wish before any task could say so.
  if (first && next.load() < count) return CheckContext(for_caller);
  return first;
}

}  // namespace airfreight
