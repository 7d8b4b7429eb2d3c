#include "process/spare.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "jg/host.h"
#include "jg/objects.h"

namespace jg {
namespace {

constexpr size_t kResidentMost = 96 << 20;  // bytes, libraries included

size_t entries(const char* folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder), ::closedir);
  size_t n = 0;
  while (dir && ::readdir(dir.get())) n++;
  return n;
}

size_t resident_bytes() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "r"), std::fclose);
  size_t all = 0, resident = 0;
  if (!file || std::fscanf(file.get(), "%zu %zu", &all, &resident) != 2) return SIZE_MAX;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// The peak of an instance's memory is its own.
void forget_peak() {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!::write(file, "5", 1);
  ::close(file);
}

}  // namespace

Birth::Birth() : files_(entries("/proc/self/fd")), threads_(entries("/proc/self/task")) {}

bool Birth::is_as_new() const {
  if (objects::knows_any() || entries("/proc/self/fd") != files_ || entries("/proc/self/task") != threads_ ||
      resident_bytes() > kResidentMost)
    return false;
  forget_peak();
  ::prctl(PR_SET_NAME, kSpareName);
  return true;
}

}  // namespace jg
