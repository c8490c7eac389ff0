// A process that forks while its threads are in mid-transfer, as Airflow's supervisor does; the
// child transfers too and exits in good order. tests/fork/driver.py holds the parent's requests,
// says when all of them are under way, and watches for a hang.
//
// Lines on standard input and output, one step each:
//   < ready            objects to read are there
//   > round N          the threads begin their transfers
//   > fork N           N children are forked, one after another; each does transfers and exits
//   < child 0          the first status that is not zero
//   > join             the driver has let the parent's requests go on
//   < ok | wrong …     whether all of the parent's transfers came out right

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "base/fork_local.h"

namespace airfreight {
namespace {

// Large enough for three parts, and for ranges.
constexpr uint64_t kPartBytes = uint64_t{5} << 20;
constexpr size_t kLargeBytes = size_t{11} << 20;
constexpr size_t kSmallBytes = 3000;
constexpr size_t kIdleConnections = 8;

std::string Setting(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) {
    std::cerr << name << " is not set: run me by python3 -m tests.fork\n";
    std::exit(2);
  }
  return value;
}

// Lines are written at once, so that a fork finds nothing in a buffer.
void Say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    std::exit(3);
  }
}

// Bytes that no other name and no other place has. By words, for a build without optimisation.
std::string Content(std::string_view name, size_t size) {
  std::vector<uint64_t> words(size / sizeof(uint64_t) + 1);
  uint64_t word = std::hash<std::string_view>{}(name);
  for (uint64_t& place : words) place = word = word * 6364136223846793005U + 1442695040888963407U;
  return {reinterpret_cast<const char*>(words.data()), size};
}

size_t SizeOf(std::string_view task) { return task.ends_with("large") ? kLargeBytes : kSmallBytes; }

std::unique_ptr<Freight> Open() {
  auto store = OpenStore(Setting("AIRFREIGHT_TEST_S3"),
                         {{"endpoint_url", Setting("AIRFREIGHT_TEST_S3_ENDPOINT")}});
  if (!store) {
    std::cerr << store.error().message << "\n";
    std::exit(2);
  }
  TransferOptions transfer;
  transfer.part_bytes = kPartBytes;
  transfer.connections = 4;
  return std::make_unique<Freight>(std::vector<NamedStore>{{"default", *store}}, Decision{},
                                   std::string{}, transfer);
}

Coordinate Place(std::string dag, std::string run, std::string task) {
  return {std::move(dag), std::move(run), std::move(task), Instance::Map(-1), "k", std::nullopt};
}

// The transfers of one process: their names, and what is to be read for both sides of a fork.
class Transfers {
 public:
  static constexpr std::array kPuts = {"put-small", "put-large"};
  static constexpr std::array kGets = {"get-small", "get-large"};

  /// Writes what `side` will read.
  void Prepare(const std::string& side) {
    for (const char* const task : kGets) {
      const std::string text = Content(side + task, SizeOf(task));
      auto reference =
          freight_.Get().Put(Place(side, "prepared", task), Body(text), Info(), {}, {});
      if (!reference) Fail(reference.error());
      references_.emplace_back(side + task, *std::move(reference));
    }
  }

  /// Empty when it came out right.
  std::string Put(const std::string& side, const std::string& run, const std::string& task) {
    const std::string text = Content(side + run + task, SizeOf(task));
    auto reference = freight_.Get().Put(Place(side, run, task), Body(text), Info(), {}, {});
    if (!reference) return fmt::format("{} {}: {}", side, task, reference.error().message);
    // Half of the rounds' proof: what a put reported as written is there, whole.
    return side == "free" ? Compare(*reference, text, side + " " + task) : std::string{};
  }

  std::string Get(const std::string& side, const std::string& task) {
    for (const auto& [name, reference] : references_) {
      if (name == side + task) return Compare(reference, Content(name, SizeOf(task)), name);
    }
    return side + task + " was not prepared";
  }

 private:
  static ValueInfo Info() {
    ValueInfo info;
    info.type = "builtins.bytes";
    info.extension = "bin";
    return info;
  }

  [[noreturn]] static void Fail(const Error& error) {
    std::cerr << error.message << "\n";
    std::exit(2);
  }

