#pragma once

/// \file
/// \brief What the cgroups of this process allow it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace airfreight {

/// A cgroup that limits this process.
struct Cgroup {
  int version = 2;     ///< 1 or 2: its files have other names.
  std::string folder;  ///< Of its files; it need not be there.
};

/// \brief The cgroups of this process for a controller, each with all that it lies in.
///
/// Within a container the path may be that of the host, which is not there: then only the mount's
/// own files are found, and those are the container's.
///
/// Threads: any. Blocking: reads a file of /proc. Errors: none are found where there are none.
///
/// \param controller "memory" or "cpu".
/// \param root where /proc and /sys lie, without a slash at the end; for tests.
std::vector<Cgroup> CgroupsOf(std::string_view controller, const std::string& root);

/// \brief Processors that this process may use: those of its affinity (sched_getaffinity(2)), and
/// no more than the quota of its cgroups, rounded up (v2 `cpu.max`, v1 `cpu.cfs_quota_us`). At
/// least 1.
int AvailableCpus(const std::string& root = "/");

}  // namespace airfreight
