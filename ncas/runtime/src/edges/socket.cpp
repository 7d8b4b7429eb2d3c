#include "edges/socket.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace jg::net {
namespace {

// A peer whose system does not answer any more is lost after five seconds, whether we wait for it or send: one more
// than its agent takes, whose error names the host (jumpgate/ntf/liveness.py).
constexpr int kKeepaliveIdleS = 3, kKeepaliveIntervalS = 1, kKeepaliveProbes = 2;
constexpr unsigned kUnansweredMs = 5000;
constexpr int kRepeatsMin = 3;  // by when it is not one packet that was lost
constexpr int kBacklog = 1024;
constexpr int kCancelPollMs = 50;  // how soon a connect notices that it was cancelled
constexpr int kCountMs = 100;      // a wait is counted so often while it lasts
constexpr int kDrainPollMs = 10;   // interval of checking for unsent bytes; there is no event for it

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Status resolve(const std::string& host, const std::string& port, int flags, Addresses* out) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error) return {"unreachable", "cannot resolve host '" + host + "': " + gai_strerror(error), {{"host", host}}};
  *out = Addresses(found, freeaddrinfo);
  return {};
}

// Return whether the system retransmits, or probes a zero window, without an answer. Keepalives do not run meanwhile,
// and TCP_USER_TIMEOUT would also end the connection to a live peer that does not read.
bool is_lost(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_last_ack_recv >= kUnansweredMs &&
         std::max(info.tcpi_retransmits, info.tcpi_probes) >= kRepeatsMin;
}

// 0, or the errno with which the connect ended.
int finish_connect(int fd, Deadline deadline, const std::atomic<bool>& cancelled) {
  while (!cancelled.load(std::memory_order_relaxed)) {
    pollfd p{fd, POLLOUT, 0};
    const int n = poll(&p, 1, left_ms(deadline, kCancelPollMs));
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) {
      int error = 0;
      socklen_t size = sizeof error;
      return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? errno : error;
    }
    if (left_ms(deadline, 1) == 0) return ETIMEDOUT;
  }
  return ECANCELED;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

int left_ms(Deadline deadline, int most) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, most));
}

std::string errno_text(int error) {
  char text[128];
  return strerror_r(error, text, sizeof text);
}

Status split(const std::string& address, std::string* host, std::string* port) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {"unreachable", "'" + address + "' is not host:port", {{"peer", address}}};
  *host = address.substr(0, colon);
  *port = address.substr(colon + 1);
  if (host->size() > 2 && host->front() == '[' && host->back() == ']') *host = host->substr(1, host->size() - 2);
  return {};
}

Status listen_at(const std::string& host, Fd* out, int* port) {
  Addresses addresses(nullptr, freeaddrinfo);
  JG_RETURN_IF_ERROR(resolve(host, "0", AI_PASSIVE, &addresses));
  int error = EADDRNOTAVAIL;
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    Fd fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (!fd.is_open() || bind(fd.get(), a->ai_addr, a->ai_addrlen) || listen(fd.get(), kBacklog) ||
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size)) {
      error = errno;
      continue;
    }
    *port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                              : reinterpret_cast<sockaddr_in&>(bound).sin_port);
    *out = std::move(fd);
    return {};
  }
  return {"unreachable", "cannot listen at host '" + host + "': " + errno_text(error), {{"host", host}}};
}

Status connect_to(const std::string& address, Deadline deadline, const std::atomic<bool>& cancelled, Fd* out) {
  std::string host, port;
  JG_RETURN_IF_ERROR(split(address, &host, &port));
  Addresses addresses(nullptr, freeaddrinfo);
  JG_RETURN_IF_ERROR(resolve(host, port, 0, &addresses));
  int error = 0;
  for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
    Fd fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = !fd.is_open() || connect(fd.get(), a->ai_addr, a->ai_addrlen) ? errno : 0;
    if (error == EINPROGRESS) error = finish_connect(fd.get(), deadline, cancelled);
    if (error == 0) {
      *out = std::move(fd);
      return {};
    }
  }
  if (error == ECANCELED) return {"cancelled", "cancelled while connecting to " + address};
  return {"unreachable", "cannot connect to " + address + ": " + errno_text(error), {{"peer", address}}};
}

