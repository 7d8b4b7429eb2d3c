#include "datagrams/socket.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "jgudp/socket.h"

namespace jg::datagram {
namespace {

constexpr int kRoomMs = 10;  // for a full sending buffer to drain
constexpr double kSleepMaxS = 3600;

Status look_up(const std::string& host, const std::string& port, int family, Address* out) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = family;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE | (family == AF_INET6 ? AI_V4MAPPED : 0);
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error) return {"unreachable", "cannot resolve host '" + host + "': " + gai_strerror(error), {{"host", host}}};
  std::memcpy(static_cast<void*>(out), found->ai_addr, std::min<size_t>(found->ai_addrlen, sizeof *out));
  freeaddrinfo(found);
  return {};
}

}  // namespace

Status bind_socket(const std::string& host, net::Fd* out, int* port) {
  Address address;
  JG_RETURN_IF_ERROR(look_up(host, "0", AF_UNSPEC, &address));
  int socket;
  const bool opened = jgudp::open(&address, &socket);
  const int reason = errno;
  net::Fd fd(socket);
  if (!opened) {
    return {
        "unreachable", "cannot open a UDP port at host '" + host + "': " + net::errno_text(reason), {{"host", host}}};
  }
  *port = ntohs(address.port());
  *out = std::move(fd);
  return {};
}

Status resolve(const std::string& address, int fd, Address* out) {
  std::string host, port;
  JG_RETURN_IF_ERROR(net::split(address, &host, &port));
  Address own;
  socklen_t size = sizeof own;
  if (getsockname(fd, &own.any, &size)) return {"internal", "no socket: " + net::errno_text(errno), {}};
  return look_up(host, port, own.any.sa_family, out);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void wait_for_packets(int fd, int wake_fd, double seconds) {
  pollfd polled[] = {{fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};
  const double whole = std::floor(std::clamp(seconds, 0.0, kSleepMaxS));
  const timespec timeout{static_cast<time_t>(whole),
                         static_cast<long>((std::clamp(seconds, 0.0, kSleepMaxS) - whole) * 1e9)};
  if (ppoll(polled, 2, &timeout, nullptr) > 0 && polled[1].revents) {
    uint64_t count;
    [[maybe_unused]] const ssize_t n = read(wake_fd, &count, sizeof count);
  }
}

// ---- sending ----

void Outgoing::add(const Address& to, const void* packet, size_t size) {
  const auto add = [&] {
    return outbox_.add(&to, const_cast<void*>(packet), static_cast<uint32_t>(size), segmentation_);
  };
  if (add()) return;
  flush();
  add();
}

void Outgoing::flush() {
  bool waited = false;
  outbox_.send(
      fd_, [](size_t, uint32_t) {},
      [&](const msghdr& message, int reason) {
        if ((reason == EAGAIN || reason == ENOBUFS) && !waited) {
          pollfd room{fd_, POLLOUT, 0};
          poll(&room, 1, kRoomMs);
          return waited = true;
        }
        if (jgudp::cannot_segment(message, reason)) {
          segmentation_ = false;  // one packet a message from now on
          jgudp::send_singly(fd_, message, [](size_t, bool) {});
        }
        return false;
      });
}

// ---- receiving ----

Incoming::Incoming(int fd)
    : fd_(fd),
      bytes_(kMessages * jgudp::kMessageBytesMax),
      messages_(kMessages),
      pieces_(kMessages),
      envelopes_(kMessages) {}

int Incoming::fill() {
  for (size_t i = 0; i < kMessages; i++) {
    pieces_[i] = {&bytes_[i * jgudp::kMessageBytesMax], jgudp::kMessageBytesMax};
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    envelopes_[i].prepare(&header);
  }
  return recvmmsg(fd_, messages_.data(), kMessages, MSG_DONTWAIT, nullptr);
}

}  // namespace jg::datagram
