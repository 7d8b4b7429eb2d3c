// The cache folder, and disk space for tables beyond memory: files without names, which vanish with the process that
// has them open, however it ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jg {

// $JUMPGATE_CACHE_DIR/NAME, which may not exist.
std::string cache_folder(const std::string& name);
std::string spill_folder();
// A descriptor of an empty file there; -1: errno says why not.
int open_spill_file();
// Return whether this many bytes more would leave too little of its disk to others.
bool is_disk_short(int fd, uint64_t bytes);
// Return the message for that, to follow the reason why memory is exhausted.
std::string disk_is_short();

// Memory that is a mapped file: the system keeps in memory what is in use and fits. Its blocks are reserved, so that a
// full disk is found here, and not on a write.
class DiskMemory {
 public:
  DiskMemory() = default;
  DiskMemory(const DiskMemory&) = delete;
  DiskMemory& operator=(const DiskMemory&) = delete;
  ~DiskMemory();

  // Zeroed, at the beginning of a page. null: there is no file to be had, or too little room on its disk.
  char* bytes(size_t n);
  int64_t size() const { return size_; }
  // Forgets all.
  void reset();

 private:
  struct Mapping {
    void* at;
    size_t size;
  };
  int fd_ = -1;
  int64_t size_ = 0;
  std::vector<Mapping> mappings_;
};

}  // namespace jg
