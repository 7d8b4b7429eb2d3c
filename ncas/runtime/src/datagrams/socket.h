// One UDP socket of an edge's end: packets leave and arrive many at a time, with the kernel's segmentation offload
// where it has one.
#pragma once
#include <netinet/in.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edges/socket.h"

namespace jg::datagram {

// A socket's address, IPv4 or IPv6.
union Address {
  Address() : v6{} {}

  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;

  socklen_t size() const { return any.sa_family == AF_INET6 ? sizeof v6 : sizeof v4; }
};

inline bool same(const Address& a, const Address& b) {
  if (a.any.sa_family != b.any.sa_family) return false;
  if (a.any.sa_family == AF_INET) return a.v4.sin_addr.s_addr == b.v4.sin_addr.s_addr && a.v4.sin_port == b.v4.sin_port;
  return IN6_ARE_ADDR_EQUAL(&a.v6.sin6_addr, &b.v6.sin6_addr) && a.v6.sin6_port == b.v6.sin6_port;
}

// Binds at a numeric host or a name, on a port that the kernel chooses.
Status bind_socket(const std::string& host, net::Fd* out, int* port);
// "host:port" or "[v6]:port", as packets of that socket have it: one that is bound to an IPv6 address has IPv4 ones as
// such, and one that is bound to an IPv4 address reaches no other.
Status resolve(const std::string& address, int fd, Address* out);

// Packets that wait to be sent together; their memory is the caller's until flush.
class Outgoing {
 public:
  explicit Outgoing(int fd);
  void add(const Address& to, const void* packet, size_t size);
  // Packets that the kernel refuses are lost, as they might be on the way.
  void flush();

 private:
  struct Packet {
    Address to;
    iovec piece;
  };
  size_t send_some(size_t from);

  const int fd_;
  bool segmentation_ = true;
  std::vector<Packet> packets_;
  std::vector<iovec> pieces_;
};

class Incoming {
 public:
  explicit Incoming(int fd);
  // Calls use(sender, bytes, size) with each packet of one receiving call; false if there was none.
  template <class Use>
  bool receive(Use use) {
    const int count = fill();
    for (int i = 0; i < count; i++) {
      const size_t total = messages_[i].msg_len, segment = segment_of(i, total);
      if (segment == 0) use(senders_[i], &bytes_[i * MESSAGE_BYTES], size_t{0});
      for (size_t at = 0; segment > 0 && at < total; at += segment)
        use(senders_[i], &bytes_[i * MESSAGE_BYTES + at], std::min(segment, total - at));
    }
    return count > 0;
  }

 private:
  static constexpr size_t MESSAGES = 16, MESSAGE_BYTES = 64 << 10, CONTROL_BYTES = 64;
  int fill();
  size_t segment_of(int message, size_t total);  // 0: it was cut off

  const int fd_;
  std::vector<uint8_t> bytes_, controls_;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> pieces_;
  std::vector<Address> senders_;
};

// Sleeps until something arrives on the socket, `wake_fd` is written to, or `seconds` (may be infinite) are over;
// empties `wake_fd`.
void wait_for_packets(int fd, int wake_fd, double seconds);
double seconds_now();  // of the steady clock

}  // namespace jg::datagram
