#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace jg {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number after `name` in a file of lines "name number …", or the file's first word if there is no name.
int64_t number_in(const std::string& path, const std::string& name = "") {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, name.size(), name) != 0) continue;
    const char* at = line.c_str() + name.size();
    char* end;
    const long long value = std::strtoll(at, &end, 10);
    return end == at ? kUnknown : value;  // "max": no limit
  }
  return kUnknown;
}

// Return the room in the control group of that folder; file pages that have not been used for a while count as free.
int64_t left_in_group(const std::string& folder) {
  const int64_t most = number_in(folder + "/memory.max");
  const int64_t used = number_in(folder + "/memory.current");
  if (most == kUnknown || used == kUnknown) return kUnknown;
  const int64_t idle = number_in(folder + "/memory.stat", "inactive_file ");
  return most - used + (idle == kUnknown ? 0 : idle);
}

// The process's own group, as the second version of control groups shows it.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, 3, "0::") == 0) return "/sys/fs/cgroup" + line.substr(3);
  }
  return "/sys/fs/cgroup";
}

}  // namespace

int64_t available_memory() {
  const int64_t kib = number_in("/proc/meminfo", "MemAvailable:");
  const int64_t machine = kib == kUnknown ? kUnknown : kib << 10;
  return std::min({machine, left_in_group(own_group()), left_in_group("/sys/fs/cgroup")});
}

std::string Budget::explain() const {
  const std::string held_mib = "the instance's tables hold " + std::to_string(held.load() >> 20) + " MiB, ";
  if (scarce())
    return held_mib + "and its host has less than " + std::to_string(kReserve >> 20) +
           " MiB left; use more hosts, or filter rows before they are joined or grouped";
  return held_mib + "its limit is " + std::to_string(limit >> 20) + " MiB; raise memory_limit or use more instances" +
         (disk_is_full_ ? disk_is_short() : "");
}

}  // namespace jg
