#include "objects/chunks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "base/disk.h"
#include "edges/socket.h"
#include "jg/ntf.h"

namespace jg::objects {
namespace {

constexpr char kMagic[4] = {'j', 'g', 'c', '1'};
constexpr double kPriority = 1e15;                           // of a second saved by one byte
constexpr int64_t kPriorityMax = 1'000'000'000'000'000'000;  // a time that each file system has, in nanoseconds
constexpr int64_t kNs = 1'000'000'000;
constexpr int kLockTries = 100;  // then somebody else has stopped or is evicting, and a chunk is not kept
constexpr std::chrono::milliseconds kLockPause{1};
constexpr int64_t kBlock = 4096;  // of a disk

struct Header {
  char magic[4];
  uint32_t crc;  // CRC-32C of the object's name, the range and the bytes
};

// What all processes know of the cache, in the file that is their lock.
struct State {
  int64_t bytes = 0, clock = 0;
};

uint32_t checksum(const std::string& object, Range range, const char* bytes) {
  uint32_t crc = ntf::crc32c(0, object.data(), object.size());
  crc = ntf::crc32c(crc, &range, sizeof range);
  return ntf::crc32c(crc, bytes, static_cast<size_t>(range.end - range.begin));
}

bool parse_name(const char* name, Range* out) {
  char end = 0;
  long long first = 0, last = 0;
  if (std::sscanf(name, "%lld-%lld%c", &first, &last, &end) != 2) return false;
  *out = {first, last};
  return 0 <= first && first < last;
}

timespec time_of(int64_t ns) { return {ns / kNs, static_cast<long>(ns % kNs)}; }

int64_t priority(int64_t clock, int64_t uses, int64_t bytes, Saved saved) {
  const double seconds = saved.request_s + static_cast<double>(bytes) * saved.byte_s;
  const double worth = static_cast<double>(uses) * seconds / static_cast<double>(bytes) * kPriority;
  return clock + static_cast<int64_t>(std::min(worth, static_cast<double>(kPriorityMax - clock)));
}

bool write_all(int fd, const char* bytes, int64_t size) {
  for (int64_t done = 0; done < size;) {
    const ssize_t n = ::write(fd, bytes + done, static_cast<size_t>(size - done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += n;
  }
  return true;
}

bool read_all(int fd, char* out, int64_t size, int64_t position) {
  for (int64_t done = 0; done < size;) {
    const ssize_t n = ::pread(fd, out + done, static_cast<size_t>(size - done), position + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += n;
  }
  return true;
}

// What a file takes on the disk.
int64_t blocks_of(int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

int64_t clock_of(const std::string& folder) {
  const net::Fd fd(::open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  State state;
  return fd.get() >= 0 && read_all(fd.get(), reinterpret_cast<char*>(&state), sizeof state, 0) ? state.clock : 0;
}

}  // namespace

// The right to change what is there, which one thread of one process has at a time; its state is written at the end.
class Chunks::Turn {
 public:
  explicit Turn(Chunks* chunks)
      : lock_(chunks->mutex_), fd_(::open((chunks->folder_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    for (int tries = 0; fd_.get() >= 0 && !has_ && tries < kLockTries; tries++) {
      if (tries > 0) std::this_thread::sleep_for(kLockPause);
      has_ = ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
    }
    State read;
    is_known_ = has_ && read_all(fd_.get(), reinterpret_cast<char*>(&read), sizeof read, 0) && read.bytes >= 0 &&
                read.clock >= 0 && read.clock <= kPriorityMax;
    if (is_known_) state = read;
  }
  bool has() const { return has_; }
  bool is_known() const { return is_known_; }
  bool write() { return ::pwrite(fd_.get(), &state, sizeof state, 0) == static_cast<ssize_t>(sizeof state); }

  State state;

 private:
  const std::lock_guard<std::mutex> lock_;
  const net::Fd fd_;
  bool has_ = false, is_known_ = false;
};

Range Chunks::fill(const std::string& object, Range wanted, Saved saved, char* out) {
  if (bytes_max_ == 0 || object.empty()) return wanted;
  std::vector<Entry> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_ + "/" + object, error), end; !error && at != end;
       at.increment(error)) {
    Range range;
    if (!parse_name(at->path().filename().c_str(), &range)) continue;
    if (range.begin < wanted.end && wanted.begin < range.end) found.push_back({at->path(), range});
  }
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) {
    return a.range.begin != b.range.begin ? a.range.begin < b.range.begin : a.range.end > b.range.end;
  });
  Range gap = wanted;
  for (const Entry& entry : found) {
    if (entry.range.begin > gap.begin || gap.empty()) break;
    if (entry.range.end <= gap.begin) continue;
    const Range copied = copy(object, entry, gap, saved, out + (gap.begin - wanted.begin));
    gap.begin = std::max(gap.begin, copied.end);
  }
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.range.end > b.range.end; });
  for (const Entry& entry : found) {
    if (entry.range.end < gap.end || gap.empty()) break;
    if (entry.range.begin >= gap.end) continue;
    const int64_t begin = std::max(gap.begin, entry.range.begin);
    const Range copied = copy(object, entry, {begin, gap.end}, saved, out + (begin - wanted.begin));
    if (!copied.empty()) gap.end = begin;
  }
  return gap;
}

// Copies what an entry has of `wanted`, from its front on; returns it, empty where the entry is gone or damaged.
Range Chunks::copy(const std::string& object, const Entry& entry, Range wanted, Saved saved, char* out) {
  const Range part{wanted.begin, std::min(wanted.end, entry.range.end)};
  const int64_t bytes = entry.range.end - entry.range.begin;
  const net::Fd fd(::open(entry.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME | O_NOFOLLOW));
  struct stat status;
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) return {wanted.begin, wanted.begin};
  Header header;
  std::unique_ptr<char[]> room;
  char* all = out;
  const bool is_long = status.st_size == bytes + static_cast<int64_t>(sizeof header);
  if (is_long && part.end - part.begin < bytes) {
    room.reset(new (std::nothrow) char[static_cast<size_t>(bytes)]);
    all = room.get();
    if (all == nullptr) return {wanted.begin, wanted.begin};
  }
  const bool is_whole = is_long && read_all(fd.get(), reinterpret_cast<char*>(&header), sizeof header, 0) &&
                        read_all(fd.get(), all, bytes, sizeof header) &&
                        std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
                        header.crc == checksum(object, entry.range, all);
  if (!is_whole) {
    remove(entry.path);
    return {wanted.begin, wanted.begin};
  }
  if (room) std::memcpy(out, all + (part.begin - entry.range.begin), static_cast<size_t>(part.end - part.begin));
  const int64_t uses = status.st_atim.tv_sec + 1;
  const timespec times[2] = {{uses, 0}, time_of(priority(clock_of(folder_), uses, bytes, saved))};
  ::futimens(fd.get(), times);
  return part;
}

void Chunks::keep(const std::string& object, Range range, Saved saved, const char* bytes) {
  const int64_t size = range.end - range.begin, stored = blocks_of(size + static_cast<int64_t>(sizeof(Header)));
  if (object.empty() || range.empty() || stored > bytes_max_) return;
  ::mkdir(folder_.c_str(), 0700);
  const net::Fd fd(::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (fd.get() < 0 || is_disk_short(fd.get(), static_cast<uint64_t>(stored))) return;
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.crc = checksum(object, range, bytes);
  if (!write_all(fd.get(), reinterpret_cast<char*>(&header), sizeof header) || !write_all(fd.get(), bytes, size))
    return;
  Turn turn(this);
  if (!turn.has()) return;
  if (!turn.is_known() || turn.state.bytes + stored > bytes_max_)
    turn.state.bytes = evict(std::min(bytes_max_ - stored, bytes_max_ / 8 * 7), &turn.state.clock);
  // Written first: a process that ends here leaves too large a sum, which an eviction mends.
  turn.state.bytes += stored;
  if (!turn.write()) return;
  const timespec times[2] = {{1, 0}, time_of(priority(turn.state.clock, 1, size, saved))};
  ::futimens(fd.get(), times);
  const std::string of = folder_ + "/" + object;
  ::mkdir(of.c_str(), 0700);
  const std::string name = of + "/" + std::to_string(range.begin) + "-" + std::to_string(range.end);
  const std::string here = "/proc/self/fd/" + std::to_string(fd.get());
  if (::linkat(AT_FDCWD, here.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  turn.state.bytes -= stored;  // another process has kept the same
  turn.write();
}

void Chunks::remove(const std::string& path) {
  Turn turn(this);
  struct stat status;
  if (!turn.has() || ::stat(path.c_str(), &status) != 0 || ::unlink(path.c_str()) != 0) return;
  turn.state.bytes = std::max<int64_t>(0, turn.state.bytes - blocks_of(status.st_size));
  turn.write();
}

// Removes chunks of the lowest priority until at most so many bytes are left; returns how many are. The clock becomes
// the highest priority that was removed.
int64_t Chunks::evict(int64_t bytes_left, int64_t* clock) {
  struct Victim {
    int64_t priority, bytes;
    std::string path;
  };
  std::vector<Victim> all;
  int64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    struct stat status;
    Range range;
    if (at.depth() != 1 || !parse_name(at->path().filename().c_str(), &range)) continue;
    if (::lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    all.push_back({status.st_mtim.tv_sec * kNs + status.st_mtim.tv_nsec, blocks_of(status.st_size), at->path()});
    bytes += all.back().bytes;
  }
  std::sort(all.begin(), all.end(), [](const Victim& a, const Victim& b) { return a.priority < b.priority; });
  for (const Victim& victim : all) {
    if (bytes <= bytes_left) break;
    if (::unlink(victim.path.c_str()) != 0) continue;
    bytes -= victim.bytes;
    *clock = std::max(*clock, victim.priority);
    ::rmdir(std::filesystem::path(victim.path).parent_path().c_str());  // if it was the last one
  }
  return bytes;
}

}  // namespace jg::objects
