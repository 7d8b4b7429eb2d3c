// TCP sockets of edges: small functions over descriptors that own themselves. Timeouts are in milliseconds; a negative
// one means none.
#pragma once
#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "jg/ntf.h"
#include "jg/status.h"

namespace jg::net {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close() { *this = Fd(); }

 private:
  int fd_ = -1;
};

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline deadline_in(int timeout_ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}
// Milliseconds left, rounded up, at least 0 and at most `most`.
int left_ms(Deadline deadline, int most);

// Adds the time of its life to a counter of nanoseconds.
class WaitTimer {
 public:
  explicit WaitTimer(std::atomic<int64_t>* counter) : counter_(counter), start_(std::chrono::steady_clock::now()) {}
  ~WaitTimer() { counter_->fetch_add((std::chrono::steady_clock::now() - start_).count(), std::memory_order_relaxed); }
  WaitTimer(const WaitTimer&) = delete;

 private:
  std::atomic<int64_t>* counter_;
  std::chrono::steady_clock::time_point start_;
};

std::string errno_text(int error);
// Split "host:port" or "[v6]:port".
Status split(const std::string& address, std::string* host, std::string* port);
// Listens at a numeric host or a name, on a port that the kernel chooses.
Status listen_at(const std::string& host, Fd* out, int* port);
// Connects to "host:port" or "[v6]:port", trying each address of a name; the socket is non-blocking. Gives up when
// `cancelled` is set.
Status connect_to(const std::string& address, Deadline deadline, const std::atomic<bool>& cancelled, Fd* out);
// Small messages leave at once; a peer that vanished without a word is noticed within five seconds of silence.
void set_edge_options(int fd);
Status make_wake(Fd* out);  // an eventfd
void wake(int fd);

enum class Io { OK, CLOSED, FAILED, TIMED_OUT };
// OK when the socket is ready (or broken: the next call on it tells how), FAILED if the peer's system answers no more.
// Waiting is counted.
Io wait_for(int fd, short events, std::atomic<int64_t>* wait_ns, int timeout_ms);
// Everything in the pieces (which are consumed), however many calls it takes. Waiting is counted. errno tells why
// FAILED.
Io send_all(int fd, std::vector<iovec>* pieces, std::atomic<int64_t>* wait_ns);
Io send_all(int fd, const std::string& bytes, std::atomic<int64_t>* wait_ns);
// Exactly `size` bytes; CLOSED if the stream ends at or before the last one.
Io receive_all(int fd, void* to, size_t size, std::atomic<int64_t>* wait_ns, int timeout_ms = -1);
// Waits, after the sending side was shut down, until the peer's system has taken everything. To end before would leave
// the rest to the system, which gives a peer that is slow to read some minutes at most.
Io drain(int fd, std::atomic<int64_t>* wait_ns);

}  // namespace jg::net
