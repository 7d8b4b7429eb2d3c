#include "base/disk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>

namespace jg {
namespace {

constexpr uint64_t kDiskReserve = 512ull << 20;  // is left to others
constexpr size_t kPage = 4096;

}  // namespace

std::string cache_folder(const std::string& name) {
  if (const char* cache = std::getenv("JUMPGATE_CACHE_DIR"); cache && *cache) return std::string(cache) + "/" + name;
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base) return std::string(base) + "/jumpgate/" + name;
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "/tmp") + "/.cache/jumpgate/" + name;
}

std::string spill_folder() { return cache_folder("spool"); }

int open_spill_file() {
  const std::string folder = spill_folder();
  ::mkdir(folder.c_str(), 0700);  // if it fails, so does the next step
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = folder + "/tables-XXXXXX";  // a file system that cannot: named for a moment
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

bool is_disk_short(int fd, uint64_t bytes) {
  struct statvfs disk;
  return ::fstatvfs(fd, &disk) == 0 && disk.f_bavail * disk.f_frsize < kDiskReserve + bytes;
}

std::string disk_is_short() {
  return "; they go on in " + spill_folder() + ", whose disk has less than " + std::to_string(kDiskReserve >> 20) +
         " MiB left: free some space there, or set JUMPGATE_CACHE_DIR to a folder on another disk";
}

DiskMemory::~DiskMemory() {
  reset();
  if (fd_ >= 0) ::close(fd_);
}

char* DiskMemory::bytes(size_t n) {
  n = (n + kPage - 1) & ~(kPage - 1);
  if (fd_ < 0) fd_ = open_spill_file();
  if (fd_ < 0 || is_disk_short(fd_, n)) return nullptr;
  if (::posix_fallocate(fd_, size_, static_cast<off_t>(n)) != 0) return nullptr;
  void* at = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, size_);
  if (at == MAP_FAILED) return nullptr;
  mappings_.push_back({at, n});
  size_ += static_cast<int64_t>(n);
  return static_cast<char*>(at);
}

void DiskMemory::reset() {
  for (const Mapping& m : mappings_) ::munmap(m.at, m.size);
  mappings_.clear();
  if (size_ > 0 && ::ftruncate(fd_, 0) == 0) size_ = 0;  // else the file grows further
}

}  // namespace jg
