#include "base/cgroup.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace airfreight {
namespace {

bool Names(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == wanted) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

void AddUpwards(int version, const std::string& mount, std::string path,
                std::vector<Cgroup>& found) {
  if (path.find("..") != std::string::npos) path.clear();
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    found.push_back({version, mount + path});
    if (path.empty()) return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

// Processors' worth of time that a quota allows; 0: any.
double Quota(const Cgroup& group) {
  double quota = 0;
  double period = 0;
  if (group.version == 2) {
    std::ifstream file(group.folder + "/cpu.max");  // "max 100000" where there is none.
    if (!(file >> quota >> period)) return 0;
  } else {
    std::ifstream quota_file(group.folder + "/cpu.cfs_quota_us");  // -1 where there is none.
    std::ifstream period_file(group.folder + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return 0;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

int Affinity() {
#ifdef __linux__
  cpu_set_t set;
  // (Fails on machines of more than 1,024 processors.)
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

// https://docs.kernel.org/admin-guide/cgroup-v2.html and …/cgroup-v1/; the lines of
// /proc/self/cgroup: cgroups(7), "hierarchy-ID:controller-list:cgroup-path".
std::vector<Cgroup> CgroupsOf(std::string_view controller, const std::string& root) {
  std::vector<Cgroup> found;
  std::ifstream cgroups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const std::string mount = root + "/sys/fs/cgroup";
    if (controllers.empty()) {
      AddUpwards(2, mount, path, found);
      // Where both versions are mounted, v2 lies beside v1's controllers.
      AddUpwards(2, mount + "/unified", path, found);
    } else if (Names(controllers, controller)) {
      AddUpwards(1, mount + "/" + std::string(controller), path, found);
    }
  }
  return found;
}

int AvailableCpus(const std::string& root) {
  std::string base = root;
  while (base.ends_with('/')) base.pop_back();
  double most = std::max(Affinity(), 1);
  for (const Cgroup& group : CgroupsOf("cpu", base)) {
    if (const double quota = Quota(group); quota > 0) most = std::min(most, std::ceil(quota));
  }
  return std::max(1, static_cast<int>(most));
}

}  // namespace airfreight
