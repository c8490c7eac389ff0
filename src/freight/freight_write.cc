#include "freight/freight_write.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace airfreight {
namespace {

// Puts before the object is called one that changes too fast. Two writers of one coordinate settle
// in two each; a third and fourth allow for one that was removed in between.
constexpr int kMaxPuts = 4;

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

}  // namespace

Result<WriteOutcome> WriteInOrder(ObjectStore& store, std::string_view key, const Body& body,
                                  std::string_view content_type, const WriteStamp& stamp,
                                  Condition expected, const Context& context) {
  PutOptions options;
  options.metadata = MakeWriteMetadata(stamp);
  options.content_type = content_type;
  options.condition = std::move(expected);
  WriteOutcome outcome;
  bool versions = true;         // Whether the store takes versions as conditions.
  bool looked = false;          // Whether the version of the condition was looked at here.
  std::optional<Error> denied;  // Why what is there could not be looked at.
  for (int puts = 0; puts < kMaxPuts; ++puts) {
    auto put = store.Put(key, body, options, context);
    if (put) {
      outcome.info = std::move(put).value();
      return outcome;
    }
    const Error& error = put.error();
    const Condition::Kind kind = options.condition.kind;
    const bool refused = error.code == ErrorCode::kUnsupported && kind != Condition::Kind::kNone;
    if (refused && kind == Condition::Kind::kAbsent) {
      // A server without conditional writes (HTTP 501). The last writer wins there, as it does on
      // any store that declares it.
      outcome.unconditional = true;
      options.condition = Condition::None();
      continue;
    }
    if (refused) {
      // One that knows "absent" only: what lies there is looked at, and then replaced as it may be.
      versions = false;
      if (looked) {
        options.condition = Condition::None();
        continue;
      }
    } else if (error.code == ErrorCode::kNotFound && kind == Condition::Kind::kVersion) {
      options.condition = Condition::Absent();  // S3's word for "that version is gone".
      continue;
    } else if (error.code != ErrorCode::kConditionFailed) {
      return Fail(std::move(put).error());
    }

    auto there = store.Head(key, context);
    if (!there && IsAbsent(there.error())) {
      if (there.error().code == ErrorCode::kNotFoundOrDenied) denied = there.error();
      options.condition = Condition::Absent();
      continue;
    }
    if (!there) return Fail(std::move(there).error());
    AIRFREIGHT_ASSIGN_OR_RETURN(const bool replace, MayReplace(*there, stamp));
    if (!replace) {
      outcome.info = std::move(there).value();
      return outcome;
    }
    looked = true;
    options.condition = versions ? Condition::Version(there->version) : Condition::None();
  }
  if (denied) {
    denied->message =
        "an object is already there, and its metadata, which say whose it is, may not be read: " +
        denied->message;
    return Fail(*std::move(denied));
  }
  Error error;
  error.code = ErrorCode::kUnavailable;
  error.message = fmt::format(
      "the object was changed by others each of {} times that it was written", kMaxPuts);
  error.retryable = true;
  return Fail(std::move(error));
}

Result<bool> RemoveWrite(ObjectStore& store, std::string_view key, std::string_view write,
                         const Context& context) {
  const auto there = store.Head(key, context);
  if (!there && there.error().code == ErrorCode::kNotFound) return false;
  if (!there) return Fail(there.error());
  const std::optional<WriteStamp> stamp = ParseWriteMetadata(there->metadata);
  if (!stamp || stamp->write != write) return false;
  const bool conditional = store.capabilities().conditional_remove && !there->version.empty();
  auto removed = store.Remove(
      key, conditional ? Condition::Version(there->version) : Condition::None(), context);
  if (!removed && conditional && removed.error().code == ErrorCode::kUnsupported) {
    removed = store.Remove(key, Condition::None(), context);
  }
  if (removed) return true;
  const ErrorCode code = removed.error().code;
  if (code == ErrorCode::kConditionFailed || code == ErrorCode::kNotFound) return false;
  return Fail(std::move(removed).error());
}

}  // namespace airfreight
