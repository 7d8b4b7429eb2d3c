#include "port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "jgsw/externs.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace jgsw {

namespace {

void put16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

std::string system_problem(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

void widen(int socket) {
  const int bytes = kSocketBytes;
  for (const auto& [forced, plain] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}})
    if (setsockopt(socket, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0)
      setsockopt(socket, SOL_SOCKET, plain, &bytes, sizeof bytes);
}

}  // namespace

Port::~Port() { close(socket_); }

Port* Port::open_udp(uint16_t number, PortKind kind, const Address& local, const Address& peer, uint16_t shown_port,
                     const StandIns& stand_ins, std::string& problem) {
  if (peer.is_v6() && !local.is_v6()) return problem = "an IPv6 peer takes a port with an IPv6 address", nullptr;
  const int socket = ::socket(local.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return problem = system_problem("socket"), nullptr;
  Port* port = new Port(number, kind, socket);
  const int on = 1, off = 0;
  setsockopt(socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
  if (local.is_v6()) setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  widen(socket);
  socklen_t size = sizeof port->local_;
  if (bind(socket, &local.any, local.size()) != 0 || getsockname(socket, &port->local_.any, &size) != 0) {
    problem = system_problem("bind") + "; choose another UDP port (0 takes a free one)";
    delete port;
    return nullptr;
  }
  port->peer_ = local.is_v6() && !peer.is_v6() ? stand_ins.meant(peer.v4.sin_addr.s_addr, peer.port(), local) : peer;
  port->stand_ins_ = &stand_ins;
  port->shown_port_ = shown_port != 0 ? shown_port : ntohs(port->local_.port());
  return port;
}

Port* Port::open_interface(uint16_t number, const char* name, std::string& problem) {
  const int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return problem = system_problem("socket") + " (to read an interface takes CAP_NET_RAW)", nullptr;
  Port* port = new Port(number, PortKind::interface, socket);
  port->segmentation_ = false;
  const int on = 1;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(name));
  packet_mreq promiscuous{};
  promiscuous.mr_ifindex = address.sll_ifindex;
  promiscuous.mr_type = PACKET_MR_PROMISC;
  widen(socket);
  if (address.sll_ifindex == 0 || setsockopt(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 ||
      setsockopt(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) != 0 ||
      bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    problem = system_problem(name) + " (`ip link` lists interfaces; to read one takes CAP_NET_RAW)";
    delete port;
    return nullptr;
  }
  return port;
}

// Everything but lengths and the identification; those of one sender's datagrams are alike.
void Port::prepare_headers(const Address& sender) {
  last_sender_ = sender;
  const uint32_t from = stand_ins_->shown(sender), to = stand_ins_->shown(local_);
  const in_port_t sender_port = sender.port();
  uint8_t* ethernet = headers_.data();
  const uint8_t local_mac[6] = {2, 0, 0, 0, static_cast<uint8_t>(number_ >> 8), static_cast<uint8_t>(number_)};
  std::memcpy(ethernet, local_mac, 6);
  ethernet[6] = 2;
  ethernet[7] = 1;
  std::memcpy(ethernet + 8, &from, 4);
  put16(ethernet + 12, ETHERTYPE_IP);
  uint8_t* ip = ethernet + 14;
  std::memset(ip, 0, 20);
  ip[0] = 0x45;
  ip[6] = 0x40;  // don't fragment
  ip[8] = 64;
  ip[9] = IPPROTO_UDP;
  std::memcpy(ip + 12, &from, 4);
  std::memcpy(ip + 16, &to, 4);
  header_sum_ = ones_complement_sum(ip, 20);
  uint8_t* udp = ip + 20;
  std::memcpy(udp, &sender_port, 2);
  put16(udp + 2, shown_port_);
}

void Port::fill_headers(uint8_t* frame, uint32_t payload_bytes) const {
  std::memcpy(frame, headers_.data(), kUdpFrameBytes);
  uint8_t* ip = frame + 14;
  put16(ip + 2, payload_bytes + 28);
  uint32_t sum = header_sum_ + payload_bytes + 28;
  sum = (sum & 0xffff) + (sum >> 16);
  put16(ip + 10, ~sum);
  put16(ip + 24, payload_bytes + 8);
}

void Port::receive(Inbox& inbox, Pipe& pipe, Outlet& outlet, uint64_t now_ns) {
  const uint32_t made = kind_ == PortKind::datagrams ? kUdpFrameBytes : 0;
  inbox.prepare(segment_, made, pipe.pool);
  if (kind_ != PortKind::interface)
    for (uint32_t i = 0; i < kMessages; ++i) {
      msghdr& header = inbox.messages[i].msg_hdr;
      header.msg_name = &inbox.senders[i];
      header.msg_namelen = sizeof(Address);
      header.msg_control = inbox.controls[i].data();
      header.msg_controllen = inbox.controls[i].size();
    }
  const int count =
      recvmmsg(socket_, inbox.messages.data(), segment_ != 0 ? kLongMessages : kMessages, MSG_DONTWAIT, nullptr);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) ++counts.receive_errors;
    return;
  }
  for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
    msghdr& header = inbox.messages[i].msg_hdr;
    const uint32_t total = inbox.messages[i].msg_len;
    uint32_t segment = total;
    if (header.msg_flags & MSG_TRUNC) {
      ++counts.truncated;
      continue;
    }
    if (made != 0 && !same(inbox.senders[i], last_sender_)) prepare_headers(inbox.senders[i]);
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
      if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
        int size;
        std::memcpy(&size, CMSG_DATA(c), sizeof size);
        if (size > 0) segment = static_cast<uint32_t>(size);
      }
    if (const uint32_t segments = inbox.scattered(i, segment); segments > 0) {
      uint32_t left = total;
      for (uint32_t k = 0; k < segments; ++k) {
        const uint32_t length = std::min(segment, left);
        run(inbox.take(i), length, pipe, outlet, now_ns);
        left -= length;
      }
      continue;
    }
    if (total >= kLongBytes && segment < total && made + segment <= kFrameBytesMax) segment_ = segment;
    const uint8_t* bytes = inbox.gather(i);
    uint32_t at = 0;
    do {  // an empty datagram is a packet too
      const uint32_t length = std::min(segment, total - at);
      Buffer* buffer = made + length > kFrameBytesMax ? nullptr : pipe.take(outlet);
      if (buffer != nullptr) {
        std::memcpy(buffer->packet.data + made, bytes + at, length);
        run(buffer, length, pipe, outlet, now_ns);
      } else {
        if (made + length > kFrameBytesMax) ++pipe.counts.oversized;
        ++counts.received;
        counts.received_bytes += length;
      }
      at += length;
    } while (at < total);
  }
}

