// Uploads in parts through Freight: which requests are made, what is left when they fail, and what
// is held in memory meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "base/crc32c.h"
#include "base/digest.h"
#include "conformance/matchers.h"
#include "freight/test_freight.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ValueWriterTest : public PartsFixture {
 protected:
  std::unique_ptr<ValueWriter> Open(Freight& freight, int64_t attempt = 1,
                                    int64_t started = kNoon) {
    auto writer = freight.Open(coordinate_, info_, {attempt, started});
    EXPECT_TRUE(IsOk(writer));
    return writer ? *std::move(writer) : nullptr;
  }
  // Writes `text` in pieces of an odd size.
  Result<Reference> Write(Freight& freight, std::string_view text, int64_t attempt = 1,
                          int64_t started = kNoon, const Context& context = {}) {
    const auto writer = Open(freight, attempt, started);
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view piece = rest.substr(0, 333);
      AIRFREIGHT_RETURN_IF_ERROR(writer->Append(AsBytes(piece), context));
      rest.remove_prefix(piece.size());
    }
    return writer->Finish(info_, context);
  }
};

TEST_F(ValueWriterTest, ValueOfOnePartIsOnePutOnTheCallersThread) {
  const auto caller = std::this_thread::get_id();
  faulty_->before_put = [&](auto, const PutOptions& options) -> Status {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_TRUE(options.crc32c);
    return {};
  };
  const auto freight = Process();
  for (const size_t size : {size_t{0}, size_t{1}, kPart - 1, kPart}) {
    const std::string text = Pattern(size);
    const auto reference = Write(*freight, text);
    ASSERT_TRUE(IsOk(reference));
    EXPECT_EQ(Requests(), (std::map<std::string, int>{{"PUT", 1}})) << size;
    EXPECT_EQ(Stored(*reference), text);
    EXPECT_EQ(reference->size_bytes, size);
    EXPECT_EQ(reference->digest, DigestOf(DigestKind::kCrc32c, Body(text)));
    EXPECT_FALSE(reference->tail);
  }
}

TEST_F(ValueWriterTest, LargerValueIsOneCreateItsPartsAndOneComplete) {
  const auto freight = Process();
  for (const auto& [size, parts] :
       {std::pair{kPart + 1, 2}, {2 * kPart, 2}, {5 * kPart + 77, 6}, {40 * kPart, 40}}) {
    const std::string text = Pattern(size);
    const auto reference = Write(*freight, text);
    ASSERT_TRUE(IsOk(reference));
    EXPECT_EQ(Requests(),
              (std::map<std::string, int>{{"CREATE", 1}, {"PART", parts}, {"COMPLETE", 1}}))
        << size;
    EXPECT_TRUE(Stored(*reference) == text) << size;
    EXPECT_EQ(reference->size_bytes, size);
    EXPECT_EQ(reference->digest, DigestOf(DigestKind::kCrc32c, Body(text)));
    EXPECT_EQ(reference->etag, memory_->Head(KeyOf(*reference), {})->version);
    EXPECT_TRUE(IsOk(freight->Get(*reference, {})));
    Requests();
  }
}

TEST_F(ValueWriterTest, PartsGoWhileTheValueIsStillBeingMade) {
  std::atomic<int> sent{0};
  faulty_->upload.before_part = [&](int, uint64_t, const Context&) -> Status {
    ++sent;
    return {};
  };
  const auto freight = Process();
  const auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(Pattern(3 * kPart + 1)), {})));
  while (sent < 3) std::this_thread::yield();  // Would never end if they waited for Finish.
  EXPECT_TRUE(IsOk(writer->Finish(info_, {})));
  EXPECT_EQ(sent, 4);
}

TEST_F(ValueWriterTest, WhatWasNeverSentIsStillThereAfterAFailure) {
  faulty_->before_put = [](auto, const auto&) -> Status {
    return Fail({.code = ErrorCode::kUnavailable, .message = "away"});
  };
  const auto freight = Process();
  const std::string text = Pattern(kPart - 7);
  const auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(text), {})));
  EXPECT_EQ(writer->Unsent().size(), 0);  // Not while more may come.
  ASSERT_TRUE(IsError(writer->Finish(info_, {}), ErrorCode::kUnavailable));
  const Body kept = writer->Unsent();
  std::string unsent;
  for (const ByteView segment : kept.segments()) unsent += AsText(segment);
  EXPECT_EQ(unsent, text);
  EXPECT_TRUE(IsOk(writer->Abandon({})));
  EXPECT_EQ(writer->Unsent().size(), 0);
}

