// Ranges of objects on this machine's disk, shared by all processes of its user. A chunk is a file BEGIN-END in the
// folder of one version of an object. It has no name until it is complete, so a process that ends leaves none behind.
//
// Eviction is GreedyDual-Size-Frequency (Cherkasova 1998): a chunk's priority is the cache's clock at its last use,
// plus uses * seconds saved / bytes. The lowest go first, and the clock follows them. A file has its priority as the
// time of its change and its uses as that of its access: so there is no index that could differ from the files.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>

namespace jg::objects {

struct Range {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// Seconds that a chunk saves: those of a request, and of each byte.
struct Saved {
  double request_s = 0, byte_s = 0;
};

class Chunks {
 public:
  // Holds at most `bytes_max`, in blocks of the disk; 0: nothing, and finds nothing.
  Chunks(std::string folder, int64_t bytes_max) : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  // Fills the front and the back of `out`, which stands for `wanted`, with what is there; returns the gap between.
  // `object` names the version. A damaged chunk is removed.
  Range fill(const std::string& object, Range wanted, Saved saved, char* out);
  // Keeps a range, where there is room on the disk. Nothing that fails here is an error.
  void keep(const std::string& object, Range range, Saved saved, const char* bytes);

 private:
  struct Entry {
    std::string path;
    Range range;
  };
  class Turn;

  Range copy(const std::string& object, const Entry& entry, Range wanted, Saved saved, char* out);
  void remove(const std::string& path);
  int64_t evict(int64_t bytes_left, int64_t* clock);

  const std::string folder_;
  const int64_t bytes_max_;
  std::mutex mutex_;  // descriptors of one process share a lock of the file
};

}  // namespace jg::objects