  std::string Compare(const Reference& reference, std::string_view expected,
                      const std::string& name) {
    const auto buffer = freight_.Get().Get(reference, {});
    if (!buffer) return fmt::format("{}: {}", name, buffer.error().message);
    return AsText(buffer->view()) == expected ? "" : name + ": other bytes";
  }

  ForkLocal<Freight> freight_{[] { return Open(); }};
  std::vector<std::pair<std::string, Reference>> references_;
};

// Threads of the parent that transfer without a pause around the fork: whatever lock there is, some
// fork finds it held; and a connection that both sides believed to be theirs is used by both at
// once.
class Restless {
 public:
  Restless(Transfers& transfers, std::string run) : transfers_(transfers), run_(std::move(run)) {}

  void Start(size_t threads) {
    stop_ = false;
    for (size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, run = run_ + "-" + std::to_string(threads_.size())] {
        do {
          Note(transfers_.Put("busy", run, "put-small") + transfers_.Get("busy", "get-small"));
          // A moment for the others: this is about where the fork falls, not about load.
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } while (!stop_);
      });
    }
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::string wrong() {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }

 private:
  void Note(const std::string& outcome) {
    const std::lock_guard lock(mutex_);
    if (wrong_.empty()) wrong_ = outcome;
    if (!outcome.empty()) stop_ = true;
  }

  Transfers& transfers_;
  std::string run_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::string wrong_;
};

// In the child: one transfer after the other, and an orderly end.
[[noreturn]] void RunChild(Transfers& transfers, const std::string& run, bool everything) {
  std::string wrong;
  for (const char* const task : Transfers::kPuts) {
    if (everything || SizeOf(task) == kSmallBytes) wrong += transfers.Put("free", run, task);
  }
  for (const char* const task : Transfers::kGets) {
    if (everything || SizeOf(task) == kSmallBytes) wrong += transfers.Get("free", task);
  }
  if (!wrong.empty()) std::cerr << "child: " << wrong << "\n";
  std::exit(wrong.empty() ? 0 : 1);
}

std::string Expect(std::string_view word) {
  std::string line;
  if (!std::getline(std::cin, line)) std::exit(0);
  if (!line.starts_with(word)) {
    std::cerr << "expected " << word << ", got " << line << "\n";
    std::exit(3);
  }
  return line;
}

int Run() {
  Transfers transfers;
  transfers.Prepare("held");
  transfers.Prepare("free");
  transfers.Prepare("busy");
  Say("ready");
  while (true) {
    std::string run = Expect("round");
    std::replace(run.begin(), run.end(), ' ', '-');
    std::array<std::string, Transfers::kPuts.size() + Transfers::kGets.size()> outcomes;
    Restless restless(transfers, run);
    // Connections that lie idle at the fork, for both sides to take up.
    restless.Start(kIdleConnections);
    restless.Stop();
    std::vector<std::thread> threads;
    size_t next = 0;
    for (const char* const task : Transfers::kPuts) {
      threads.emplace_back(
          [&, task, at = next++] { outcomes[at] = transfers.Put("held", run, task); });
    }
    for (const char* const task : Transfers::kGets) {
      threads.emplace_back([&, task, at = next++] { outcomes[at] = transfers.Get("held", task); });
    }
    restless.Start(1);
    const int forks = std::stoi(Expect("fork ").substr(std::string_view("fork ").size()));
    int failed = 0;
    for (int number = 1; number <= forks && failed == 0; ++number) {
      const pid_t child = fork();
      // The last one does all. Those before it are there for where a fork falls, which is what a
      // rare race depends on; large transfers would only cost time.
      if (child == 0) RunChild(transfers, fmt::format("{}-{}", run, number), number == forks);
      if (number == 1) restless.Start(kIdleConnections / 2);
      int status = 0;
      if (child < 0 || waitpid(child, &status, 0) != child) return 3;
      failed = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
    }
    restless.Stop();
    Say(fmt::format("child {}", failed));
    Expect("join");
    for (std::thread& thread : threads) thread.join();
    std::string wrong = restless.wrong();
    for (const std::string& outcome : outcomes) wrong += outcome;
    Say(wrong.empty() ? "ok" : "wrong " + wrong);
  }
}

}  // namespace
}  // namespace airfreight

int main() { return airfreight::Run(); }