// A packet whose payload is in its buffer, behind the place of headers.
void Port::run(Buffer* buffer, uint32_t payload_bytes, Pipe& pipe, Outlet& outlet, uint64_t now_ns) {
  ++counts.received;
  counts.received_bytes += payload_bytes;
  Packet& packet = buffer->packet;
  packet.length = payload_bytes;
  if (kind_ == PortKind::datagrams) {
    fill_headers(packet.data, payload_bytes);
    packet.length += kUdpFrameBytes;
  }
  packet.ingress_port = number_;
  packet.arrived_ns = now_ns;
  pipe.run(buffer, outlet);
}

// Of a frame made from a datagram: its fixed peer, or what its IPv4 and UDP headers say, but never this socket itself.
bool Port::destination(const Packet& packet, Address& to) const {
  if (kind_ == PortKind::interface) return packet.length >= 14;
  if (kind_ == PortKind::datagrams && packet.length < kUdpFrameBytes) return false;
  if (peer_.port() != 0) {
    to = peer_;
    return true;
  }
  if (kind_ == PortKind::frames) return false;
  const uint8_t* ip = packet.data + 14;
  if (ip[0] != 0x45 || ip[9] != IPPROTO_UDP) return false;
  uint32_t host;
  in_port_t port;
  std::memcpy(&host, ip + 16, 4);
  std::memcpy(&port, ip + 22, 2);
  to = stand_ins_->meant(host, port, local_);
  return port != 0 && !same(to, local_);
}

// Messages that leave by one call, with what they point to.
struct Port::Outbox {
  struct alignas(cmsghdr) Control {
    uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
  };
  std::array<mmsghdr, kMessages> messages;
  std::array<Address, kMessages> to;
  std::array<Control, kMessages> controls;
  std::array<uint32_t, kMessages> bytes;
  std::array<iovec, kQueuedMax> vectors;
  uint32_t count = 0, used = 0;

