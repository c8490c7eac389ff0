// Reading back through Freight: whole values, files, lists and parts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "airfreight/freight.h"
#include "base/crc32c.h"
#include "base/random.h"
#include "conformance/matchers.h"
#include "freight/test_freight.h"

namespace airfreight {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

class ValueReaderTest : public FreightFixture {
 protected:
  ValueReaderTest() : folder_(fs::temp_directory_path() / ("airfreight-" + *RandomHex128())) {
    info_.type = "bytes";
    info_.extension = "bin";
    faulty_->declared.parts = true;
    faulty_->declared.parallel = true;
    fs::create_directories(folder_);
  }
  ~ValueReaderTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Freight> Process(TransferOptions transfer = {}, Decision decision = {}) const {
    return std::make_unique<Freight>(std::vector<NamedStore>{{"default", counting_}},
                                     std::move(decision), "prod", transfer);
  }
  Reference Put(std::string_view text, int64_t map = -1, int64_t attempt = 1,
                Decision decision = {}) {
    Coordinate coordinate = coordinate_;
    coordinate.instance = Instance::Map(map);
    auto reference =
        Process({}, std::move(decision))
            ->Put(coordinate, Body(text), info_, {attempt, kNoon + attempt * 60'000'000}, {});
    EXPECT_TRUE(IsOk(reference));
    counting_->Take();
    return reference ? *std::move(reference) : Reference();
  }
  // Writes `text` with its table of blocks sealed at `sealed`.
  Reference PutSealed(std::string_view text, size_t sealed, std::vector<uint32_t>* blocks) {
    auto freight = Process();
    auto writer = *freight->Open(coordinate_, info_, {1, kNoon});
    EXPECT_TRUE(IsOk(writer->Append(AsBytes(text.substr(0, sealed)), {})));
    *blocks = writer->SealBlocks();
    EXPECT_TRUE(IsOk(writer->Append(AsBytes(text.substr(sealed)), {})));
    auto reference = writer->Finish(info_, {});
    EXPECT_TRUE(IsOk(reference));
    counting_->Take();
    return reference ? *std::move(reference) : Reference();
  }
  // Replaces the object by other bytes with the same metadata.
  void Damage(const Reference& reference, std::string_view text) {
    PutOptions options;
    options.metadata = memory_->Head(KeyOf(reference), {})->metadata;
    EXPECT_TRUE(IsOk(memory_->Put(KeyOf(reference), Body(text), options, {})));
  }
  std::string ReadFile(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  size_t FileCount() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  const fs::path folder_;
  ValueInfo info_;
};

TEST_F(ValueReaderTest, LargeValueIsOneRequestWhereTheStoreIsFast) {
  const std::string text = Pattern(20'000'000);
  const Reference reference = Put(text);
  const auto got = Process()->Get(reference, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_TRUE(AsText(got->view()) == text);
  // A machine that stands still for tens of milliseconds may make it look slow: never the value.
  EXPECT_THAT(counting_->Take(), Each("GET"));
}

TEST_F(ValueReaderTest, LargeValueThatIsNotWhatWasWrittenIsCorruptOrReplaced) {
  std::string text = Pattern(6'000'000);
  Decision decision;
  decision.digest = DigestKind::kSha256;
  for (const Decision& one : {Decision(), decision}) {
    const Reference reference = Put(text, -1, 1, one);
    text[5'999'999] ^= 1;
    Damage(reference, text);
    EXPECT_TRUE(IsError(Process()->Get(reference, {}), ErrorCode::kCorrupt));
    Damage(reference, text + "x");
    EXPECT_TRUE(IsError(Process()->Get(reference, {}), ErrorCode::kCorrupt));
    text[5'999'999] ^= 1;
    Put(text + "later", -1, 2, one);
    EXPECT_TRUE(IsError(Process()->Get(reference, {}), ErrorCode::kReplaced));
    Put(text, -1, 3, one);
    // The same bytes: who has not seen the row of that write may still not read them.
    EXPECT_TRUE(IsError(Process()->Get(reference, {}), ErrorCode::kReplaced));
    EXPECT_EQ(Process()->Purge(Put(text, -1, 4, one), {}).value(), true);
  }
}

TEST_F(ValueReaderTest, FileAppearsWholeOrNotAtAll) {
  const std::string text = Pattern(3'000'000);
  const Reference reference = Put(text);
  const fs::path path = folder_ / "value.bin";
  ASSERT_TRUE(IsOk(Process()->GetToFile(reference, path, {})));
  EXPECT_TRUE(ReadFile(path) == text);
  EXPECT_EQ(FileCount(), 1U);
  // One that is there is replaced, but only by a value that is right.
  std::ofstream(path) << "before";
  std::string damaged = text;
  damaged[1] ^= 1;
  Damage(reference, damaged);
  EXPECT_TRUE(IsError(Process()->GetToFile(reference, path, {}), ErrorCode::kCorrupt));
  EXPECT_EQ(ReadFile(path), "before");
  EXPECT_EQ(FileCount(), 1U);
  Damage(reference, text);
  ASSERT_TRUE(IsOk(Process()->GetToFile(reference, path, {})));
  EXPECT_TRUE(ReadFile(path) == text);
}

TEST_F(ValueReaderTest, FileWithSha256AndAnEmptyOneAreVerifiedToo) {
  Decision decision;
  decision.digest = DigestKind::kSha256;
  for (const size_t size : {size_t{0}, size_t{5'000'000}}) {
    const std::string text = Pattern(size);
    const Reference reference = Put(text, static_cast<int64_t>(size), 1, decision);
    ASSERT_TRUE(IsOk(Process()->GetToFile(reference, folder_ / "value", {})));
    EXPECT_TRUE(ReadFile(folder_ / "value") == text);
  }
}

TEST_F(ValueReaderTest, EmptyObjectThatIsLostIsLostInAFileToo) {
  const Reference reference = Put("");
  ASSERT_EQ(Process()->Purge(reference, {}).value(), true);
  const fs::path path = folder_ / "value";
  std::ofstream(path) << "before";
  EXPECT_TRUE(IsError(Process()->GetToFile(reference, path, {}), ErrorCode::kNotFound));
  EXPECT_EQ(ReadFile(path), "before");
}

TEST_F(ValueReaderTest, WhatIsNoFileIsNotReplacedAndAFileKeepsItsMode) {
  const Reference reference = Put("value");
  counting_->Take();
  fs::create_directory(folder_ / "folder");
  EXPECT_TRUE(
      IsError(Process()->GetToFile(reference, folder_ / "folder", {}), ErrorCode::kInvalid));
  EXPECT_THAT(counting_->Take(), IsEmpty());
  const fs::path path = folder_ / "secret";
  std::ofstream(path) << "before";
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(IsOk(Process()->GetToFile(reference, path, {})));
  EXPECT_EQ(ReadFile(path), "value");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ValueReaderTest, SmallReferenceToWhatHasBecomeLargeReadsNothingOfIt) {
  class NoBody final : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<ObjectInfo> Read(std::string_view key, const GetOptions& options, ReadSink& sink,
                            const Context& context) override {
      class Guard final : public ReadSink {
       public:
        explicit Guard(ReadSink& inner) : inner_(inner) {}
        Status Begin(const ObjectInfo& info) override { return inner_.Begin(info); }
        Status Write(ByteView bytes) override {
          ADD_FAILURE() << bytes.size() << " bytes were read";
          return inner_.Write(bytes);
        }

       private:
        ReadSink& inner_;
      } guard(sink);
      return inner().Read(key, options, guard, context);
    }
  };
  const Reference reference = Put("small", -1, 1);
  Put(Pattern(3'000'000), -1, 2);
  Freight freight({{"default", std::make_shared<NoBody>(memory_)}}, Decision());
  EXPECT_TRUE(IsError(freight.Get(reference, {}), ErrorCode::kReplaced));
}

TEST_F(ValueReaderTest, FolderThatCannotBeWrittenToIsNamedAndNothingIsRead) {
  const Reference reference = Put("value");
  const auto missing = Process()->GetToFile(reference, folder_ / "no" / "such" / "file", {});
  ASSERT_TRUE(IsError(missing, ErrorCode::kInvalid));
  EXPECT_THAT(missing.error().message, AllOf(HasSubstr("no/such/file"), HasSubstr("folder")));
  EXPECT_TRUE(IsError(Process()->GetToFile(reference, "", {}), ErrorCode::kInvalid));
  EXPECT_TRUE(
      IsError(Process()->GetToFile(reference, folder_.string() + "/", {}), ErrorCode::kInvalid));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(ValueReaderTest, CancelledFileLeavesNothing) {
  const Reference reference = Put(Pattern(6'000'000));
  Context context;
  int polls = 0;
  context.cancelled = [&] { return ++polls > 2; };
  EXPECT_TRUE(
      IsError(Process()->GetToFile(reference, folder_ / "value", context), ErrorCode::kCancelled));
  EXPECT_EQ(FileCount(), 0U);
}

TEST_F(ValueReaderTest, GetManyGivesResultsInOrderAndOneFailureStopsNoOther) {
  std::vector<Reference> references;
  for (int64_t i = 0; i < 40; ++i) {
    references.push_back(Put(Pattern(static_cast<size_t>(i) * 100), i));
  }
  ASSERT_EQ(Process()->Purge(references[3], {}).value(), true);
  references[5].uri = "s3://elsewhere/x.bin";
  counting_->Take();
  const auto results = Process()->GetMany(references, {});
  ASSERT_EQ(results.size(), 40U);
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == 3) {
      EXPECT_TRUE(IsError(results[i], ErrorCode::kNotFound));
    } else if (i == 5) {
      EXPECT_TRUE(IsError(results[i], ErrorCode::kOutOfScope));
    } else {
      ASSERT_TRUE(IsOk(results[i]));
      EXPECT_EQ(AsText(results[i]->view()), Pattern(i * 100));
    }
  }
  EXPECT_EQ(counting_->Take().size(), 39U);
  EXPECT_THAT(Process()->GetMany({}, {}), IsEmpty());
}

TEST_F(ValueReaderTest, GetManyDoesNotAskAStoreThatIsDownForEachItem) {
  const std::vector<Reference> references(100, Put("value"));
  std::atomic<int> asked{0};
  faulty_->before_read = [&](const GetOptions&, const Context&) -> Status {
    ++asked;
    return Fail(ErrorCode::kUnavailable, "nobody answers");
  };
  TransferOptions transfer;
  transfer.connections = 4;
  const auto results = Process(transfer)->GetMany(references, {});
  ASSERT_EQ(results.size(), 100U);
  for (const auto& result : results) EXPECT_TRUE(IsError(result, ErrorCode::kUnavailable));
  EXPECT_LE(asked, 4);
}

TEST_F(ValueReaderTest, GetManyEndsWhenItIsCancelled) {
  const std::vector<Reference> references(100, Put("value"));
  std::atomic<int> stalled{0};
  faulty_->before_read = [&](const GetOptions&, const Context& context) -> Status {
    ++stalled;
    while (!context.IsCancelled()) std::this_thread::yield();
    return Fail(ErrorCode::kCancelled, "told to stop");
  };
  Context context;
  context.cancelled = [&] { return stalled >= 4; };
  TransferOptions transfer;
  transfer.connections = 4;
  const auto results = Process(transfer)->GetMany(references, context);
  ASSERT_EQ(results.size(), 100U);
  for (const auto& result : results) EXPECT_TRUE(IsError(result, ErrorCode::kCancelled));
  EXPECT_EQ(stalled, 4);
}

TEST_F(ValueReaderTest, GetManyOfMoreThanTheBudgetGoesOn) {
  std::vector<std::string> texts;
  std::vector<Reference> references;
  for (int64_t i = 0; i < 8; ++i) references.push_back(Put(Pattern(3'000), i));
  TransferOptions transfer;
  transfer.memory_bytes = 4'000;  // One at a time.
  for (const auto& result : Process(transfer)->GetMany(references, {})) EXPECT_TRUE(IsOk(result));
  transfer.memory_bytes = 1'000;  // Not even one.
  for (const auto& result : Process(transfer)->GetMany(references, {})) EXPECT_TRUE(IsOk(result));
}

// ---------------------------------------------------------------------------------- partial reads

TEST_F(ValueReaderTest, TailIsOneRequestAndCheckedWithoutTheRest) {
  std::vector<uint32_t> blocks;
  const std::string text = Pattern(500'000);
  const Reference reference = PutSealed(text, 400'000, &blocks);
  const auto freight = Process();
  auto reader = *freight->OpenReader(reference);
  EXPECT_THAT(counting_->Take(), IsEmpty());
  EXPECT_EQ(reader->size(), 500'000U);
  EXPECT_EQ(reader->tail_offset(), 400'000U);
  const auto tail = reader->ReadTail({});
  ASSERT_TRUE(IsOk(tail));
  EXPECT_EQ(AsText(tail->view()), text.substr(400'000));
  EXPECT_THAT(counting_->Take(), ElementsAre("GET"));
  std::string damaged = text;
  damaged[450'000] ^= 1;
  Damage(reference, damaged);
  EXPECT_TRUE(IsError((*freight->OpenReader(reference))->ReadTail({}), ErrorCode::kCorrupt));
  damaged = text;
  damaged[10] ^= 1;  // Not in the tail.
  Damage(reference, damaged);
  EXPECT_TRUE(IsOk((*freight->OpenReader(reference))->ReadTail({})));
}

TEST_F(ValueReaderTest, RangesComeInTheirOrderMergedWhereTheyLieClose) {
  std::vector<uint32_t> blocks;
  const std::string text = Pattern(3'000'000);
  const Reference reference = PutSealed(text, 2'900'000, &blocks);
  auto freight = Process();
  auto reader = *freight->OpenReader(reference);
  ASSERT_TRUE(IsOk(reader->SetBlocks(blocks)));
  // Far apart, overlapping, empty, across blocks, up to the end of the blocks.
  const std::vector<ValueReader::Range> ranges = {{2'000'000, 10}, {0, 1},        {100'000, 70'000},
                                                  {150'000, 5},    {5, 0},        {2'899'999, 1},
                                                  {65'535, 2},     {2'000'005, 3}};
  const auto got = reader->Read(ranges, {});
  ASSERT_TRUE(IsOk(got));
  ASSERT_EQ(got->size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(AsText((*got)[i].view()), text.substr(ranges[i].offset, ranges[i].length)) << i;
  }
  EXPECT_THAT(counting_->Take(), ElementsAre("GET", "GET", "GET"));
  const auto nothing = reader->Read({}, {});
  ASSERT_TRUE(IsOk(nothing));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(ValueReaderTest, RunsOfAnyLengthAreCheckedAsBlocksAre) {
  const std::string text = Pattern(3'000'000);
  std::vector<uint32_t> blocks;
  const Reference reference = PutSealed(text, 2'900'000, &blocks);
  auto freight = Process();
  auto reader = *freight->OpenReader(reference);
  const auto check = [&](uint64_t offset, uint64_t length) {
    return ValueReader::Check{offset, length, Crc32c(AsBytes(text.substr(offset, length)))};
  };
  // Two that touch, a gap, one alone, a long gap, and the end.
  const std::vector<ValueReader::Check> checks = {check(10, 90), check(100, 1'000), check(2'000, 1),
                                                  check(1'000'000, 1'000'000), check(2'899'999, 1)};
  ASSERT_TRUE(IsOk(reader->SetChecks(checks)));
  const std::vector<ValueReader::Range> ranges = {
      {1'000'000, 1'000'000}, {2'000, 1}, {50, 500}, {10, 1}, {2'899'999, 1}, {1'099, 1}};
  const auto got = reader->Read(ranges, {});
  ASSERT_TRUE(IsOk(got));
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(AsText((*got)[i].view()), text.substr(ranges[i].offset, ranges[i].length)) << i;
  }
  EXPECT_THAT(counting_->Take(), ElementsAre("GET", "GET", "GET"));
  for (const ValueReader::Range range :
       std::vector<ValueReader::Range>{{9, 1}, {1'099, 2}, {1'100, 1}, {2'001, 1}, {0, 11}}) {
    EXPECT_TRUE(IsError(reader->Read({range}, {}), ErrorCode::kInvalid)) << range.offset;
  }
  for (const ValueReader::Check wrong : std::vector<ValueReader::Check>{{2'899'999, 1, 0},
                                                                        {2'900'000, 1, 0},
                                                                        {2'950'000, 1, 0},
                                                                        {2'899'999, UINT64_MAX, 0},
                                                                        {UINT64_MAX, 2, 0},
                                                                        {2'900'000, 0, 0}}) {
    std::vector<ValueReader::Check> more = checks;
    more.push_back(wrong);
    EXPECT_TRUE(IsError(reader->SetChecks(more), ErrorCode::kInvalid)) << wrong.offset;
  }
  EXPECT_THAT(counting_->Take(), IsEmpty());
  for (const size_t at : {10U, 99U, 100U, 1'099U, 2'000U, 1'500'000U}) {
    std::string damaged = text;
    damaged[at] ^= 1;
    Damage(reference, damaged);
    auto again = *freight->OpenReader(reference);
    ASSERT_TRUE(IsOk(again->SetChecks(checks)));
    EXPECT_TRUE(IsError(again->Read({{at, 1}}, {}), ErrorCode::kCorrupt)) << at;
  }
}

TEST_F(ValueReaderTest, LongRangeIsReadInPieces) {
  std::vector<uint32_t> blocks;
  const std::string text = Pattern(20'000'000);
  const Reference reference = PutSealed(text, text.size(), &blocks);
  auto freight = Process();
  auto reader = *freight->OpenReader(reference);
  ASSERT_TRUE(IsOk(reader->SetBlocks(blocks)));
  const auto got = reader->Read({{1, 19'999'998}}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_TRUE(AsText((*got)[0].view()) == std::string_view(text).substr(1, 19'999'998));
  EXPECT_THAT(counting_->Take(), ElementsAre("GET", "GET", "GET"));
}

TEST_F(ValueReaderTest, EveryFlippedByteOfARangeThatIsReadIsCorrupt) {
  std::vector<uint32_t> blocks;
  const std::string text = Pattern(300'000);
  const Reference reference = PutSealed(text, 250'000, &blocks);
  auto freight = Process();
  for (const size_t at : {0U, 65'535U, 65'536U, 131'071U, 249'999U}) {
    std::string damaged = text;
    damaged[at] ^= 1;
    Damage(reference, damaged);
    auto reader = *freight->OpenReader(reference);
    ASSERT_TRUE(IsOk(reader->SetBlocks(blocks)));
    const auto got = reader->Read({{at, 1}}, {});
    ASSERT_TRUE(IsError(got, ErrorCode::kCorrupt)) << at;
    EXPECT_THAT(got.error().message, AllOf(HasSubstr("checksum of bytes"), HasSubstr("'sales'")));
  }
}

TEST_F(ValueReaderTest, AllRangesAreOfOneVersion) {
  std::vector<uint32_t> blocks;
  const std::string text = Pattern(300'000);
  const Reference reference = PutSealed(text, 250'000, &blocks);
  auto freight = Process();
  auto reader = *freight->OpenReader(reference);
  ASSERT_TRUE(IsOk(reader->SetBlocks(blocks)));
  ASSERT_TRUE(IsOk(reader->ReadTail({})));
  Damage(reference, text);  // The same bytes and stamp, another version.
  EXPECT_TRUE(IsError(reader->Read({{0, 1}}, {}), ErrorCode::kReplaced));
  Put(Pattern(1'000), -1, 5);
  EXPECT_TRUE(IsError(reader->ReadTail({}), ErrorCode::kReplaced));
  EXPECT_TRUE(IsError((*freight->OpenReader(reference))->ReadTail({}), ErrorCode::kReplaced));
}

TEST_F(ValueReaderTest, WhatCannotBeCheckedIsNotRead) {
  std::vector<uint32_t> blocks;
  const std::string text = Pattern(300'000);
  const Reference reference = PutSealed(text, 250'000, &blocks);
  auto freight = Process();
  auto reader = *freight->OpenReader(reference);
  EXPECT_TRUE(IsError(reader->Read({{0, 1}}, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(reader->SetBlocks({1, 2, 3}), ErrorCode::kInvalid));
  ASSERT_TRUE(IsOk(reader->SetBlocks(blocks)));
  EXPECT_TRUE(IsError(reader->Read({{249'999, 2}}, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(reader->Read({{1, UINT64_MAX}}, {}), ErrorCode::kInvalid));
  EXPECT_TRUE(IsError(reader->Read({{UINT64_MAX, 1}}, {}), ErrorCode::kInvalid));
  const auto without = *freight->OpenReader(Put("plain", 9));
  EXPECT_EQ(without->tail_offset(), 5U);
  EXPECT_TRUE(IsError(without->ReadTail({}), ErrorCode::kInvalid));
  EXPECT_THAT(counting_->Take(), IsEmpty());
}

TEST_F(ValueReaderTest, ReaderOfWhatLiesElsewhereIsOutOfScope) {
  Reference reference = Put("value");
  reference.uri = "s3://elsewhere/x.bin";
  EXPECT_TRUE(IsError(Process()->OpenReader(reference), ErrorCode::kOutOfScope));
}

}  // namespace
}  // namespace airfreight
