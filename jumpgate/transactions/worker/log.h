// A write-ahead log: append-only, synced for several threads at a time. A record is its length, its CRC-32C and the
// body. Behind the last one are zeros while it is open: a file that does not grow is synced without its metadata.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "jg/ntf.h"

namespace jgtx {

constexpr int64_t kZeroBytes = 256 << 10;

class Log {
 public:
  Log(int file, int64_t end) : file_(file), end_(end), zeros_end_(end) {}

  // Returns what `sync` takes. What nobody syncs is written, in order, before the next record that somebody syncs.
  uint64_t append(const uint8_t* head, uint32_t head_size, const uint8_t* data, uint32_t size) {
    const uint32_t words[2] = {head_size + size, jg::ntf::crc32c(jg::ntf::crc32c(0, head, head_size), data, size)};
    const std::lock_guard guard(mutex_);
    open_.append(reinterpret_cast<const char*>(words), sizeof words);
    open_.append(reinterpret_cast<const char*>(head), head_size);
    open_.append(reinterpret_cast<const char*>(data), size);
    return ++appended_;
  }

  // Until a record is on the disk. Returns 0 or an errno: from then on always, as what is there is not known. The first
  // thread that waits leads: it syncs for all that have appended by then. They wake when their record is there, and of
  // those that came later one, which leads next.
  int sync(uint64_t record) {
    std::unique_lock lock(mutex_);
    while (synced_ < record && failure_ == 0) {
      if (is_syncing_) {
        waiting(record > syncing_).wait(lock);
        continue;
      }
      is_syncing_ = true;
      std::string data = std::move(open_);
      open_.clear();
      syncing_ = appended_;
      turn_ = !turn_;
      lock.unlock();
      int failure = write(data);
      if (failure == 0 && fdatasync(file_) != 0) failure = errno;
      lock.lock();
      is_syncing_ = false;
      ++syncs_;
      if (failure == 0) synced_ = syncing_;
      failure_ = failure;
      waiting(false).notify_all();
      if (failure == 0)
        waiting(true).notify_one();
      else
        waiting(true).notify_all();
    }
    return synced_ >= record ? 0 : failure_;
  }

  // Who is in a call keeps the log open.
  void enter() {
    const std::lock_guard guard(mutex_);
    ++users_;
  }
  void leave() {
    const std::lock_guard guard(mutex_);
    if (--users_ == 0) ended_.notify_all();
  }

  // While nobody appends.
  void clear() {
    open_.clear();
    synced_ = appended_;
    end_ = zeros_end_ = 0;
  }
  // From then on `sync` returns EBADF.
  void finish() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return users_ == 0; });
    if (failure_ == 0) write(open_);  // nobody was told that it is there
    if (failure_ == 0 && ftruncate(file_, end_) != 0) failure_ = errno;
    if (failure_ == 0) failure_ = EBADF;
  }
  uint64_t syncs() {
    const std::lock_guard guard(mutex_);
    return syncs_;
  }

 private:
  // Those that the sync that goes on is for, or the next one.
  std::condition_variable& waiting(bool next) { return turns_[turn_ != next]; }

  int write(const std::string& data) {
    const int64_t end = end_ + static_cast<int64_t>(data.size());
    if (end > zeros_end_) {
      if (const int failure = write_at(end, std::string(kZeroBytes, '\0'))) return failure;
      zeros_end_ = end + kZeroBytes;
    }
    if (const int failure = write_at(end_, data)) return failure;
    end_ = end;
    return 0;
  }

  int write_at(int64_t at, const std::string& data) const {
    for (size_t done = 0; done < data.size();) {
      const ssize_t wrote = pwrite(file_, data.data() + done, data.size() - done, at + static_cast<int64_t>(done));
      if (wrote < 0 && errno != EINTR) return errno;
      done += static_cast<size_t>(std::max<ssize_t>(wrote, 0));
    }
    return 0;
  }

  const int file_;
  int64_t end_, zeros_end_;  // of the records; of what lies behind them
  std::string open_;
  uint64_t appended_ = 0, syncing_ = 0, synced_ = 0, syncs_ = 0;
  bool is_syncing_ = false, turn_ = false;
  int failure_ = 0, users_ = 0;
  std::mutex mutex_;
  std::condition_variable turns_[2], ended_;
};

struct Use {
  explicit Use(Log* log) : log(log) { log->enter(); }
  ~Use() { log->leave(); }
  Log* log;
};

}  // namespace jgtx
