// One UDP socket of an edge's end: packets leave and arrive many at a time, with the kernel's segmentation offload
// where it has one. IPv4: that is what the programs parse.
#pragma once
#include <netinet/in.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edges/socket.h"

namespace jg::datagram {

// Binds at a numeric host or a name, on a port that the kernel chooses.
Status bind_socket(const std::string& host, net::Fd* out, int* port);
Status resolve(const std::string& address, sockaddr_in* out);  // "host:port"
inline bool same(const sockaddr_in& a, const sockaddr_in& b) {
  return a.sin_addr.s_addr == b.sin_addr.s_addr && a.sin_port == b.sin_port;
}

// Packets that wait to be sent together; their memory is the caller's until flush.
class Outgoing {
 public:
  explicit Outgoing(int fd);
  void add(const sockaddr_in& to, const void* packet, size_t size);
  // What the kernel refuses is lost, as it might be on the way.
  void flush();

 private:
  struct Packet {
    sockaddr_in to;
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
  std::vector<sockaddr_in> senders_;
};

// Sleeps until something arrives on the socket, `wake_fd` is written to, or `seconds` (may be infinite) are over;
// empties `wake_fd`.
void wait_for_packets(int fd, int wake_fd, double seconds);
double seconds_now();  // of the steady clock

}  // namespace jg::datagram
