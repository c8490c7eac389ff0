#include "faults/runner.h"

#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "airfreight/freight.h"
#include "base/crc32c.h"
#include "faults/fault_server.h"
#include "faults/scripted_server.h"
#include "store/open.h"

namespace airfreight::faults {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr int64_t kNoon = 1'767'268'800'000'000;  // 2026-01-01T12:00:00Z in microseconds.
constexpr int64_t kMinute = 60'000'000;

/// \brief A clock that only waiting moves on: what the retry layer waits costs no time.
///
/// Threads: may be shared.
class VirtualClock {
 public:
  RetryHooks Hooks() {
    return {[this] {
              const std::lock_guard lock(mutex_);
              return start_ + std::chrono::duration_cast<Context::Clock::duration>(waited_);
            },
            [this](Seconds wait) {
              const std::lock_guard lock(mutex_);
              waited_ += wait;
              if (on_wait) on_wait();
            },
            // The middle of each range, so that waits are the same in every run.
            [] { return 0.5; }};
  }
  double waited() const {
    const std::lock_guard lock(mutex_);
    return waited_.count();
  }
  void Reset() {
    const std::lock_guard lock(mutex_);
    waited_ = Seconds(0);
  }

  std::function<void()> on_wait;

 private:
  mutable std::mutex mutex_;
  const Context::Clock::time_point start_ = Context::Clock::now();
  Seconds waited_{0};
};

/// A folder for one case, removed at its end.
class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "airfreight-fault-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

const Coordinate& TheCoordinate() {
  static const Coordinate coordinate{"d", "r", "t", Instance::Map(-1), "k", {}};
  return coordinate;
}

ValueInfo Info() {
  ValueInfo info;
  info.type = "bytes";
  info.extension = "bin";
  return info;
}

/// What an action came to.
struct Outcome {
  std::optional<Error> error;
  std::optional<std::string> bytes;
  std::string expected;  ///< Bytes that a read is to give.
  std::optional<bool> removed;
};

template <typename T>
Outcome OutcomeOf(const Result<T>& result) {
  Outcome outcome;
  if (!result) outcome.error = result.error();
  return outcome;
}

class Run {
 public:
  explicit Run(const Case& fault_case) : case_(fault_case) {
    dialect_.set_environment(case_.credentials.empty() ? "/dev/null" : credentials_path_);
    if (!case_.credentials.empty()) {
      dialect_.write_credentials(credentials_path_, case_.credentials);
    }
    if (case_.refuse_first) {
      clock_.on_wait = [this] { server_.Listen(); };
    } else {
      server_.Listen();
    }
  }

  std::string Do() {
    for (const Action& action : case_.before) {
      if (const Outcome outcome = Perform(action); outcome.error) {
        return fmt::format("before: {}", outcome.error->ToString());
      }
    }
    uncounted_ = server_.request_count();
    connections_before_ = server_.connections();
    clock_.Reset();
    script_.Start();
    for (size_t i = 0; i < case_.actions.size(); ++i) {
      Check(fmt::format("actions[{}]", i), Perform(case_.actions[i]), case_.actions[i].expect);
    }
    processes_.clear();  // Whatever is done in the background has ended now.
    CheckRequests();
    differences_ += script_.Unused();
    CheckCounts();
    return differences_;
  }

 private:
  struct Process {
    std::shared_ptr<ObjectStore> store;
    std::unique_ptr<Freight> freight;
  };
  struct Pushed {
    Reference reference;
    std::string value;
  };

