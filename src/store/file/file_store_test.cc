#include "store/file/file_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/crc32c.h"
#include "base/digest.h"
#include "base/random.h"
#include "conformance/matchers.h"
#include "store/file/object_lock.h"
#include "store/file/posix.h"

namespace airfreight {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class FileStoreTest : public testing::Test {
 protected:
  FileStoreTest()
      : directory_(fs::temp_directory_path() / ("airfreight-" + RandomHex128().value())),
        store_(Open({{"fsync", "false"}})) {}
  ~FileStoreTest() override { fs::remove_all(directory_); }

  std::shared_ptr<ObjectStore> Open(const StoreSettings& settings) const {
    StoreUri uri;
    uri.scheme = "file";
    uri.directory = directory_;
    return OpenFileStore(uri, settings).value();
  }
  Result<ObjectInfo> Put(std::string_view key, std::string_view text, Metadata metadata = {},
                         Condition condition = {}) {
    PutOptions options;
    options.metadata = std::move(metadata);
    options.condition = std::move(condition);
    return store_->Put(key, Body(text), options, {});
  }
  // Names below the directory, without the locks' own.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      const std::string name = fs::relative(entry.path(), directory_);
      if (!name.starts_with(".@locks") && !entry.is_directory()) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void WriteFile(const fs::path& name, std::string_view text) const {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }

