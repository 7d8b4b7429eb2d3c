#include "datagrams/socket.h"

#include <netdb.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

namespace jg::datagram {
namespace {

constexpr int SOCKET_BYTES = 8 << 20;  // of each buffer, as far as the kernel permits
constexpr size_t SEGMENTS_MAX = 64, SEGMENTED_BYTES_MAX = 65000;
constexpr size_t MESSAGES_MAX = 64;  // of one sending call
constexpr int ROOM_MS = 10;          // for a full sending buffer to drain
constexpr double SLEEP_MAX_S = 3600;

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

void widen(int fd) {
  for (const auto& [forced, plain] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}})
    if (setsockopt(fd, SOL_SOCKET, forced, &SOCKET_BYTES, sizeof SOCKET_BYTES) != 0)
      setsockopt(fd, SOL_SOCKET, plain, &SOCKET_BYTES, sizeof SOCKET_BYTES);
}

}  // namespace

Status bind_socket(const std::string& host, net::Fd* out, int* port) {
  Address address;
  JG_RETURN_IF_ERROR(look_up(host, "0", AF_UNSPEC, &address));
  net::Fd fd(socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t size = sizeof address;
  if (!fd.is_open() || bind(fd.get(), &address.any, address.size()) || getsockname(fd.get(), &address.any, &size)) {
    return {
        "unreachable", "cannot open a UDP port at host '" + host + "': " + net::errno_text(errno), {{"host", host}}};
  }
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_UDP, UDP_GRO, &on, sizeof on);
  widen(fd.get());
  *port = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
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
  const double whole = std::floor(std::clamp(seconds, 0.0, SLEEP_MAX_S));
  const timespec timeout{static_cast<time_t>(whole),
                         static_cast<long>((std::clamp(seconds, 0.0, SLEEP_MAX_S) - whole) * 1e9)};
  if (ppoll(polled, 2, &timeout, nullptr) > 0 && polled[1].revents) {
    uint64_t count;
    [[maybe_unused]] const ssize_t n = read(wake_fd, &count, sizeof count);
  }
}

// ---- sending ----

Outgoing::Outgoing(int fd) : fd_(fd) {}

void Outgoing::add(const Address& to, const void* packet, size_t size) {
  packets_.push_back({to, {const_cast<void*>(packet), size}});
}

void Outgoing::flush() {
  pieces_.clear();
  for (const Packet& packet : packets_) pieces_.push_back(packet.piece);
  for (size_t at = 0; at < packets_.size();) at = send_some(at);
  packets_.clear();
}

// Sends packets from number `from` on; neighbours of one destination and size make one message, whose last packet may
// be shorter. Returns the number of the first packet that is still to be sent.
size_t Outgoing::send_some(size_t from) {
  struct alignas(cmsghdr) Control {
    uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
  };
  mmsghdr messages[MESSAGES_MAX];
  Control controls[MESSAGES_MAX];
  size_t first[MESSAGES_MAX + 1] = {from};
  size_t count = 0;
  for (; count < MESSAGES_MAX && first[count] < packets_.size(); count++) {
    size_t at = first[count], bytes = 0;
    const size_t size = packets_[at].piece.iov_len;
    while (at < packets_.size() && at - first[count] < (segmentation_ ? SEGMENTS_MAX : 1)) {
      const size_t length = packets_[at].piece.iov_len;
      if (at > first[count] &&
          (length > size || bytes + length > SEGMENTED_BYTES_MAX || !same(packets_[at].to, packets_[first[count]].to)))
        break;
      bytes += length;
      at++;
      if (length < size) break;
    }
    msghdr& header = messages[count].msg_hdr;
    header = {};
    header.msg_name = &packets_[first[count]].to;
    header.msg_namelen = packets_[first[count]].to.size();
    header.msg_iov = &pieces_[first[count]];
    header.msg_iovlen = at - first[count];
    if (header.msg_iovlen > 1) {
      header.msg_control = controls[count].bytes;
      header.msg_controllen = sizeof controls[count].bytes;
      cmsghdr* control = CMSG_FIRSTHDR(&header);
      control->cmsg_level = IPPROTO_UDP;
      control->cmsg_type = UDP_SEGMENT;
      control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
      const auto segment = static_cast<uint16_t>(size);
      std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
    }
    first[count + 1] = at;
  }
  bool waited = false;
  for (size_t sent = 0; sent < count;) {
    const int done = sendmmsg(fd_, &messages[sent], static_cast<unsigned>(count - sent), MSG_DONTWAIT);
    if (done > 0) {
      sent += done;
    } else if (errno == EINTR) {
      continue;
    } else if ((errno == EAGAIN || errno == ENOBUFS) && !waited) {
      pollfd room{fd_, POLLOUT, 0};
      poll(&room, 1, ROOM_MS);
      waited = true;
    } else if (messages[sent].msg_hdr.msg_iovlen > 1 && (errno == EINVAL || errno == EMSGSIZE || errno == EIO)) {
      segmentation_ = false;  // a device that cannot: one packet a message from now on
      return first[sent];
    } else {
      sent++;
    }
  }
  return first[count];
}

// ---- receiving ----

Incoming::Incoming(int fd)
    : fd_(fd),
      bytes_(MESSAGES * MESSAGE_BYTES),
      controls_(MESSAGES * CONTROL_BYTES),
      messages_(MESSAGES),
      pieces_(MESSAGES),
      senders_(MESSAGES) {}

int Incoming::fill() {
  for (size_t i = 0; i < MESSAGES; i++) {
    pieces_[i] = {&bytes_[i * MESSAGE_BYTES], MESSAGE_BYTES};
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_name = &senders_[i];
    header.msg_namelen = sizeof(Address);
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = &controls_[i * CONTROL_BYTES];
    header.msg_controllen = CONTROL_BYTES;
  }
  return recvmmsg(fd_, messages_.data(), MESSAGES, MSG_DONTWAIT, nullptr);
}

// Bytes of each packet of a message but the last, which may be shorter.
size_t Incoming::segment_of(int message, size_t total) {
  msghdr& header = messages_[message].msg_hdr;
  if (header.msg_flags & MSG_TRUNC) return 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      int size;
      std::memcpy(&size, CMSG_DATA(c), sizeof size);
      if (size > 0) return static_cast<size_t>(size);
    }
  }
  return total;
}

}  // namespace jg::datagram
