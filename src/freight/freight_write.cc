#include "freight/freight_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "airfreight/coordinate.h"
#include "base/time.h"
#include "store/checks.h"

namespace airfreight {
namespace {

// Puts before the object is called one that changes too fast. Two writers of one coordinate settle
// in two each; a third and fourth allow for one that was removed in between.
constexpr int kMaxPuts = 4;

// For how long what was seen of an object is acted upon. A process that was stopped after its look,
// or that tried a removal again and again, looks anew: there are servers that remove whatever lies
// there by then. Longer than a look and a removal take where the network is slow, and shorter than
// it takes Airflow to give a task up and run it again.
constexpr std::chrono::seconds kLookHolds{10};
constexpr int kMaxLooks = 3;

bool IsAbsent(const Error& error) {
  // Who may not list a bucket is told 403 of what is not there.
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotFoundOrDenied;
}

std::string Describe(const WriteStamp& stamp) {
  std::string text = stamp.attempt > 0 ? fmt::format("attempt {}", stamp.attempt)
                                       : std::string("an attempt without number");
  text += fmt::format(", started {}", FormatIso8601(stamp.started_micros / 1'000'000));
  if (!stamp.owner.empty()) text += fmt::format(", of deployment '{}'", stamp.owner);
  return text;
}

// Whether what lies there may be replaced: true, or false when it is this very write; else the
// error.
Result<bool> MayReplace(const ObjectInfo& there, const WriteStamp& mine) {
  const std::optional<WriteStamp> theirs = ParseWriteMetadata(there.metadata);
  // Copied without its metadata, or put there by hand: the key is ours, and it is older than we
  // are.
  if (!theirs) return true;
  if (theirs->coordinate != mine.coordinate) {
    return Fail(
        ErrorCode::kInternal,
        "another XCom's object lies at this key and was left as it is. Either the store does "
        "not tell upper from lower case in names (use one that does), or two long names have "
        "the same 128-bit hash");
  }
  // What bears no name may be our own, from before we had one; what bears another is not.
  if (!theirs->owner.empty() && (mine.owner.empty() || theirs->owner != StoredOwner(mine.owner))) {
    return Fail(
        ErrorCode::kInvalid,
        fmt::format("the object of deployment {} lies at this key, was left as it is, and this is "
                    "{}. Give each deployment a prefix of its own, e.g. [airfreight] "
                    "store = s3://bucket/xcom-{}; if this one was only renamed, set [airfreight] "
                    "deployment_id back",
                    Quoted(theirs->owner),
                    mine.owner.empty() ? std::string("a deployment without [airfreight] "
                                                     "deployment_id")
                                       : "deployment " + Quoted(mine.owner),
                    mine.owner.empty() ? std::string("staging") : EncodePart(mine.owner)));
  }
  if (theirs->write == mine.write) return false;
  if (!IsNewer(*theirs, mine)) return true;
  return Fail(
      ErrorCode::kSuperseded,
      fmt::format("this push ({}) comes too late: a newer one ({}) has already written this XCom, "
                  "and nothing was changed. A task that was given up and ran on needs nothing "
                  "further; if this is the current run, compare the clocks of the two workers "
                  "and clear the task",
                  Describe(mine), Describe(*theirs)));
}

Error MayNotLook(Error error) {
  error.code = ErrorCode::kDenied;
  error.message =
      "an object is already there, and its metadata, which say whose it is, may not be read: " +
      error.message;
  return error;
}

Error UploadLost() {
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message =
      "the store has given up the parts that were sent, and no object was made of them: another "
      "write of this XCom came in between, or open uploads are removed too early (a lifecycle rule "
      "needs days, not hours). Nothing was changed; push again";
  error.retryable = true;
  return error;
}

// What a store is known to take as the condition of a Put.
enum class Conditions { kAll, kAbsentOnly, kNone };

}  // namespace

Result<WriteOutcome> WriteInOrder(ObjectStore& store, std::string_view key, ObjectWriter& writer,
                                  const WriteStamp& stamp, Condition expected,
                                  const Context& context) {
  Condition condition = std::move(expected);
  WriteOutcome outcome;
  Conditions conditions =
      condition.kind == Condition::Kind::kNone ? Conditions::kNone : Conditions::kAll;
  // What no condition protects is looked at before it is written, not only after a refusal.
  bool look = conditions == Conditions::kNone;
  bool looked = false;  // Whether the condition follows from a look.
  bool denied = false;  // Whether what is there could not be looked at.
  bool gone = false;    // Whether the store has lost our upload, or completed it.
  for (int puts = 0; puts < kMaxPuts; ++puts) {
    if (look) {
      auto there = store.Head(key, context);
      if (!there && !IsAbsent(there.error())) return Fail(std::move(there).error());
      if (there) {
        AIRFREIGHT_ASSIGN_OR_RETURN(const bool replace, MayReplace(*there, stamp));
        if (!replace) {
          outcome.info = std::move(there).value();
          return outcome;
        }
        condition =
            conditions == Conditions::kAll ? Condition::Version(there->version) : Condition::None();
      } else {
        const bool unsure = there.error().code == ErrorCode::kNotFoundOrDenied;
        // Twice refused because something is there, and twice not told what: each further Put would
        // send the whole body for the same answer.
        if (unsure && denied) return Fail(MayNotLook(std::move(there).error()));
        denied = unsure && conditions != Conditions::kNone;
        condition = conditions == Conditions::kNone ? Condition::None() : Condition::Absent();
      }
      looked = true;
    }
    // It was not completed, or what lies there would be ours.
    if (gone && !writer.CanStartOver()) return Fail(UploadLost());
    auto put = writer.Write(condition);
    if (put) {
      outcome.info = std::move(put).value();
      return outcome;
    }
    look = true;
    gone = writer.UploadIsGone();
    const ErrorCode code = put.error().code;
    if (code == ErrorCode::kConditionFailed || gone) continue;
    if (code != ErrorCode::kUnsupported || condition.kind == Condition::Kind::kNone) {
      return Fail(std::move(put).error());
    }
    if (condition.kind == Condition::Kind::kAbsent) {
      // A server without conditional writes (HTTP 501).
      outcome.unconditional = true;
      conditions = Conditions::kNone;
      condition = Condition::None();
    } else {
      // One that knows "absent" only.
      conditions = Conditions::kAbsentOnly;
      condition = Condition::None();
      look = !looked;
    }
  }
  if (gone) return Fail(UploadLost());
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format(
      "the object was changed by others each of {} times that it was written", kMaxPuts);
  error.retryable = true;
  return Fail(std::move(error));
}

Result<bool> RemoveWrite(ObjectStore& store, std::string_view key, std::string_view write,
                         const Context& context, std::optional<std::string_view> owner) {
  for (int looks = 1;; ++looks) {
    // What is seen may be as old as the beginning of the look.
    Context soon = context;
    const Context::Clock::time_point until = Context::Clock::now() + kLookHolds;
    soon.deadline = context.deadline ? std::min(*context.deadline, until) : until;
    const auto there = store.Head(key, context);
    if (!there && there.error().code == ErrorCode::kNotFound) return false;
    // "Not found, or denied" too: an object that stays behind unseen is worse than a doubt.
    if (!there) return Fail(there.error());
    const std::optional<WriteStamp> stamp = ParseWriteMetadata(there->metadata);
    if (!stamp || stamp->write != write) return false;
    if (owner && stamp->owner != (owner->empty() ? std::string() : StoredOwner(*owner))) {
      return false;
    }
    // Also where the store does not promise to heed it: servers that do not know the condition
    // remove all the same, and those that do keep what was written since the look.
    const bool conditional = !there->version.empty();
    auto removed = store.Remove(
        key, conditional ? Condition::Version(there->version) : Condition::None(), soon);
    if (!removed && conditional && removed.error().code == ErrorCode::kUnsupported) {
      removed = store.Remove(key, Condition::None(), soon);
    }
    if (removed) return true;
    const ErrorCode code = removed.error().code;
    if (code == ErrorCode::kConditionFailed || code == ErrorCode::kNotFound) return false;
    const bool late = code == ErrorCode::kTimeout || soon.Expired();
    if (!late || looks == kMaxLooks || context.Expired() || context.IsCancelled()) {
      return Fail(std::move(removed).error());
    }
  }
}

}  // namespace airfreight