  const fs::path directory_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(FileStoreTest, FileHoldsTheObjectsBytesAndNothingElse) {
  ASSERT_TRUE(IsOk(Put("d/r/t/map_-1/k.parquet", "PAR1…PAR1", {{"n", "1"}})));
  std::ifstream file(directory_ / "d/r/t/map_-1/k.parquet", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "PAR1…PAR1");
}

TEST_F(FileStoreTest, OverwritingLeavesOneFileAndOneSidecar) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(IsOk(Put("a/k", std::string(1, 'x'), {{"n", "1"}})));
  EXPECT_THAT(Files(), SizeIs(2));
}

TEST_F(FileStoreTest, RefusedAndCancelledPutsLeaveNothingBehind) {
  ASSERT_TRUE(IsOk(Put("a/k", "first", {{"n", "1"}})));
  const auto before = Files();
  EXPECT_TRUE(IsError(Put("a/k", "second", {}, Condition::Absent()), ErrorCode::kConditionFailed));
  EXPECT_TRUE(
      IsError(Put("a/k", "second", {}, Condition::Version("\"x\"")), ErrorCode::kConditionFailed));
  Context context;
  int polls = 0;
  context.cancelled = [&] { return ++polls > 1; };
  EXPECT_TRUE(IsError(store_->Put("a/k", Body("x"), {}, context), ErrorCode::kCancelled));
  EXPECT_EQ(Files(), before);
}

TEST_F(FileStoreTest, RemovalTakesTheSidecarAndEmptyFoldersButNotTheRoot) {
  ASSERT_TRUE(IsOk(Put("d/r/t/k", "v", {{"n", "1"}})));
  ASSERT_TRUE(IsOk(Put("d/r2/t/k", "v", {{"n", "1"}})));
  ASSERT_TRUE(IsOk(store_->Remove("d/r/t/k", Condition::None(), {})));
  EXPECT_FALSE(fs::exists(directory_ / "d/r"));
  EXPECT_TRUE(fs::exists(directory_ / "d/r2/t/k"));
  ASSERT_TRUE(IsOk(store_->Remove("d/r2/t/k", Condition::None(), {})));
  EXPECT_FALSE(fs::exists(directory_ / "d"));
  EXPECT_TRUE(fs::exists(directory_));
}

TEST_F(FileStoreTest, FileThatWasChangedByHandIsReadWithoutTheMetadataOfAnother) {
  ASSERT_TRUE(IsOk(Put("a/k", "value", {{"af-write", "w"}})));
  WriteFile("a/k", "VALUE");
  const auto got = store_->Get("a/k", {}, {});
  ASSERT_TRUE(IsOk(got));
  EXPECT_EQ(AsText(got->body.view()), "VALUE");
  EXPECT_THAT(got->info.metadata, IsEmpty());
}

TEST_F(FileStoreTest, FileThatWasPutThereByHandIsAnObject) {
  WriteFile("a/k", "value");
  EXPECT_THAT(store_->Head("a/k", {})->metadata, IsEmpty());
  EXPECT_THAT(store_->List("", "", 10, {})->objects, SizeIs(1));
}

TEST_F(FileStoreTest, CopyThatKeepsTimesKeepsMetadata) {
  ASSERT_TRUE(IsOk(Put("a/k", "value", {{"af-write", "w"}})));
  for (const auto& entry : fs::directory_iterator(directory_ / "a")) {
    const fs::path copy = directory_ / "b" / entry.path().filename();
    fs::create_directories(copy.parent_path());
    fs::copy_file(entry.path(), copy);
    struct stat times{};
    ASSERT_EQ(stat(entry.path().c_str(), &times), 0);
    const timespec both[] = {times.st_atim, times.st_mtim};
    ASSERT_EQ(utimensat(AT_FDCWD, copy.c_str(), both, 0), 0);
  }
  EXPECT_EQ(store_->Head("b/k", {})->metadata, (Metadata{{"af-write", "w"}}));
}

TEST_F(FileStoreTest, WritesOfOneLengthInOneInstantAreToldApart) {
  // Also where the file system's clock stands still: the second is forced to the first one's time.
  const auto first = Put("a/k", "aaaaa", {{"n", "1"}});
  const auto second = Put("a/k", "bbbbb", {{"n", "2"}});
  ASSERT_TRUE(IsOk(second));
  EXPECT_NE(first->version, second->version);
  EXPECT_EQ(store_->Head("a/k", {})->metadata, (Metadata{{"n", "2"}}));
}

TEST_F(FileStoreTest, DeadWritersFilesAreHiddenAndRemovedOnceTheyAreOld) {
  ASSERT_TRUE(IsOk(Put("a/k", "value")));
  const std::string old_name = "a/.@" + std::string(32, '0') + ".tmp";
  const std::string fresh_name = "a/.@" + std::string(32, '1') + ".tmp";
  WriteFile(old_name, "half");
  WriteFile(fresh_name, "half");
  fs::last_write_time(directory_ / old_name,
                      fs::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_THAT(store_->List("", "", 10, {})->objects, SizeIs(1));
  ASSERT_TRUE(IsOk(store_->Remove("a/k", Condition::None(), {})));
  EXPECT_THAT(Files(), ElementsAre(fresh_name));
}

TEST_F(FileStoreTest, KeysOfTheStoresOwnNamesAreRefused) {
  for (const char* key : {".@x", "a/.@k@1-2", ".@locks/00", "a/.@x/k"}) {
    EXPECT_TRUE(IsError(Put(key, "v"), ErrorCode::kInvalid)) << key;
    EXPECT_TRUE(IsError(store_->Get(key, {}, {}), ErrorCode::kInvalid)) << key;
  }
  EXPECT_TRUE(IsOk(Put(".hidden/.k", "v")));
  EXPECT_THAT(store_->List("", "", 10, {})->objects, SizeIs(1));
}

TEST_F(FileStoreTest, SymbolicLinkBelowTheDirectoryIsNotFollowed) {
  const fs::path outside = directory_.string() + "-outside";
  fs::create_directories(outside);
  std::ofstream(outside / "k") << "secret";
  fs::create_directories(directory_ / "d");
  fs::create_directory_symlink(outside, directory_ / "d/link");
  fs::create_symlink(outside / "k", directory_ / "d/k");
  EXPECT_TRUE(IsError(store_->Get("d/link/k", {}, {}), ErrorCode::kOutOfScope));
  EXPECT_TRUE(IsError(store_->Get("d/k", {}, {}), ErrorCode::kOutOfScope));
  EXPECT_TRUE(IsError(Put("d/link/new", "v"), ErrorCode::kOutOfScope));
  EXPECT_TRUE(IsError(Put("d/k", "v"), ErrorCode::kOutOfScope));
  EXPECT_TRUE(IsError(store_->Remove("d/link/k", Condition::None(), {}), ErrorCode::kOutOfScope));
  EXPECT_THAT(store_->List("", "", 10, {})->objects, IsEmpty());
  EXPECT_TRUE(fs::exists(outside / "k"));
  EXPECT_FALSE(fs::exists(outside / "new"));
  fs::remove_all(outside);
}

TEST_F(FileStoreTest, TheDirectoryItselfMayBeASymbolicLink) {
  const fs::path target = directory_.string() + "-target";
  fs::create_directories(target);
  fs::create_directory_symlink(target, directory_);
  EXPECT_TRUE(IsOk(Put("a/k", "v")));
  EXPECT_TRUE(fs::exists(target / "a/k"));
  fs::remove_all(target);
}

TEST_F(FileStoreTest, PipeUnderAKeyIsNoObjectAndDoesNotBlock) {
  fs::create_directories(directory_ / "a");
  ASSERT_EQ(mkfifo((directory_ / "a/k").c_str(), 0600), 0);
  EXPECT_TRUE(IsError(store_->Get("a/k", {}, {}), ErrorCode::kNotFound));
  EXPECT_TRUE(IsError(Put("a/k", "v"), ErrorCode::kInvalid));
}

TEST_F(FileStoreTest, FileWhereAFolderIsNeededIsNamed) {
  ASSERT_TRUE(IsOk(Put("a", "v")));
  const auto put = Put("a/k", "v");
  ASSERT_TRUE(IsError(put, ErrorCode::kInvalid));
  EXPECT_THAT(put.error().message, HasSubstr("'a'"));
  EXPECT_TRUE(IsError(Put("b", "v", {}, Condition::Version("x")), ErrorCode::kConditionFailed));
}

TEST_F(FileStoreTest, MissingObjectNamesThisHostUnlessTheDirectoryIsShared) {  // v6d-io/v6d#575
  const auto local = store_->Get("a/k", {}, {});
  ASSERT_TRUE(IsError(local, ErrorCode::kNotFound));
  EXPECT_THAT(local.error().message,
              AllOf(HasSubstr(posix::HostName()), HasSubstr("not shared between hosts")));
  const auto shared = Open({{"shared", "true"}})->Get("a/k", {}, {});
  ASSERT_TRUE(IsError(shared, ErrorCode::kNotFound));
  EXPECT_THAT(shared.error().message, Not(HasSubstr("not shared")));
}

TEST_F(FileStoreTest, UmaskDecidesWhoMayShareWhatIsMade) {  // Airflow's run_as_user.
  const mode_t before = umask(002);
  ASSERT_TRUE(IsOk(Put("a/k", "v", {{"n", "1"}})));
  umask(before);
  for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
    const auto mode = static_cast<unsigned>(entry.status().permissions()) & 0777u;
    EXPECT_EQ(mode, entry.is_directory() ? 0775u : 0664u) << entry.path();
  }
}

TEST_F(FileStoreTest, FolderWithoutPermissionIsDeniedAndNotRetried) {
  if (geteuid() == 0) GTEST_SKIP() << "root may everything";
  fs::create_directories(directory_ / "a");
  fs::permissions(directory_ / "a", fs::perms::owner_read | fs::perms::owner_exec);
  const auto put = Put("a/k", "v");
  ASSERT_TRUE(IsError(put, ErrorCode::kDenied));
  EXPECT_FALSE(put.error().retryable);
  EXPECT_THAT(put.error().message, HasSubstr("umask"));
  fs::permissions(directory_ / "a", fs::perms::owner_all);
}

TEST_F(FileStoreTest, MetadataThatCannotBeReadIsAnErrorAndNotNone) {
  ASSERT_TRUE(IsOk(Put("k", "v", {{"n", "1"}})));
  const auto files = Files();
  const auto sidecar = std::find_if(files.begin(), files.end(),
                                    [](const auto& name) { return name.starts_with(".@k@"); });
  ASSERT_NE(sidecar, files.end());
  // A link to itself fails to open even for root, as EIO and EMFILE would.
  fs::remove(directory_ / *sidecar);
  fs::create_symlink(*sidecar, directory_ / *sidecar);
  EXPECT_FALSE(store_->Head("k", {}));
  EXPECT_FALSE(store_->Get("k", {}, {}));
  fs::remove(directory_ / *sidecar);
  const auto head = store_->Head("k", {});
  ASSERT_TRUE(IsOk(head));
  EXPECT_THAT(head->metadata, IsEmpty());
}

TEST_F(FileStoreTest, ReaderOutOfDescriptorsIsToldSoAndMayTryAgain) {
  ASSERT_TRUE(IsOk(Put("a/k", "v", {{"n", "1"}})));
  // UBSan looks at memory through a pipe when it meets a class for the first time (here that of the
  // error texts), which it cannot without descriptors either.
  ASSERT_FALSE(posix::ErrnoError(EMFILE, "x").message.empty());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(lowest, 0);
  close(lowest);
  // Room for one more descriptor at first, until the read succeeds: each step in turn fails.
  int failures = 0;
  for (rlim_t room = 1; room < 16; ++room) {
    rlimit low = before;
    low.rlim_cur = static_cast<rlim_t>(lowest) + room;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    const auto head = store_->Head("a/k", {});
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (head) {
      EXPECT_EQ(head->metadata, (Metadata{{"n", "1"}}));
      break;
    }
    EXPECT_TRUE(IsError(head, ErrorCode::kUnavailable));
    EXPECT_TRUE(head.error().retryable);
    ++failures;
  }
  EXPECT_GE(failures, 3);
}

TEST(ErrnoErrorTest, CodesSayWhoCanHelp) {
  EXPECT_EQ(posix::ErrnoError(ENOSPC, "x").code, ErrorCode::kUnavailable);
  EXPECT_FALSE(posix::ErrnoError(ENOSPC, "x").retryable);
  EXPECT_EQ(posix::ErrnoError(EROFS, "x").code, ErrorCode::kDenied);
  EXPECT_EQ(posix::ErrnoError(EACCES, "x").code, ErrorCode::kDenied);
  EXPECT_EQ(posix::ErrnoError(EIO, "x").code, ErrorCode::kUnavailable);
  EXPECT_TRUE(posix::ErrnoError(EIO, "x").retryable);
  EXPECT_TRUE(posix::ErrnoError(ESTALE, "x").retryable);
  EXPECT_EQ(posix::ErrnoError(EFBIG, "x").code, ErrorCode::kTooLarge);
  EXPECT_THAT(posix::ErrnoError(ENOSPC, "writing").message, HasSubstr("writing: No space left"));
}

TEST_F(FileStoreTest, FullDiskIsUnavailableAndLeavesTheOldObject) {
  ASSERT_TRUE(IsOk(Put("a/k", "first")));
  const auto before = Files();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The nearest to a full disk that needs no privilege: files may not grow beyond a megabyte.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto put = Put("a/k", std::string(8 << 20, 'x'));
    _exit(put || put.error().code != ErrorCode::kTooLarge ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Files(), before);
  EXPECT_EQ(AsText(store_->Get("a/k", {}, {})->body.view()), "first");
}

TEST_F(FileStoreTest, SyncedObjectIsAsWhole) {
  const auto synced = Open({});
  ASSERT_TRUE(IsOk(synced->Put("a/b/c/k", Body("value"), {}, {})));
  EXPECT_EQ(AsText(synced->Get("a/b/c/k", {}, {})->body.view()), "value");
  EXPECT_TRUE(IsOk(synced->Remove("a/b/c/k", Condition::None(), {})));
  EXPECT_FALSE(fs::exists(directory_ / "a"));
}

// Conditions between processes: each adds to a counter on the version that it has read.
TEST_F(FileStoreTest, CountingUpInSeveralProcessesLosesNoStep) {
  constexpr int kProcesses = 4;
  constexpr int kSteps = 50;
  ASSERT_TRUE(IsOk(Put("a/count", "0")));
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int step = 0; step < kSteps;) {
        const auto got = store_->Get("a/count", {}, {});
        if (!got) _exit(1);
        const int next = std::stoi(std::string(AsText(got->body.view()))) + 1;
        const auto put =
            Put("a/count", std::to_string(next), {}, Condition::Version(got->info.version));
        if (put) ++step;
        if (!put && put.error().code != ErrorCode::kConditionFailed) _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(AsText(store_->Get("a/count", {}, {})->body.view()),
            std::to_string(kProcesses * kSteps));
}

TEST_F(FileStoreTest, KilledAtAnyMomentLeavesAWholeObjectWithItsMetadataOrNone) {
  constexpr int kKills = 200;
  int found = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Sizes and contents differ from write to write; the digest travels in the metadata. Every
      // third is removed again.
      for (unsigned i = 0;; ++i) {
        const std::string text((i * 7919 + static_cast<unsigned>(kill_number)) % 100'000,
                               static_cast<char>(i));
        (void)Put("d/r/k", text, {{"digest", DigestOf(DigestKind::kCrc32c, Body(text))}});
        if (i % 3 == 2) (void)store_->Remove("d/r/k", Condition::None(), {});
      }
    }
    // Spread over the first writes of the child; where exactly is up to the scheduler.
    std::this_thread::sleep_for(std::chrono::microseconds(kill_number * 37 % 5'000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);

    const auto got = store_->Get("d/r/k", {}, {});
    if (!got) {
      ASSERT_TRUE(IsError(got, ErrorCode::kNotFound));
      continue;
    }
    ++found;
    ASSERT_EQ(got->info.metadata.count("digest"), 1u) << "the object has lost its metadata";
    ASSERT_EQ(got->info.metadata.at("digest"),
              DigestOf(DigestKind::kCrc32c, Body(got->body.view())));
    ASSERT_LE(store_->List("", "", 10, {})->objects.size(), 1u);
  }
  EXPECT_GT(found, 0) << "no write was ever done: the test has tested nothing";
  // No dead writer holds a lock or stands in the way.
  EXPECT_TRUE(IsOk(Put("d/r/k", "after", {}, Condition::None())));
  EXPECT_TRUE(IsOk(store_->Remove("d/r/k", Condition::None(), {})));
}

TEST_F(FileStoreTest, UploadThatIsAbortedOrDroppedLeavesNoFile) {
  const std::string text(100'000, 'x');
  const auto files = [this] {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file() && entry.path().parent_path().filename() != ".@locks") ++count;
    }
    return count;
  };
  for (const bool abort : {true, false}) {
    auto upload = store_->StartUpload("d/r/k", {}, {});
    ASSERT_TRUE(IsOk(upload));
    ASSERT_TRUE(IsOk((*upload)->PutPart(1, 0, Body(text), Crc32c(AsBytes(text)), {})));
    EXPECT_EQ(files(), 1U);
    if (abort) {
      EXPECT_TRUE(IsOk((*upload)->Abort({})));
      EXPECT_FALSE(fs::exists(directory_ / "d"));  // Nor the folders that it has made.
    }
    upload->reset();
    EXPECT_EQ(files(), 0U);
  }
}

