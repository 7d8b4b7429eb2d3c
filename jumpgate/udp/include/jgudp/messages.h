// Messages of several packets each: the kernel segments what is sent, and coalesces what arrives.
#pragma once
#include <errno.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "jgudp/address.h"

namespace jgudp {

constexpr uint32_t kSegmentsMax = 64;            // UDP_MAX_SEGMENTS
constexpr uint32_t kMessageBytesMax = 64 << 10;  // of packets that the kernel coalesced
constexpr uint32_t kSegmentedBytesMax = 65000;   // of packets that leave as one message

// Packets that leave by one call. Neighbours of one destination and size make one message, whose last packet may be
// shorter. What it points to is the caller's until they are sent.
template <uint32_t Messages, uint32_t Packets>
class Outbox {
 public:
  // Return whether there was room. `to` is null for sockets that have one peer.
  bool add(const Address* to, void* data, uint32_t length, bool segmented) {
    if (used_ == Packets) return false;
    if (segmented && continues(to, length)) {
      is_open_ = length == size_;
    } else {
      if (count_ == Messages) return false;
      begin(to, length);
    }
    vectors_[used_++] = {data, length};
    bytes_[count_ - 1] += length;
    return true;
  }

  // Send all. Calls accepted(packets, bytes) for each message, or refused(message, reason), which returns whether to
  // try once more.
  template <class Accepted, class Refused>
  void send(int socket, Accepted accepted, Refused refused) {
    for (uint32_t i = 0; i < count_; ++i) complete(i);
    for (uint32_t sent = 0; sent < count_;) {
      const int done = sendmmsg(socket, &messages_[sent], count_ - sent, MSG_DONTWAIT);
      if (done > 0) {
        for (const uint32_t end = sent + static_cast<uint32_t>(done); sent < end; ++sent)
          accepted(messages_[sent].msg_hdr.msg_iovlen, bytes_[sent]);
      } else if (errno != EINTR && !refused(messages_[sent].msg_hdr, errno)) {
        ++sent;
      }
    }
    count_ = used_ = 0;
    is_open_ = false;
  }

 private:
  struct alignas(cmsghdr) Control {
    uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
  };

  bool continues(const Address* to, uint32_t length) const {
    return is_open_ && length > 0 && length <= size_ && used_ - first_[count_ - 1] < kSegmentsMax &&
           bytes_[count_ - 1] + length <= kSegmentedBytesMax && (!to || same(*to, to_[count_ - 1]));
  }
  void begin(const Address* to, uint32_t length) {
    first_[count_] = used_;
    bytes_[count_] = 0;
    segments_[count_] = static_cast<uint16_t>(length);
    if (to) to_[count_] = *to;
    ++count_;
    addressed_ = to != nullptr;
    size_ = length;
    is_open_ = length > 0;
  }
  void complete(uint32_t i) {
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_iov = &vectors_[first_[i]];
    header.msg_iovlen = (i + 1 < count_ ? first_[i + 1] : used_) - first_[i];
    if (addressed_) {
      header.msg_name = &to_[i];
      header.msg_namelen = to_[i].size();
    }
    if (header.msg_iovlen == 1) return;
    header.msg_control = controls_[i].bytes;
    header.msg_controllen = sizeof controls_[i].bytes;
    cmsghdr* control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = IPPROTO_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    std::memcpy(CMSG_DATA(control), &segments_[i], sizeof segments_[i]);
  }

  std::array<mmsghdr, Messages> messages_;
  std::array<Address, Messages> to_;
  std::array<Control, Messages> controls_;
  std::array<uint32_t, Messages> first_, bytes_;  // of each message: its first packet, and the bytes of all
  std::array<uint16_t, Messages> segments_;       // and of each packet
  std::array<iovec, Packets> vectors_;
  uint32_t count_ = 0, used_ = 0, size_ = 0;
  bool is_open_ = false;  // the last message: all of its packets are of `size_` bytes
  bool addressed_ = false;
};

// Return whether a message of several packets was refused for their number: it is larger than the path takes, or a
// device cannot segment. They may leave singly.
inline bool cannot_segment(const msghdr& message, int reason) {
  return message.msg_iovlen > 1 && (reason == EINVAL || reason == EMSGSIZE || reason == EIO);
}

// Send the packets of a message one by one; calls each(bytes, whether it left).
template <class Each>
void send_singly(int socket, const msghdr& message, Each each) {
  for (size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& packet = message.msg_iov[i];
    each(packet.iov_len, sendto(socket, packet.iov_base, packet.iov_len, MSG_DONTWAIT,
                                static_cast<const sockaddr*>(message.msg_name), message.msg_namelen) >= 0);
  }
}

// Where the kernel notes of an arriving message who sent it, and how long its packets are.
struct Envelope {
  Address sender;
  alignas(cmsghdr) std::array<uint8_t, 64> control;

  void prepare(msghdr* message) {
    message->msg_name = &sender;
    message->msg_namelen = sizeof sender;
    message->msg_control = control.data();
    message->msg_controllen = control.size();
  }
};

// Return the bytes of each packet of a message that arrived, of `total` bytes, but of the last, which may be shorter.
inline uint32_t segment_of(msghdr& message, uint32_t total) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
    int size;
    std::memcpy(&size, CMSG_DATA(c), sizeof size);
    if (size > 0) return static_cast<uint32_t>(size);
  }
  return total;
}

}  // namespace jgudp
