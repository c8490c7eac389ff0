#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/random.h"

namespace airfreight {
namespace {

namespace fs = std::filesystem;

// A root with the files of /proc and /sys that a test names. (Limits of memory: MemoryLimitTest.)
class CpuLimitTest : public testing::Test {
 protected:
  CpuLimitTest() : root_(fs::temp_directory_path() / ("airfreight-" + *RandomHex128())) {}
  ~CpuLimitTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  int Cpus() const { return AvailableCpus(root_.string()); }

  const fs::path root_;
};

TEST_F(CpuLimitTest, WithoutAQuotaItIsTheAffinity) {
  const int all = Cpus();
  EXPECT_GE(all, 1);
  Write("proc/self/cgroup", "0::/user.slice\n");
  Write("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(Cpus(), all);
  Write("sys/fs/cgroup/user.slice/cpu.max", "400000000 100000\n");
  EXPECT_EQ(Cpus(), all);
}

TEST_F(CpuLimitTest, TheLowestQuotaUpTheTreeCounts) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  EXPECT_EQ(Cpus(), 1);  // A half is one, not none.
}

TEST_F(CpuLimitTest, PartsOfAProcessorCountAsOne) {
  const int all = Cpus();
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(Cpus(), std::min(all, 2));
}

TEST_F(CpuLimitTest, CgroupsOfVersionOneAreReadToo) {
  const int all = Cpus();
  Write("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:cpuset:/y\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cpus(), all);
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(Cpus(), 1);
}

TEST_F(CpuLimitTest, WhatCannotBeReadIsNoQuota) {
  const int all = Cpus();
  Write("proc/self/cgroup", "garbage\n0:cpu\n0::/../..\n");
  Write("sys/fs/cgroup/cpu.max", "one two\n");
  EXPECT_EQ(Cpus(), all);
  Write("sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(Cpus(), all);
}

}  // namespace
}  // namespace airfreight