TEST_F(FileStoreTest, UploadOfAKilledWriterIsNoObject) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string text(100'000, 'x');
    auto upload = store_->StartUpload("d/r/k", {}, {});
    (void)(*upload)->PutPart(1, 0, Body(text), Crc32c(AsBytes(text)), {});
    kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(IsError(store_->Get("d/r/k", {}, {}), ErrorCode::kNotFound));
  EXPECT_TRUE(store_->List("", "", 10, {})->objects.empty());
  EXPECT_TRUE(IsOk(Put("d/r/k", "after", {}, Condition::Absent())));
}

TEST_F(FileStoreTest, LockOfAStoppedProcessIsWaitedForWithAnEndAndNamed) {
  ASSERT_TRUE(IsOk(Put("d/a", "old")));
  const auto root = posix::OpenRoot(directory_, false, false).value();
  const auto acquire = [&] {
    return ObjectLock::Acquire(root->get(), "d/a", {}, std::chrono::milliseconds(20));
  };
  {
    const auto held = acquire();
    ASSERT_TRUE(IsOk(held));
    const auto second = acquire();
    ASSERT_TRUE(IsError(second, ErrorCode::kUnavailable));
    EXPECT_TRUE(second.error().retryable);
    EXPECT_THAT(second.error().message, HasSubstr(".@locks/"));
  }
  EXPECT_TRUE(IsOk(acquire()));
}

TEST_F(FileStoreTest, LockFilesDeletedByHandAreMadeAgain) {
  ASSERT_TRUE(IsOk(Put("a/k", "v")));
  fs::remove_all(directory_ / ".@locks");
  EXPECT_TRUE(IsOk(Put("a/k", "w")));
}

}  // namespace
}  // namespace airfreight