  // Completes a message of the vectors from `first` on; datagrams of `size` bytes, of which the last may be shorter.
  void add(uint32_t first, uint32_t size, bool addressed) {
    msghdr& header = messages[count].msg_hdr;
    header = {};
    header.msg_iov = &vectors[first];
    header.msg_iovlen = used - first;
    if (addressed) {
      header.msg_name = &to[count];
      header.msg_namelen = to[count].size();
    }
    if (used - first > 1) {
      header.msg_control = controls[count].bytes;
      header.msg_controllen = sizeof controls[count].bytes;
      cmsghdr* c = CMSG_FIRSTHDR(&header);
      c->cmsg_level = IPPROTO_UDP;
      c->cmsg_type = UDP_SEGMENT;
      c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
      const uint16_t segment = static_cast<uint16_t>(size);
      std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
    ++count;
  }
};

// Takes packets from queue_[at] on into a message to the outbox's next address, and moves `at` behind them: neighbours
// of one destination and size, of which the last may be shorter. Returns how many bytes they have.
uint32_t Port::gather(size_t& at, uint32_t cut, Outbox& out) const {
  const Address& target = out.to[out.count];
  const uint32_t size = queue_[at]->packet.length - cut, first = out.used;
  uint32_t total = 0;
  while (at < queue_.size() && out.used < kQueuedMax) {
    const Packet& packet = queue_[at]->packet;
    const uint32_t length = packet.length < cut ? 0 : packet.length - cut, segments = out.used - first;
    Address other;
    if (segments > 0 && (!segmentation_ || segments == kSegmentsMax || length == 0 || length > size ||
                         total + length > 65000 || !destination(packet, other) || !same(other, target)))
      break;
    out.vectors[out.used++] = {packet.data + cut, length};
    total += length;
    ++at;
    if (length < size) break;
  }
  return total;
}

// Sends up to kMessages messages from queue_[at] on, and moves `at` behind them.
void Port::send_batch(size_t& at) {
  Outbox out;
  const uint32_t cut = kind_ == PortKind::datagrams ? kUdpFrameBytes : 0;
  while (out.count < kMessages && at < queue_.size() && out.used < kQueuedMax) {
    const Packet& head = queue_[at]->packet;
    if (!destination(head, out.to[out.count])) {
      ++counts.no_peer;
      ++at;
      continue;
    }
    const uint32_t size = head.length - cut, first = out.used;
    out.bytes[out.count] = gather(at, cut, out);
    out.add(first, size, kind_ != PortKind::interface);
  }
  for (uint32_t sent = 0; sent < out.count;) {
    const int done = sendmmsg(socket_, &out.messages[sent], out.count - sent, MSG_DONTWAIT);
    if (done > 0) {
      for (int i = 0; i < done; ++i, ++sent) {
        counts.sent += out.messages[sent].msg_hdr.msg_iovlen;
        counts.sent_bytes += out.bytes[sent];
      }
    } else if (errno != EINTR) {
      give_up(out.messages[sent].msg_hdr, errno);
      ++sent;
    }
  }
}

// A message that the socket refused: its packets leave singly if together they cannot, else they are lost.
void Port::give_up(const msghdr& header, int reason) {
  if (header.msg_iovlen == 1 || (reason != EINVAL && reason != EMSGSIZE && reason != EIO)) {
    (reason == EAGAIN || reason == ENOBUFS ? counts.send_blocked : counts.send_errors) += header.msg_iovlen;
    return;
  }
  segmentation_ = false;  // larger than the path takes, or a device that cannot: one datagram a packet from now on
  for (size_t k = 0; k < header.msg_iovlen; ++k) {
    const iovec& vector = header.msg_iov[k];
    const bool ok = sendto(socket_, vector.iov_base, vector.iov_len, MSG_DONTWAIT,
                           static_cast<const sockaddr*>(header.msg_name), header.msg_namelen) >= 0;
    ++(ok ? counts.sent : counts.send_errors);
    if (ok) counts.sent_bytes += vector.iov_len;
  }
}

// Packets of one destination keep their order; side by side they make long messages.
void Port::flush(BufferPool& pool) {
  if (kind_ == PortKind::datagrams && peer_.port() == 0) {
    std::stable_sort(queue_.begin(), queue_.end(), [](const Buffer* a, const Buffer* b) {
      return std::memcmp(a->packet.data + 30, b->packet.data + 30, 8) < 0;  // IPv4 address; UDP ports
    });
  }
  for (size_t at = 0; at < queue_.size();) send_batch(at);
  for (Buffer* buffer : queue_) pool.give(buffer);
  queue_.clear();
}

}  // namespace jgsw