TEST_F(ValueWriterTest, OfWhatWasSentInPartsNothingIsLeftAfterAFailure) {
  faulty_->upload.before_complete = [](const Condition&) -> Status {
    return Fail({.code = ErrorCode::kUnavailable, .message = "away"});
  };
  const auto freight = Process();
  const auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(Pattern(3 * kPart)), {})));
  EXPECT_FALSE(writer->Finish(info_, {}));
  EXPECT_EQ(writer->Unsent().size(), 0);
}

TEST_F(ValueWriterTest, Sha256IsOfTheWholeValue) {
  Decision decision;
  decision.digest = DigestKind::kSha256;
  const auto freight = Process(decision);
  for (const size_t size : {size_t{10}, 7 * kPart + 5}) {
    const std::string text = Pattern(size);
    const auto reference = Write(*freight, text);
    ASSERT_TRUE(IsOk(reference));
    EXPECT_EQ(reference->digest, DigestOf(DigestKind::kSha256, Body(text)));
    EXPECT_TRUE(IsOk(freight->Get(*reference, {})));
  }
}

TEST_F(ValueWriterTest, SealedBlocksAndTailAreOfTheBytesThatWereSent) {
  transfer_.part_bytes = 100'000;
  const auto freight = Process();
  const std::string text = Pattern(200'000);
  const auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(text).first(150'000), {})));
  const std::vector<uint32_t> blocks = writer->SealBlocks();
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(text).subspan(150'000), {})));
  EXPECT_EQ(writer->SealBlocks(), blocks);
  EXPECT_EQ(writer->size(), text.size());
  const auto reference = writer->Finish(info_, {});
  ASSERT_TRUE(IsOk(reference));
  EXPECT_THAT(
      blocks,
      ElementsAre(Crc32c(AsBytes(text).first(kBlockBytes)),
                  Crc32c(AsBytes(text).subspan(kBlockBytes, kBlockBytes)),
                  Crc32c(AsBytes(text).subspan(2 * kBlockBytes, 150'000 - 2 * kBlockBytes))));
  ASSERT_TRUE(reference->tail);
  EXPECT_EQ(reference->tail->offset, 150'000U);
  EXPECT_EQ(reference->tail->digest, Crc32cText(Crc32c(AsBytes(text).subspan(150'000))));
  EXPECT_EQ(reference->digest, DigestOf(DigestKind::kCrc32c, Body(text)));
}

TEST_F(ValueWriterTest, MemoryHeldNeverExceedsTheBudget) {
  transfer_.memory_bytes = 4 * kPart;
  transfer_.connections = 16;
  std::atomic<uint64_t> held{0};
  std::atomic<uint64_t> most{0};
  faulty_->upload.before_part = [&](int, uint64_t size, const Context&) -> Status {
    const uint64_t now = held += size;
    for (uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    held -= size;
    return {};
  };
  const auto freight = Process();
  const std::string text = Pattern(200 * kPart);
  const auto reference = Write(*freight, text);
  ASSERT_TRUE(IsOk(reference));
  EXPECT_TRUE(Stored(*reference) == text);
  EXPECT_LE(most, 4 * kPart);
}

TEST_F(ValueWriterTest, ManyWritersOfOneThreadGoOnWhateverTheBudget) {
  transfer_.memory_bytes = kPart;  // Not even one part for each.
  const auto freight = Process();
  std::vector<std::unique_ptr<ValueWriter>> writers;
  for (int64_t i = 0; i < 8; ++i) {
    Coordinate coordinate = coordinate_;
    coordinate.instance = Instance::Map(i);
    writers.push_back(*freight->Open(coordinate, info_, {1, kNoon}));
  }
  const std::string text = Pattern(6 * kPart);
  for (size_t at = 0; at < text.size(); at += 500) {
    for (const auto& writer : writers) {
      ASSERT_TRUE(IsOk(writer->Append(AsBytes(text).subspan(at, 500), {})));
    }
  }
  for (const auto& writer : writers) {
    const auto reference = writer->Finish(info_, {});
    ASSERT_TRUE(IsOk(reference));
    EXPECT_TRUE(Stored(*reference) == text);
  }
}

TEST_F(ValueWriterTest, FailedPartGivesTheUploadUpAndIsWhatEveryLaterCallReturns) {
  std::atomic<int> parts{0};
  faulty_->upload.before_part = [&](int, uint64_t, const Context&) -> Status {
    if (++parts == 3) return Lost();
    return {};
  };
  const auto freight = Process();
  const auto writer = Open(*freight);
  Status appended;
  for (int i = 0; i < 1000 && appended; ++i) appended = writer->Append(AsBytes(Pattern(kPart)), {});
  ASSERT_TRUE(IsError(appended, ErrorCode::kUnavailable));
  EXPECT_TRUE(appended.error().retryable);
  EXPECT_THAT(appended.error().message,
              AllOf(HasSubstr("connection was reset"), HasSubstr("'sales'")));
  EXPECT_EQ(Requests()["ABORT"], 1);
  EXPECT_TRUE(IsError(writer->Append(AsBytes("x"), {}), ErrorCode::kUnavailable));
  EXPECT_TRUE(IsError(writer->Finish(info_, {}), ErrorCode::kUnavailable));
  EXPECT_EQ(Requests(), (std::map<std::string, int>{}));
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(ValueWriterTest, EveryFailureAbortsOnce) {
  const std::string text = Pattern(5 * kPart);
  const auto expect = [&](ErrorCode code, int aborts) {
    Requests();
    EXPECT_TRUE(IsError(Write(*Process(), text), code));
    EXPECT_EQ(Requests()["ABORT"], aborts);
    EXPECT_EQ(ObjectCount(), 0U);
  };
  faulty_->before_start = []() -> Status { return Fail(ErrorCode::kDenied, "no uploads"); };
  expect(ErrorCode::kDenied, 0);
  faulty_->before_start = nullptr;
  faulty_->upload.before_part = [](int number, uint64_t, const Context&) -> Status {
    if (number == 5) return Fail(ErrorCode::kDenied, "no last part");
    return {};
  };
  expect(ErrorCode::kDenied, 1);
  faulty_->upload.before_part = nullptr;
  faulty_->upload.before_complete = [](const Condition&) -> Status { return Lost(); };
  expect(ErrorCode::kUnavailable, 1);
  faulty_->upload.before_complete = nullptr;
  Decision decision;
  decision.max_bytes = 3 * kPart;
  Requests();
  EXPECT_TRUE(IsError(Write(*Process(decision), text), ErrorCode::kTooLarge));
  EXPECT_EQ(Requests()["ABORT"], 1);
}

TEST_F(ValueWriterTest, FailedAbortIsSaidBesideTheReason) {
  faulty_->upload.before_complete = [](const Condition&) -> Status { return Lost(); };
  faulty_->upload.before_abort = [](const Context& context) -> Status {
    EXPECT_TRUE(context.deadline);  // Never for ever.
    EXPECT_FALSE(context.cancelled);
    return Fail(ErrorCode::kDenied, "no AbortMultipartUpload");
  };
  const auto failed = Write(*Process(), Pattern(2 * kPart));
  ASSERT_TRUE(IsError(failed, ErrorCode::kUnavailable));
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("connection was reset"), HasSubstr("could not be removed"),
                    HasSubstr("no AbortMultipartUpload")));
}

TEST_F(ValueWriterTest, WriterThatIsDroppedOrAbandonedLeavesNothing) {
  const auto freight = Process();
  {
    const auto small = Open(*freight);
    ASSERT_TRUE(IsOk(small->Append(AsBytes("x"), {})));
    const auto large = Open(*freight);
    ASSERT_TRUE(IsOk(large->Append(AsBytes(Pattern(2 * kPart)), {})));
  }
  EXPECT_EQ(Requests()["ABORT"], 1);
  const auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(Pattern(2 * kPart)), {})));
  EXPECT_TRUE(IsOk(writer->Abandon({})));
  EXPECT_TRUE(IsOk(writer->Abandon({})));
  EXPECT_TRUE(IsError(writer->Finish(info_, {}), ErrorCode::kInvalid));
  EXPECT_EQ(Requests()["ABORT"], 1);
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(ValueWriterTest, FinishedWriterTakesNoMore) {
  const auto freight = Process();
  const auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Finish(info_, {})));
  EXPECT_TRUE(IsError(writer->Append(AsBytes("x"), {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(writer->Finish(info_, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsOk(writer->Abandon({})));
  EXPECT_EQ(ObjectCount(), 1U);
}

TEST_F(ValueWriterTest, ValueOpenedAsOneTypeIsNotFinishedAsAnother) {
  const auto freight = Process();
  const auto writer = Open(*freight);
  ValueInfo other = info_;
  other.extension = "json";
  EXPECT_TRUE(IsError(writer->Finish(other, {}), ErrorCode::kInvalid));
  EXPECT_THAT(Requests(), IsEmpty());
}

TEST_F(ValueWriterTest, CancellationInTheMiddleEndsStalledPartsAndAborts) {
  std::atomic<int> stalled{0};
  faulty_->upload.before_part = [&](int, uint64_t, const Context& context) -> Status {
    ++stalled;
    while (!context.IsCancelled()) std::this_thread::yield();
    return Fail(ErrorCode::kCancelled, "told to stop");
  };
  const auto caller = std::this_thread::get_id();
  Context context;
  context.cancelled = [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return stalled >= 3;
  };
  EXPECT_TRUE(
      IsError(Write(*Process(), Pattern(20 * kPart), 1, kNoon, context), ErrorCode::kCancelled));
  EXPECT_EQ(Requests()["ABORT"], 1);
  stalled = 0;
  const std::string text = Pattern(20 * kPart);
  EXPECT_TRUE(IsError(Process()->Put(coordinate_, Body(text), info_, {1, kNoon}, context),
                      ErrorCode::kCancelled));
  EXPECT_EQ(Requests()["ABORT"], 1);
  EXPECT_EQ(ObjectCount(), 0U);
}

TEST_F(ValueWriterTest, CancellationWhileTheLastPartsAreWaitedForAborts) {
  std::atomic<bool> stalled{false};
  faulty_->upload.before_part = [&](int number, uint64_t, const Context& context) -> Status {
    if (number != 2) return {};
    stalled = true;
    while (!context.IsCancelled()) std::this_thread::yield();
    return Fail(ErrorCode::kCancelled, "told to stop");
  };
  Context context;
  context.cancelled = [&] { return stalled.load(); };
  const auto freight = Process();
  const auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(Pattern(kPart + 1)), {})));
  EXPECT_TRUE(IsError(writer->Finish(info_, context), ErrorCode::kCancelled));
  EXPECT_EQ(Requests()["ABORT"], 1);
}

TEST_F(ValueWriterTest, StoreWithoutPartsGetsOnePutAndItsLimitIsKept) {
  faulty_->declared.parts = false;
  faulty_->declared.max_put_bytes = 6 * kPart;
  const std::string text = Pattern(6 * kPart);
  const auto reference = Write(*Process(), text);
  ASSERT_TRUE(IsOk(reference));
  EXPECT_EQ(Requests(), (std::map<std::string, int>{{"PUT", 1}}));
  EXPECT_TRUE(Stored(*reference) == text);
  EXPECT_TRUE(IsError(Write(*Process(), text + "x"), ErrorCode::kTooLarge));
  EXPECT_THAT(Requests(), IsEmpty());
}

TEST_F(ValueWriterTest, ChildOfAForkDropsItsParentsWriterUntouched) {
  const auto freight = Process();
  std::atomic<bool> go{false};
  faulty_->upload.before_part = [&](int, uint64_t, const Context&) -> Status {
    while (!go) std::this_thread::yield();
    return {};
  };
  auto writer = Open(*freight);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(Pattern(2 * kPart)), {})));
  const pid_t child = fork();
  if (child == 0) {
    writer.reset();  // Would join a thread that is not there, or abort its parent's upload.
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  go = true;
  EXPECT_TRUE(IsOk(writer->Finish(info_, {})));
}

// ------------------------------------------------------------------------ the protocol of attempts

TEST_F(ValueWriterTest, LaterAttemptReplacesAtCompleteWithoutSendingAPartTwice) {
  const std::string text = Pattern(3 * kPart);
  ASSERT_TRUE(IsOk(Write(*Process(), text)));
  Requests();
  const auto second = Write(*Process(), text + "2", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(second));
  EXPECT_EQ(Requests(),
            (std::map<std::string, int>{{"CREATE", 1}, {"PART", 4}, {"COMPLETE", 2}, {"HEAD", 1}}));
  EXPECT_TRUE(Stored(*second) == text + "2");
}

TEST_F(ValueWriterTest, ProcessThatWroteTheObjectReplacesItWithOneComplete) {
  const auto freight = Process();
  ASSERT_TRUE(IsOk(Write(*freight, Pattern(3 * kPart))));
  Requests();
  EXPECT_TRUE(IsOk(Write(*freight, Pattern(4 * kPart))));
  EXPECT_EQ(Requests(), (std::map<std::string, int>{{"CREATE", 1}, {"PART", 4}, {"COMPLETE", 1}}));
}

TEST_F(ValueWriterTest, ZombieIsSupersededAtCompleteAndItsPartsAreRemoved) {
  const auto zombie = Process();
  const auto writer = Open(*zombie, 1, kNoon);
  ASSERT_TRUE(IsOk(writer->Append(AsBytes(Pattern(3 * kPart)), {})));
  const auto retry = Write(*Process(), "retry", 2, kNoon + kMinute);
  ASSERT_TRUE(IsOk(retry));
  Requests();
  EXPECT_TRUE(IsError(writer->Finish(info_, {}), ErrorCode::kSuperseded));
  EXPECT_EQ(Requests()["ABORT"], 1);
  EXPECT_EQ(Stored(*retry), "retry");
}

TEST_F(ValueWriterTest, LostReplyOfCompleteIsKnownByTheWriteId) {
  // The first Complete made the object and its reply was lost; the layer that repeats it is told
  // that the upload is not there.
  std::atomic<int> completes{0};
  faulty_->upload.after_complete = [&](const Result<ObjectInfo>& reply) -> Status {
    if (++completes > 1) return {};
    EXPECT_TRUE(IsOk(reply));
    return Fail(ErrorCode::kNotFound, "NoSuchUpload");
  };
  const std::string text = Pattern(3 * kPart);
  const auto streamed = Write(*Process(), text);
  ASSERT_TRUE(IsOk(streamed));
  EXPECT_EQ(Requests(),
            (std::map<std::string, int>{{"CREATE", 1}, {"PART", 3}, {"COMPLETE", 1}, {"HEAD", 1}}));
  EXPECT_EQ(streamed->etag, memory_->Head(KeyOf(*streamed), {})->version);
  completes = 0;
  Coordinate other = coordinate_;
  other.instance = Instance::Map(1);
  const auto put = Process()->Put(other, Body(text), info_, {1, kNoon}, {});
  ASSERT_TRUE(IsOk(put));
  EXPECT_EQ(Requests(),
            (std::map<std::string, int>{{"CREATE", 1}, {"PART", 3}, {"COMPLETE", 1}, {"HEAD", 1}}));
  EXPECT_TRUE(Stored(*put) == text);
}

TEST_F(ValueWriterTest, UploadThatTheStoreGaveUpIsSentAgainFromMemoryAndIsAnErrorOfAStream) {
  // After 409 ConditionalRequestConflict all parts have to be sent again
  // (docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html).
  std::atomic<int> completes{0};
  faulty_->upload.before_complete = [&](const Condition&) -> Status {
    if (++completes == 1) return Fail(ErrorCode::kNotFound, "NoSuchUpload");
    return {};
  };
  const std::string text = Pattern(3 * kPart);
  const auto put = Process()->Put(coordinate_, Body(text), info_, {1, kNoon}, {});
  ASSERT_TRUE(IsOk(put));
  EXPECT_EQ(Requests(),
            (std::map<std::string, int>{{"CREATE", 2}, {"PART", 6}, {"COMPLETE", 2}, {"HEAD", 1}}));
  EXPECT_TRUE(Stored(*put) == text);
  completes = 0;
  const auto streamed = Write(*Process(), text, 2, kNoon + kMinute);
  ASSERT_TRUE(IsError(streamed, ErrorCode::kUnavailable));
  EXPECT_TRUE(streamed.error().retryable);
  EXPECT_THAT(streamed.error().message,
              AllOf(HasSubstr("given up the parts"), HasSubstr("push again")));
  EXPECT_TRUE(Stored(*put) == text);
}

TEST_F(ValueWriterTest, UploadThatIsGoneBeforeItsLastPartIsTreatedAlike) {
  std::atomic<int> parts{0};
  faulty_->upload.before_part = [&](int, uint64_t, const Context&) -> Status {
    if (++parts == 2) return Fail(ErrorCode::kNotFound, "NoSuchUpload");
    return {};
  };
  const std::string text = Pattern(4 * kPart);
  const auto streamed = Write(*Process(), text);
  ASSERT_TRUE(IsError(streamed, ErrorCode::kUnavailable));
  EXPECT_TRUE(streamed.error().retryable);
  EXPECT_THAT(streamed.error().message, HasSubstr("push again"));
  parts = 0;
  const auto put = Process()->Put(coordinate_, Body(text), info_, {1, kNoon}, {});
  ASSERT_TRUE(IsOk(put));
  EXPECT_TRUE(Stored(*put) == text);
}

TEST_F(ValueWriterTest, ServerThatKnowsNoConditionsCompletesWithoutOne) {
  faulty_->upload.before_complete = [](const Condition& condition) -> Status {
    if (condition.kind == Condition::Kind::kNone) return {};
    return Fail(ErrorCode::kUnsupported, "501");
  };
  const auto freight = Process();
  ASSERT_TRUE(IsOk(Write(*freight, Pattern(2 * kPart))));
  EXPECT_EQ(Requests(),
            (std::map<std::string, int>{{"CREATE", 1}, {"PART", 2}, {"COMPLETE", 2}, {"HEAD", 1}}));
}

}  // namespace
}  // namespace airfreight
