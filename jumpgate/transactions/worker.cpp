// A worker's transactions without Python's lock: logged, sent until they are answered, synced for several at a time.
// A record is its length, its CRC-32C and the body: what Python gives, and a datagram as it was sent or came back.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "jg/ntf.h"

namespace jgtx {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// A repetition after so long, doubled each time up to the greatest.
constexpr microseconds kFirst{20'000}, kGreatest{500'000};
// Of an answer: what tells whose it is (flow, sequence, secret), its state, an instruction's bytes.
constexpr uint32_t kMineBytes = 14, kStateAt = 26, kInstructionBytes = 12;
constexpr uint8_t kRepeated = 2, kFresh = 4, kExecuted = 0x80;
// Outcomes that are no errno.
constexpr int kLost = -1, kBrokenOff = -2;

class Log {
 public:
  Log(int file, int64_t end) : file_(file), end_(end) {}

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
    end_ = 0;
  }
  // From then on `sync` returns EBADF.
  void finish() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return users_ == 0; });
    if (failure_ == 0) write(open_);  // nobody was told that it is there
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
    for (size_t done = 0; done < data.size();) {
      const ssize_t wrote = pwrite(file_, data.data() + done, data.size() - done, end_ + static_cast<int64_t>(done));
      if (wrote < 0 && errno != EINTR) return errno;
      done += static_cast<size_t>(std::max<ssize_t>(wrote, 0));
    }
    end_ += static_cast<int64_t>(data.size());
    return 0;
  }

  const int file_;
  int64_t end_;
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

// The answer to a packet has its size; each instruction says that it was executed.
bool answers(const uint8_t* packet, uint32_t head, const uint8_t* found, uint32_t size) {
  if (std::memcmp(packet, found, kMineBytes) != 0) return false;
  if (found[kStateAt] != kRepeated && found[kStateAt] != kFresh) return false;
  for (uint32_t at = head; at + 1 < size; at += kInstructionBytes)
    if ((found[at] & kExecuted) == 0) return false;
  return true;
}

}  // namespace jgtx

using jgtx::Log;

extern "C" {

// A log that was closed is null to later calls, which return EBADF. It stays in memory, some 200 bytes: a thread may
// have taken it and not have entered yet.
Log* jgtx_log_open(int file, int64_t end) { return new Log(file, end); }
void jgtx_log_close(Log* log) {
  if (log != nullptr) log->finish();
}
uint64_t jgtx_log_append(Log* log, const uint8_t* body, uint32_t size) {
  return log == nullptr ? 0 : log->append(body, size, nullptr, 0);
}
int jgtx_log_sync(Log* log, uint64_t record) {
  if (log == nullptr) return EBADF;
  const jgtx::Use use(log);
  return log->sync(record);
}
uint64_t jgtx_log_syncs(Log* log) { return log->syncs(); }
void jgtx_log_clear(Log* log) { log->clear(); }

// Sends a packet, of a header of `head` bytes, until `answer` has room for and holds its answer. Returns 0 or kLost.
// The socket is connected, and its calls return after kFirst at the latest.
int jgtx_ask(int socket, const uint8_t* packet, uint32_t size, uint32_t head, int64_t lost_us, uint8_t* answer) {
  const auto lost = jgtx::Clock::now() + std::chrono::microseconds(lost_us);
  auto wait = jgtx::kFirst;
  uint8_t found[2048];
  for (auto now = jgtx::Clock::now(); now < lost; now = jgtx::Clock::now()) {
    send(socket, packet, size, 0);  // if nobody listens just now, the next repetition may find somebody
    const auto again = std::min(now + wait, lost);
    wait = std::min(2 * wait, jgtx::kGreatest);
    for (; now < again; now = jgtx::Clock::now()) {
      const ssize_t got = recv(socket, found, sizeof found, 0);
      if (got < 0 && errno != EAGAIN && errno != EINTR) std::this_thread::sleep_for(jgtx::kFirst);  // not there
      if (got != static_cast<ssize_t>(size) || !jgtx::answers(packet, head, found, size)) continue;
      std::memcpy(answer, found, size);
      return 0;
    }
  }
  return jgtx::kLost;
}

// Logs a packet behind `sent`, sends it, logs the answer behind `answered`, and syncs; `first`: also before it is sent.
// Calls `reach`, if there is one, with 1 once it is logged and 2 once it is answered. Returns 0, kLost, kBrokenOff (by
// `reach`), or an errno of the log.
int jgtx_execute(Log* log, int socket, const uint8_t* sent, const uint8_t* answered, uint32_t prefix,
                 const uint8_t* packet, uint32_t size, uint32_t head, bool first, int64_t lost_us, int (*reach)(int),
                 uint8_t* answer) {
  if (log == nullptr) return EBADF;
  const jgtx::Use use(log);
  const uint64_t record = log->append(sent, prefix, packet, size);
  if (first)
    if (const int failure = log->sync(record)) return failure;
  if (reach != nullptr && reach(1) != 0) return jgtx::kBrokenOff;
  if (const int failure = jgtx_ask(socket, packet, size, head, lost_us, answer)) return failure;
  if (reach != nullptr && reach(2) != 0) return jgtx::kBrokenOff;
  return log->sync(log->append(answered, prefix, answer, size));
}

}  // extern "C"