  template <typename... Args>
  void Differ(fmt::format_string<Args...> format, Args&&... args) {
    differences_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  Result<Process*> Open(int number) {
    Process& process = processes_[number];
    if (process.store != nullptr) return &process;
    StoreSettings settings = dialect_.settings(server_.url(), case_.credentials.empty());
    for (const auto& [name, value] : case_.settings) {
      if (value) {
        settings[name] = *value;
      } else {
        settings.erase(name);
      }
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(process.store, OpenStore(dialect_.uri, settings, clock_.Hooks()));
    TransferOptions transfer;
    transfer.connections = case_.connections;
    transfer.part_bytes = case_.part_bytes;
    process.freight = std::make_unique<Freight>(std::vector<NamedStore>{{"default", process.store}},
                                                Decision(), std::string(), transfer);
    return &process;
  }

  size_t seen() const { return server_.request_count() - uncounted_; }

  Context MakeContext(const Action& action) {
    Context context;
    if (action.cancel_after) {
      const size_t enough = *action.cancel_after;
      context.cancelled = [this, enough] { return server_.request_count() - uncounted_ >= enough; };
    }
    if (action.deadline) {
      context.deadline =
          clock_.Hooks().now() +
          std::chrono::duration_cast<Context::Clock::duration>(Seconds(*action.deadline));
    }
    return context;
  }

  Outcome Perform(const Action& action) {
    const auto process = Open(action.process);
    if (!process) return OutcomeOf(process);
    const Context context = MakeContext(action);
    switch (action.verb) {
      case Action::Verb::kPush:
      case Action::Verb::kStream:
      case Action::Verb::kPull:
      case Action::Verb::kToFile:
      case Action::Verb::kPurge:
        return OnFreight(*(*process)->freight, action, context);
      default:
        return OnStore(*(*process)->store, action, context);
    }
  }

  Outcome OnStore(ObjectStore& store, const Action& action, const Context& context) {
    switch (action.verb) {
      case Action::Verb::kPut: {
        const std::string value = ValueOf(action.size, action.seed);
        PutOptions options;
        options.condition = {action.condition, version_};
        options.encryption_key = action.encryption_key;
        options.retention_class = action.retention_class;
        const auto put = store.Put("k", Body(value), options, context);
        if (put) {
          CheckHeld(kKey, value);
          version_ = put->version;
          put_ = value;
        }
        return OutcomeOf(put);
      }
      case Action::Verb::kUpload: {
        const auto uploaded = Upload(store, action, context);
        if (uploaded) {
          version_ = uploaded->version;
          if (!action.abandon) CheckHeld(kKey, put_);
        }
        return OutcomeOf(uploaded);
      }
      case Action::Verb::kGet: {
        GetOptions options;
        options.offset = action.offset.value_or(0);
        options.length = action.length;
        if (action.condition == Condition::Kind::kVersion) options.if_version = version_;
        const auto got = store.Get("k", options, context);
        Outcome outcome = OutcomeOf(got);
        if (got) outcome.bytes = std::string(AsText(got->body.view()));
        outcome.expected = put_.substr(std::min<uint64_t>(options.offset, put_.size()),
                                       action.length.value_or(std::string::npos));
        return outcome;
      }
      case Action::Verb::kHead:
        return OutcomeOf(store.Head("k", context));
      case Action::Verb::kRemove:
        return OutcomeOf(store.Remove("k", {action.condition, version_}, context));
      default:
        return OutcomeOf(store.List("", "", 1000, context));
    }
  }

  // Part after part, given up at the first error, as whoever uploads has to.
  Result<ObjectInfo> Upload(ObjectStore& store, const Action& action, const Context& context) {
    const std::string value = ValueOf(action.size, action.seed);
    PutOptions options;
    options.metadata = {{"af-write", fmt::format("{:032x}", action.seed)}};
    options.encryption_key = action.encryption_key;
    options.retention_class = action.retention_class;
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto upload, store.StartUpload("k", options, context));
    const auto send = [&]() -> Result<ObjectInfo> {
      std::vector<UploadedPart> parts;
      const uint64_t piece = action.piece == 0 ? value.size() : action.piece;
      for (uint64_t offset = 0; offset < value.size(); offset += piece) {
        const ByteView bytes = AsBytes(std::string_view(value).substr(offset, piece));
        AIRFREIGHT_ASSIGN_OR_RETURN(UploadedPart part,
                                    upload->PutPart(static_cast<int>(parts.size()) + 1, offset,
                                                    Body(bytes), Crc32c(bytes), context));
        parts.push_back(std::move(part));
      }
      if (action.abandon) return Fail(ErrorCode::kCancelled, "abandoned");
      return upload->Complete(parts, {action.condition, version_}, context);
    };
    auto sent = send();
    if (sent) {
      put_ = value;
      return sent;
    }
    if (const Status aborted = upload->Abort({}); !aborted) {
      sent.error().message += fmt::format("; abort: {}", aborted.error().message);
    } else if (action.abandon && sent.error().code == ErrorCode::kCancelled) {
      return ObjectInfo{};
    }
    return sent;
  }

  Result<Reference> Push(Freight& freight, const Action& action, const std::string& value,
                         const Context& context) {
    const Attempt attempt{action.attempt, kNoon + action.minute * kMinute};
    if (action.verb == Action::Verb::kPush) {
      return freight.Put(TheCoordinate(), Body(value), Info(), attempt, context);
    }
    AIRFREIGHT_ASSIGN_OR_RETURN(const auto writer, freight.Open(TheCoordinate(), Info(), attempt));
    const size_t piece = action.piece == 0 ? value.size() : action.piece;
    for (size_t offset = 0; offset < value.size(); offset += piece) {
      AIRFREIGHT_RETURN_IF_ERROR(
          writer->Append(AsBytes(std::string_view(value).substr(offset, piece)), context));
    }
    while (seen() < action.abandon_after.value_or(0)) std::this_thread::yield();
    if (!action.abandon) return writer->Finish(Info(), context);
    AIRFREIGHT_RETURN_IF_ERROR(writer->Abandon(context));
    return Reference{};
  }

  Outcome OnFreight(Freight& freight, const Action& action, const Context& context) {
    if (action.verb == Action::Verb::kPush || action.verb == Action::Verb::kStream) {
      const std::string value = ValueOf(action.size, action.seed);
      const auto reference = Push(freight, action, value, context);
      if (reference && !action.abandon) CheckHeld(kObject, value);
      if (reference) pushed_.push_back({*reference, value});
      return OutcomeOf(reference);
    }
    const size_t which = action.of.value_or(pushed_.size() - 1);
    if (which >= pushed_.size()) {
      return OutcomeOf(Status(Fail(ErrorCode::kInternal, "the case has no such push")));
    }
    const Pushed& pushed = pushed_[which];
    Outcome outcome;
    if (action.verb == Action::Verb::kPurge) {
      const auto removed = freight.Purge(pushed.reference, context);
      outcome = OutcomeOf(removed);
      if (removed) outcome.removed = *removed;
    } else if (action.verb == Action::Verb::kToFile) {
      const std::string path = folder_ / "value";
      const Status got = freight.GetToFile(pushed.reference, path, context);
      outcome = OutcomeOf(got);
      std::ifstream stream(path, std::ios::binary);
      if (got)
        outcome.bytes.emplace(std::istreambuf_iterator<char>(stream),
                              std::istreambuf_iterator<char>());
      if (!got && stream) Differ("a file was left behind by a pull that failed");
    } else {
      const auto got = freight.Get(pushed.reference, context);
      outcome = OutcomeOf(got);
      if (got) outcome.bytes = std::string(AsText(got->view()));
    }
    outcome.expected = pushed.value;
    return outcome;
  }

  // What was confirmed has to be there, whatever the script made of the answer.
  void CheckHeld(std::string_view key, std::string_view value) {
    if (script_.service().Holds(key, value)) return;
    Differ("A WRITE WAS CONFIRMED, and the object of {} bytes is not there", value.size());
  }

  void Check(const std::string& where, const Outcome& outcome, const Expectation& expect) {
    if (!outcome.error) {
      if (expect.error) Differ("{}: a success, not {}", where, ErrorCodeName(*expect.error));
      const std::string& expected = expect.text ? *expect.text : outcome.expected;
      if (outcome.bytes && *outcome.bytes != expected) {
        Differ("{}: A WRONG VALUE: {} bytes that are not the {} expected", where,
               outcome.bytes->size(), expected.size());
      }
      if (expect.removed != outcome.removed) Differ("{}: removed differs", where);
      return;
    }
    const Error& error = *outcome.error;
    const std::string said = error.ToString();
    if (said.find(dialect_.secret) != std::string::npos)
      Differ("{}: the secret is in the message", where);
    if (!expect.error) return Differ("{}: {}", where, said);
    if (error.code != *expect.error) {
      Differ("{}: not {} but {}", where, ErrorCodeName(*expect.error), said);
    }
    for (const std::string& text : expect.message) {
      if (error.message.find(text) == std::string::npos) {
        Differ("{}: '{}' is not in: {}", where, text, said);
      }
    }
    for (const std::string& text : expect.message_without) {
      if (error.message.find(text) != std::string::npos) {
        Differ("{}: '{}' is in: {}", where, text, said);
      }
    }
    if (expect.retryable && error.retryable != *expect.retryable) {
      Differ("{}: retryable is {}", where, error.retryable);
    }
    if (expect.http_status && error.http_status != *expect.http_status) {
      Differ("{}: the status is {}", where, error.http_status);
    }
    if (expect.service_code && error.service_code != *expect.service_code) {
      Differ("{}: the service's code is '{}'", where, error.service_code);
    }
    if (expect.request_id && error.request_id != *expect.request_id) {
      Differ("{}: the request id is '{}'", where, error.request_id);
    }
  }

  void CheckRequests() {
    std::vector<Request> seen = server_.requests();
    seen.erase(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(uncounted_));
    std::string problem;
    size_t next = 0;
    size_t after = 0;  // How many are still to come.
    for (const RequestGroup& group : case_.requests) after += group.size();
    for (const RequestGroup& group : case_.requests) {
      after -= group.size();
      const size_t end = std::min(next + group.size(), seen.size());
      std::vector<const RequestRule*> open;
      for (const RequestRule& rule : group) open.push_back(&rule);
      for (; next < end; ++next) {
        const auto found = std::find_if(open.begin(), open.end(), [&](const RequestRule* rule) {
          return Matches(*rule, seen[next], true);
        });
        if (found == open.end()) {
          problem +=
              fmt::format("request {} is not the one expected ({})\n", next, open.front()->text);
          break;
        }
        open.erase(found);
      }
      next = end;
      // More of the one that stands for several, as far as those that follow leave any.
      while (group.front().some && next + after < seen.size() &&
             Matches(group.front(), seen[next], true)) {
        ++next;
      }
      for (const RequestRule* rule : open) problem += fmt::format("not seen: {}\n", rule->text);
    }
    for (; next < seen.size(); ++next) problem += fmt::format("request {} is one too many\n", next);
    if (problem.empty()) return;
    differences_ += problem + "the requests were:\n";
    for (const Request& request : seen) {
      std::string headers;
      for (const auto& [name, value] : request.headers) {
        headers += fmt::format(" {}: {};", name, value.substr(0, 60));
      }
      Differ("  {} {} [{} bytes, connection {}]{}", request.method, request.target,
             request.body.size(), request.connection, headers);
    }
  }

  void CheckCounts() {
    const int connections = server_.connections() - connections_before_;
    if (case_.expect_connections && connections != *case_.expect_connections) {
      Differ("{} connections were made", connections);
    }
    const double waited = clock_.waited();
    constexpr double kRounding = 1e-6;
    if (waited < case_.waited_least.value_or(0) - kRounding ||
        waited > case_.waited_most.value_or(1e9) + kRounding) {
      Differ("{} s were waited", waited);
    }
    const FakeService& service = script_.service();
    if (case_.open_uploads && service.open_uploads() != *case_.open_uploads) {
      Differ("{} uploads are left open", service.open_uploads());
    }
    if (case_.objects && service.object_count() != *case_.objects) {
      Differ("{} objects are there", service.object_count());
    }
  }

  const Case& case_;
  const Dialect& dialect_ = *case_.dialect;
  const Folder folder_;
  const std::string credentials_path_ = folder_ / "credentials";
  VirtualClock clock_;
  ScriptedServer script_{case_.script, dialect_.make(), [this](const std::string& id) {
                           dialect_.write_credentials(credentials_path_, id);
                         }};
  FaultServer server_{script_};
  std::map<int, Process> processes_;
  std::vector<Pushed> pushed_;
  std::string version_;
  std::string put_;
  size_t uncounted_ = 0;
  int connections_before_ = 0;
  std::string differences_;
};

}  // namespace

std::string RunCase(const Case& fault_case) { return Run(fault_case).Do(); }

}  // namespace airfreight::faults
