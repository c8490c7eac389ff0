// What every ObjectStore does with reads into a sink, and with uploads in parts where it has them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "conformance/matchers.h"
#include "conformance/stores.h"

namespace airfreight::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Pattern(size_t size, size_t seed = 0) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>(((i + seed) * 131 + i / 251) & 0xff);
  return text;
}

// Keeps what it is given, and ends the read when it has `enough` bytes.
class Gather final : public ReadSink {
 public:
  explicit Gather(size_t enough = SIZE_MAX) : enough_(enough) {}
  Status Begin(const ObjectInfo& info) override {
    EXPECT_EQ(begun++, 0);
    EXPECT_TRUE(text.empty());
    told = info;
    return {};
  }
  Status Write(ByteView bytes) override {
    EXPECT_EQ(begun, 1);
    text += AsText(bytes);
    if (text.size() < enough_) return {};
    return Fail(ErrorCode::kInternal, "enough");
  }

  int begun = 0;
  ObjectInfo told;
  std::string text;

 private:
  size_t enough_;
};

GetOptions RangeOf(uint64_t offset, std::optional<uint64_t> length) {
  GetOptions options;
  options.offset = offset;
  options.length = length;
  return options;
}

class TransferTest : public StoreTest {
 protected:
  std::vector<std::string> Keys() {
    const auto page = store().List("", "", 1000, {});
    EXPECT_TRUE(IsOk(page));
    std::vector<std::string> keys;
    if (page) {
      for (const ObjectInfo& object : page->objects) keys.push_back(object.key);
    }
    return keys;
  }
  std::string Text(std::string_view key) {
    const auto got = store().Get(key, {}, {});
    if (!got) return "<" + std::string(ErrorCodeName(got.error().code)) + ">";
    return std::string(AsText(got->body.view()));
  }
  std::string ReadText(std::string_view key, const GetOptions& options) {
    Gather sink;
    const auto read = store().Read(key, options, sink, {});
    if (!read) return "<" + std::string(ErrorCodeName(read.error().code)) + ">";
    return sink.text;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, TransferTest, testing::ValuesIn(AllStores()), NameOf);

TEST_P(TransferTest, ReadGivesTheSinkWhatTheObjectIsAndThenItsBytesInOrder) {
  const std::string text = Pattern(3'000'001);
  PutOptions options;
  options.metadata = {{"n", "1"}};
  const auto put = store().Put("a/b", Body(text), options, {});
  ASSERT_TRUE(IsOk(put));
  Gather sink;
  const auto read = store().Read("a/b", {}, sink, {});
  ASSERT_TRUE(IsOk(read));
  EXPECT_TRUE(sink.text == text);
  EXPECT_EQ(sink.told.size, text.size());
  EXPECT_EQ(sink.told.version, put->version);
  EXPECT_EQ(sink.told.metadata, options.metadata);
  EXPECT_EQ(read->size, text.size());
  EXPECT_EQ(read->version, put->version);
}

TEST_P(TransferTest, ReadOfAnEmptyObjectBeginsAndWritesNothing) {
  ASSERT_TRUE(IsOk(store().Put("a/b", Body(""), {}, {})));
  Gather sink;
  ASSERT_TRUE(IsOk(store().Read("a/b", {}, sink, {})));
  EXPECT_EQ(sink.begun, 1);
  EXPECT_EQ(sink.text, "");
}

TEST_P(TransferTest, ReadOfARangeIsOfTheBytesAskedForAndTellsTheWholeSize) {
  ASSERT_TRUE(IsOk(store().Put("a/b", Body("0123456789"), {}, {})));
  EXPECT_EQ(ReadText("a/b", RangeOf(0, 3)), "012");
  EXPECT_EQ(ReadText("a/b", RangeOf(4, 2)), "45");
  EXPECT_EQ(ReadText("a/b", RangeOf(7, std::nullopt)), "789");
  EXPECT_EQ(ReadText("a/b", RangeOf(8, 100)), "89");
  EXPECT_EQ(ReadText("a/b", RangeOf(10, 1)), "<Invalid>");
  Gather sink;
  ASSERT_TRUE(IsOk(store().Read("a/b", RangeOf(4, 2), sink, {})));
  EXPECT_EQ(sink.told.size, 10U);
}

TEST_P(TransferTest, ReadOnAVersionRefusesAnotherBeforeTheSinkHears) {
  const auto first = store().Put("a/b", Body("first"), {}, {});
  ASSERT_TRUE(IsOk(first));
  GetOptions options = RangeOf(1, 2);
  options.if_version = first->version;
  EXPECT_EQ(ReadText("a/b", options), "ir");
  ASSERT_TRUE(IsOk(store().Put("a/b", Body("second"), {}, {})));
  Gather sink;
  EXPECT_TRUE(IsError(store().Read("a/b", options, sink, {}), ErrorCode::kConditionFailed));
  EXPECT_EQ(sink.begun, 0);
}

TEST_P(TransferTest, ReadOfWhatIsNotThereIsNotFoundBeforeTheSinkHears) {
  Gather sink;
  EXPECT_TRUE(IsError(store().Read("a/b", {}, sink, {}), ErrorCode::kNotFound));
  EXPECT_EQ(sink.begun, 0);
}

TEST_P(TransferTest, SinkThatHasEnoughEndsTheReadWithItsOwnError) {
  const std::string text = Pattern(8 << 20);
  ASSERT_TRUE(IsOk(store().Put("a/b", Body(text), {}, {})));
  Gather sink(100'000);
  const auto read = store().Read("a/b", {}, sink, {});
  ASSERT_TRUE(IsError(read, ErrorCode::kInternal));
  EXPECT_NE(read.error().message.find("enough"), std::string::npos);
  EXPECT_EQ(sink.begun, 1);
  EXPECT_TRUE(text.starts_with(sink.text));
  // And the store serves the next one.
  EXPECT_TRUE(ReadText("a/b", {}) == text);
}

TEST_P(TransferTest, CancelledReadEnds) {
  ASSERT_TRUE(IsOk(store().Put("a/b", Body("value"), {}, {})));
  Context context;
  context.cancelled = [] { return true; };
  Gather sink;
  EXPECT_TRUE(IsError(store().Read("a/b", {}, sink, context), ErrorCode::kCancelled));
  EXPECT_EQ(sink.text, "");
}

// ------------------------------------------------------------------------------- uploads in parts

class UploadTest : public TransferTest {
 protected:
  void SetUp() override {
    TransferTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!store().capabilities().parts) GTEST_SKIP() << "declares that it has no parts";
  }
  // What a store says of an upload that it knows no more. A server that calls it a failure of its
  // own is asked for two seconds only.
  ErrorCode GoneCode() const {
    return Lacks("compose-of-what-is-gone") ? ErrorCode::kUnavailable : ErrorCode::kNotFound;
  }
  Context BriefIfGoneIsAFailure() const {
    Context context;
    // The last attempt's own error comes back where the next would begin too late.
    if (Lacks("compose-of-what-is-gone")) {
      context.deadline = Context::Clock::now() + std::chrono::seconds(2);
    }
    return context;
  }
  // Two parts of the least size, and some bytes more.
  size_t PartBytes() { return std::max<size_t>(store().capabilities().min_part_bytes, 1000); }

  static Result<UploadedPart> PutPart(PartUpload& upload, int number, size_t offset,
                                      std::string_view text) {
    return upload.PutPart(number, offset, Body(text), Crc32c(AsBytes(text)), {});
  }
  // All parts of `text`, in the order of `numbers`.
  std::vector<UploadedPart> PutAll(PartUpload& upload, std::string_view text,
                                   const std::vector<int>& numbers) {
    std::vector<UploadedPart> parts;
    for (const int number : numbers) {
      const size_t offset = static_cast<size_t>(number - 1) * PartBytes();
      auto part = PutPart(upload, number, offset, text.substr(offset, PartBytes()));
      EXPECT_TRUE(IsOk(part));
      if (part) parts.push_back(*std::move(part));
    }
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    return parts;
  }
  std::unique_ptr<PartUpload> Start(Metadata metadata = {}) {
    PutOptions options;
    options.metadata = std::move(metadata);
    auto upload = store().StartUpload("a/b", options, {});
    EXPECT_TRUE(IsOk(upload));
    return upload ? *std::move(upload) : nullptr;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, UploadTest, testing::ValuesIn(AllStores()), NameOf);

TEST_P(UploadTest, PartsInAnyOrderBecomeOneObjectWithItsMetadata) {
  const std::string text = Pattern(2 * PartBytes() + 77);
  const auto upload = Start({{"n", "1"}});
  ASSERT_NE(upload, nullptr);
  const auto parts = PutAll(*upload, text, {3, 1, 2});
  EXPECT_EQ(parts[2].size, 77U);
  const auto done = upload->Complete(parts, Condition::Absent(), {});
  ASSERT_TRUE(IsOk(done));
  EXPECT_TRUE(Text("a/b") == text);
  const auto head = store().Head("a/b", {});
  ASSERT_TRUE(IsOk(head));
  EXPECT_EQ(head->version, done->version);
  EXPECT_EQ(head->size, text.size());
  EXPECT_EQ(head->metadata, (Metadata{{"n", "1"}}));
}

TEST_P(UploadTest, PartsGoAtTheSameTime) {
  const std::string text = Pattern(4 * PartBytes());
  const auto upload = Start();
  ASSERT_NE(upload, nullptr);
  std::vector<UploadedPart> parts(4);
  {
    std::vector<std::jthread> threads;
    for (int number = 1; number <= 4; ++number) {
      threads.emplace_back([&, number] {
        const size_t offset = static_cast<size_t>(number - 1) * PartBytes();
        auto part =
            PutPart(*upload, number, offset, std::string_view(text).substr(offset, PartBytes()));
        ASSERT_TRUE(IsOk(part));
        parts[static_cast<size_t>(number - 1)] = *part;
      });
    }
  }
  ASSERT_TRUE(IsOk(upload->Complete(parts, Condition::None(), {})));
  EXPECT_TRUE(Text("a/b") == text);
}

TEST_P(UploadTest, NothingIsSeenBeforeItIsComplete) {
  ASSERT_TRUE(IsOk(store().Put("a/b", Body("old"), {}, {})));
  const auto upload = Start();
  ASSERT_NE(upload, nullptr);
  const auto parts = PutAll(*upload, Pattern(PartBytes()), {1});
  EXPECT_EQ(Text("a/b"), "old");
  EXPECT_THAT(Keys(), ElementsAre("a/b"));
  ASSERT_TRUE(IsOk(upload->Complete(parts, Condition::None(), {})));
  EXPECT_TRUE(Text("a/b") == Pattern(PartBytes()));
}

TEST_P(UploadTest, PartThatIsSentAgainReplacesTheFirst) {
  const std::string text = Pattern(PartBytes() + 10);
  const auto upload = Start();
  ASSERT_NE(upload, nullptr);
  const std::string wrong = Pattern(PartBytes(), 5);
  ASSERT_TRUE(IsOk(PutPart(*upload, 1, 0, wrong)));
  // Longer than what replaces it: nothing of it may stay behind the end.
  ASSERT_TRUE(IsOk(PutPart(*upload, 2, PartBytes(), wrong)));
  const auto parts = PutAll(*upload, text, {1, 2});
  ASSERT_TRUE(IsOk(upload->Complete(parts, Condition::None(), {})));
  EXPECT_TRUE(Text("a/b") == text);
}

TEST_P(UploadTest, AbortedUploadLeavesNothingAndMayBeAbortedAgain) {
  const auto upload = Start();
  ASSERT_NE(upload, nullptr);
  const auto parts = PutAll(*upload, Pattern(PartBytes()), {1});
  EXPECT_TRUE(IsOk(upload->Abort({})));
  EXPECT_TRUE(IsOk(upload->Abort({})));
  EXPECT_THAT(Keys(), IsEmpty());
  const auto late = upload->Complete(parts, Condition::None(), BriefIfGoneIsAFailure());
  EXPECT_TRUE(IsError(late, GoneCode()));
  // (By another store object: where that is the server's own fault, this one takes it for away.)
  EXPECT_TRUE(IsError(Reopen()->Head("a/b", {}), ErrorCode::kNotFound));
}

TEST_P(UploadTest, CompletedUploadIsNotFoundWhenItIsCompletedAgain) {
  const std::string text = Pattern(PartBytes());
  const auto upload = Start();
  ASSERT_NE(upload, nullptr);
  const auto parts = PutAll(*upload, text, {1});
  ASSERT_TRUE(IsOk(upload->Complete(parts, Condition::Absent(), {})));
  const auto again = upload->Complete(parts, Condition::None(), BriefIfGoneIsAFailure());
  // A server may also remember it, and answer as before.
  if (!again) {
    EXPECT_TRUE(IsError(again, GoneCode()));
  }
  EXPECT_TRUE(IsOk(upload->Abort({})));
  const auto got = Reopen()->Get("a/b", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_TRUE(AsText(got->body.view()) == text);
}

TEST_P(UploadTest, ConditionIsMetAtCompletionAndPartsSurviveARefusal) {
  if (!store().capabilities().conditional_put) GTEST_SKIP() << "declares that it has none";
  const std::string text = Pattern(PartBytes() + 5);
  const auto upload = Start();
  ASSERT_NE(upload, nullptr);
  const auto parts = PutAll(*upload, text, {1, 2});
  // Written after the upload began: what counts is what lies there at its end.
  const auto first = store().Put("a/b", Body("first"), {}, {});
  ASSERT_TRUE(IsOk(first));
  if (Lacks("conditional-compose")) {
    EXPECT_TRUE(IsOk(upload->Complete(parts, Condition::Absent(), {})));
    return;
  }
  EXPECT_TRUE(
      IsError(upload->Complete(parts, Condition::Absent(), {}), ErrorCode::kConditionFailed));
  EXPECT_EQ(Text("a/b"), "first");
  const auto second = store().Put("a/b", Body("second"), {}, {});
  ASSERT_TRUE(IsOk(second));
  EXPECT_TRUE(IsError(upload->Complete(parts, Condition::Version(first->version), {}),
                      ErrorCode::kConditionFailed));
  EXPECT_EQ(Text("a/b"), "second");
  const auto done = upload->Complete(parts, Condition::Version(second->version), {});
  ASSERT_TRUE(IsOk(done));
  EXPECT_NE(done->version, second->version);
  EXPECT_TRUE(Text("a/b") == text);
}

TEST_P(UploadTest, TwoUploadsOfOneKeyDoNotMix) {
  const std::string one = Pattern(PartBytes() + 1, 1);
  const std::string two = Pattern(PartBytes() + 2, 2);
  const auto first = Start();
  const auto second = Start();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  const auto first_parts = PutAll(*first, one, {1, 2});
  const auto second_parts = PutAll(*second, two, {1, 2});
  ASSERT_TRUE(IsOk(first->Complete(first_parts, Condition::None(), {})));
  EXPECT_TRUE(Text("a/b") == one);
  if (Lacks("uploads-side-by-side")) {
    EXPECT_TRUE(
        IsError(second->Complete(second_parts, Condition::None(), {}), ErrorCode::kNotFound));
    EXPECT_TRUE(Text("a/b") == one);
    return;
  }
  ASSERT_TRUE(IsOk(second->Complete(second_parts, Condition::None(), {})));
  EXPECT_TRUE(Text("a/b") == two);
}

TEST_P(UploadTest, OfManyUploadsOnConditionAbsentOneWins) {
  if (!store().capabilities().conditional_put) GTEST_SKIP() << "declares that it has none";
  std::vector<std::unique_ptr<PartUpload>> uploads;
  std::vector<std::vector<UploadedPart>> parts;
  for (int i = 0; i < 4; ++i) {
    uploads.push_back(Start());
    ASSERT_NE(uploads.back(), nullptr);
    parts.push_back(
        PutAll(*uploads.back(), std::string(PartBytes(), static_cast<char>('a' + i)), {1}));
  }
  std::vector<int> won(4, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < 4; ++i) {
      threads.emplace_back(
          [&, i] { won[i] = uploads[i]->Complete(parts[i], Condition::Absent(), {}) ? 1 : 0; });
    }
  }
  // The last one, where the server does not look at the condition: it is one of them all the same.
  const bool all = Lacks("conditional-compose");
  EXPECT_EQ(std::count(won.begin(), won.end(), 1), all ? 4 : 1);
  const std::string there = Text("a/b");
  const size_t winner =
      all ? static_cast<size_t>(there.front() - 'a')
          : static_cast<size_t>(std::find(won.begin(), won.end(), 1) - won.begin());
  ASSERT_LT(winner, won.size());
  EXPECT_TRUE(there == std::string(PartBytes(), static_cast<char>('a' + winner)));
  for (const auto& upload : uploads) EXPECT_TRUE(IsOk(upload->Abort({})));
}

TEST_P(UploadTest, UploadRefusesTheKeysAndMetadataThatAPutRefuses) {
  PutOptions options;
  EXPECT_TRUE(IsError(store().StartUpload("../a", options, {}), ErrorCode::kInvalid));
  options.metadata = {{"Name", "x"}};
  EXPECT_TRUE(IsError(store().StartUpload("a/b", options, {}), ErrorCode::kInvalid));
}

TEST_P(UploadTest, CancelledPartOrCompletionChangesNothing) {
  const auto upload = Start();
  ASSERT_NE(upload, nullptr);
  const std::string text = Pattern(PartBytes());
  const auto parts = PutAll(*upload, text, {1});
  Context context;
  context.cancelled = [] { return true; };
  EXPECT_TRUE(IsError(upload->PutPart(2, PartBytes(), Body("x"), Crc32c(AsBytes("x")), context),
                      ErrorCode::kCancelled));
  EXPECT_TRUE(IsError(upload->Complete(parts, Condition::None(), context), ErrorCode::kCancelled));
  EXPECT_EQ(Text("a/b"), "<NotFound>");
  ASSERT_TRUE(IsOk(upload->Complete(parts, Condition::None(), {})));
  EXPECT_TRUE(Text("a/b") == text);
}

}  // namespace
}  // namespace airfreight::conformance
