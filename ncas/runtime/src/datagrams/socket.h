// One UDP socket of an edge's end: packets leave and arrive many at a time, with the kernel's segmentation offload
// where it has one.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "edges/socket.h"
#include "jgudp/messages.h"

namespace jg::datagram {

using jgudp::Address;
using jgudp::same;

// Binds at a numeric host or a name, on a port that the kernel chooses.
Status bind_socket(const std::string& host, net::Fd* out, int* port);
// "host:port" or "[v6]:port", as packets of that socket have it: one that is bound to an IPv6 address has IPv4 ones as
// such, and one that is bound to an IPv4 address reaches no other.
Status resolve(const std::string& address, int fd, Address* out);

// Packets that wait to be sent together; their memory is the caller's until flush.
class Outgoing {
 public:
  explicit Outgoing(int fd) : fd_(fd) {}
  void add(const Address& to, const void* packet, size_t size);
  // Packets that the kernel refuses are lost, as they might be on the way.
  void flush();

 private:
  static constexpr uint32_t kMessages = 64, kPackets = 2048;  // of one sending call

  const int fd_;
  bool segmentation_ = true;
  jgudp::Outbox<kMessages, kPackets> outbox_;
};

class Incoming {
 public:
  explicit Incoming(int fd);
  // Calls use(sender, bytes, size) with each packet of one receiving call; false if there was none.
  template <class Use>
  bool receive(Use use) {
    const int count = fill();
    for (int i = 0; i < count; i++) {
      const Address& sender = envelopes_[i].sender;
      const uint8_t* bytes = &bytes_[i * size_t{jgudp::kMessageBytesMax}];
      const size_t total = messages_[i].msg_len;
      const bool is_cut = messages_[i].msg_hdr.msg_flags & MSG_TRUNC;
      const size_t segment = is_cut ? 0 : jgudp::segment_of(messages_[i].msg_hdr, messages_[i].msg_len);
      if (segment == 0) use(sender, bytes, size_t{0});  // cut off, or empty
      for (size_t at = 0; segment > 0 && at < total; at += segment)
        use(sender, bytes + at, std::min(segment, total - at));
    }
    return count > 0;
  }

 private:
  static constexpr size_t kMessages = 16;
  int fill();

  const int fd_;
  std::vector<uint8_t> bytes_;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> pieces_;
  std::vector<jgudp::Envelope> envelopes_;
};

// Sleeps until something arrives on the socket, `wake_fd` is written to, or `seconds` (may be infinite) are over;
// empties `wake_fd`.
void wait_for_packets(int fd, int wake_fd, double seconds);
double seconds_now();  // of the steady clock

}  // namespace jg::datagram
