#include "edges/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace jg::net {
namespace {

using Result = TlsConnection::Result;

Io io_of(Result result) {
  switch (result) {
    case Result::OK:
      return Io::OK;
    case Result::CLOSED:
      return Io::CLOSED;
    case Result::FAILED:
      return Io::FAILED;
    default:
      return Io::TIMED_OUT;
  }
}

// Does one step of TLS, as often as it must wait for the socket.
template <typename Step>
Io waiting(int fd, std::atomic<int64_t>* wait_ns, int timeout_ms, Step step) {
  const Deadline deadline = deadline_in(std::max(timeout_ms, 0));
  while (true) {
    const Result result = step();
    const bool reads = result == Result::WANTS_READ;
    if (!reads && result != Result::WANTS_WRITE) return io_of(result);
    const int left = timeout_ms < 0 ? -1 : left_ms(deadline, timeout_ms);
    if (const Io io = wait_for(fd, reads ? POLLIN : POLLOUT, wait_ns, left); io != Io::OK) return io;
  }
}

}  // namespace

Io Wire::shake_hands(std::atomic<int64_t>* wait_ns, int timeout_ms) {
  if (!tls_) return Io::OK;
  return waiting(fd(), wait_ns, timeout_ms, [this] { return tls_->shake_hands(); });
}

Io Wire::shake_hands_now() { return tls_ ? io_of(tls_->shake_hands()) : Io::OK; }

Io Wire::send_all(std::vector<iovec>* pieces, std::atomic<int64_t>* wait_ns) {
  if (!tls_) return net::send_all(fd(), pieces, wait_ns);
  size_t staged = 0;  // small pieces share a record
  for (const iovec& piece : *pieces) {
    const auto* from = static_cast<const uint8_t*>(piece.iov_base);
    for (size_t left = piece.iov_len; left > 0;) {
      const bool whole = staged == 0 && left >= kRecordBytes;
      const size_t size = std::min(left, kRecordBytes - staged);
      if (!whole) std::memcpy(staged_.get() + staged, from, size);
      staged += size;
      if (staged == kRecordBytes) {
        if (const Io io = write(whole ? from : staged_.get(), staged, wait_ns); io != Io::OK) return io;
        staged = 0;
      }
      from += size;
      left -= size;
    }
  }
  return write(staged_.get(), staged, wait_ns);
}

Io Wire::send_all(const std::string& bytes, std::atomic<int64_t>* wait_ns) {
  std::vector<iovec> pieces{{const_cast<char*>(bytes.data()), bytes.size()}};
  return send_all(&pieces, wait_ns);
}

Io Wire::write(const uint8_t* from, size_t size, std::atomic<int64_t>* wait_ns) {
  while (size > 0) {
    size_t taken = 0;
    const Io io = waiting(fd(), wait_ns, -1, [&] { return tls_->write(from, size, &taken); });
    if (io != Io::OK) return io;
    from += taken;
    size -= taken;
  }
  return Io::OK;
}

Io Wire::receive_all(void* to, size_t size, std::atomic<int64_t>* wait_ns, int timeout_ms) {
  if (!tls_) return net::receive_all(fd(), to, size, wait_ns, timeout_ms);
  const Deadline deadline = deadline_in(std::max(timeout_ms, 0));
  for (auto* at = static_cast<uint8_t*>(to); size > 0;) {
    size_t got = 0;
    const Io io = waiting(fd(), wait_ns, timeout_ms < 0 ? -1 : left_ms(deadline, timeout_ms),
                          [&] { return tls_->read(at, size, &got); });
    if (io != Io::OK) return io;
    at += got;
    size -= got;
  }
  return Io::OK;
}

Io Wire::receive_now(void* to, size_t size, size_t* got) {
  *got = 0;
  if (tls_) return io_of(tls_->read(to, size, got));
  const ssize_t n = ::recv(fd(), to, size, 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR ? Io::TIMED_OUT : Io::FAILED;
  *got = static_cast<size_t>(n);
  return n == 0 ? Io::CLOSED : Io::OK;
}

void Wire::send_now(const std::string& bytes) {
  if (tls_) {
    size_t taken = 0;
    tls_->write(bytes.data(), bytes.size(), &taken);
  } else {
    [[maybe_unused]] const ssize_t n = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

std::string Wire::reason() const {
  const std::string failure = tls_ ? tls_->failure() : "";
  return failure.empty() ? errno_text(errno) : failure;
}

}  // namespace jg::net