void set_edge_options(int fd) {
  const auto set = [fd](int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalS);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
}

Status make_wake(Fd* out) {
  *out = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (out->is_open()) return {};
  return {"internal", "cannot create an eventfd: " + errno_text(errno)};
}

void wake(int fd) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(fd, &one, sizeof one);  // a full counter is awake already
}

Io wait_for(int fd, short events, std::atomic<int64_t>* wait_ns, int timeout_ms) {
  const Deadline deadline = deadline_in(std::max(timeout_ms, 0));
  while (true) {
    const WaitTimer timer(wait_ns);
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, timeout_ms < 0 ? kCountMs : left_ms(deadline, kCountMs));
    if (n > 0 || (n < 0 && errno != EINTR)) return Io::OK;
    if (timeout_ms >= 0 && left_ms(deadline, 1) == 0) return Io::TIMED_OUT;
    if (is_lost(fd)) {
      errno = ETIMEDOUT;
      return Io::FAILED;
    }
  }
}

Io send_all(int fd, std::vector<iovec>* pieces, std::atomic<int64_t>* wait_ns) {
  size_t at = 0;
  while (at < pieces->size()) {
    msghdr message{};
    message.msg_iov = pieces->data() + at;
    message.msg_iovlen = std::min<size_t>(pieces->size() - at, IOV_MAX);
    ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return errno == EPIPE || errno == ECONNRESET ? Io::CLOSED : Io::FAILED;
      if (const Io io = wait_for(fd, POLLOUT, wait_ns, -1); io != Io::OK) return io;
      continue;
    }
    for (; at < pieces->size() && static_cast<size_t>(sent) >= (*pieces)[at].iov_len; at++)
      sent -= (*pieces)[at].iov_len;
    if (sent > 0) {
      (*pieces)[at].iov_base = static_cast<uint8_t*>((*pieces)[at].iov_base) + sent;
      (*pieces)[at].iov_len -= sent;
    }
  }
  return Io::OK;
}

Io send_all(int fd, const std::string& bytes, std::atomic<int64_t>* wait_ns) {
  std::vector<iovec> pieces{{const_cast<char*>(bytes.data()), bytes.size()}};
  return send_all(fd, &pieces, wait_ns);
}

Io drain(int fd, std::atomic<int64_t>* wait_ns) {
  bool closed = false;
  for (int unsent = 0; ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > 0;) {
    if (closed) return Io::CLOSED;
    const WaitTimer timer(wait_ns);
    pollfd p{fd, POLLRDHUP, 0};
    closed = poll(&p, 1, kDrainPollMs) > 0;  // perhaps because it has got everything: look once more
    if (is_lost(fd)) {
      errno = ETIMEDOUT;
      return Io::FAILED;
    }
  }
  return Io::OK;
}

Io receive_all(int fd, void* to, size_t size, std::atomic<int64_t>* wait_ns, int timeout_ms) {
  auto* at = static_cast<uint8_t*>(to);
  const Deadline deadline = deadline_in(std::max(timeout_ms, 0));
  while (size) {
    const ssize_t n = recv(fd, at, size, 0);
    if (n == 0) return Io::CLOSED;
    if (n > 0) {
      at += n;
      size -= n;
    } else if (errno == EAGAIN) {
      const Io io = wait_for(fd, POLLIN, wait_ns, timeout_ms < 0 ? -1 : left_ms(deadline, timeout_ms));
      if (io != Io::OK) return io;
    } else if (errno != EINTR) {
      return errno == ECONNRESET ? Io::CLOSED : Io::FAILED;
    }
  }
  return Io::OK;
}

}  // namespace jg::net
