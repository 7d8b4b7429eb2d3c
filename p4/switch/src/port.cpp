#include "port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "jgsw/externs.h"
#include "jgudp/socket.h"

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

}  // namespace

Port::~Port() { close(socket_); }

Port* Port::open_udp(uint16_t number, PortKind kind, const Address& local, const Address& peer, uint16_t shown_port,
                     const StandIns& stand_ins, std::string& problem) {
  if (peer.is_v6() && !local.is_v6()) return problem = "an IPv6 peer takes a port with an IPv6 address", nullptr;
  Address bound = local;
  int socket;
  if (!jgudp::open(&bound, &socket)) {
    problem = socket < 0 ? system_problem("socket")
                         : system_problem("bind") + "; choose another UDP port (0 takes a free one)";
    if (socket >= 0) close(socket);
    return nullptr;
  }
  Port* port = new Port(number, kind, socket);
  port->local_ = bound;
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
  jgudp::widen(socket);
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
  inbox.prepare(segment_, made_bytes(), pipe.pool);
  if (kind_ != PortKind::interface)
    for (uint32_t i = 0; i < kMessages; ++i) inbox.envelopes[i].prepare(&inbox.messages[i].msg_hdr);
  const int count =
      recvmmsg(socket_, inbox.messages.data(), segment_ != 0 ? kLongMessages : kMessages, MSG_DONTWAIT, nullptr);
  if (count < 0 && errno != EAGAIN && errno != EINTR) ++counts.receive_errors;
  for (int i = 0; i < count; ++i) deliver(inbox, static_cast<uint32_t>(i), pipe, outlet, now_ns);
}

// The packets of a message that arrived.
void Port::deliver(Inbox& inbox, uint32_t message, Pipe& pipe, Outlet& outlet, uint64_t now_ns) {
  msghdr& header = inbox.messages[message].msg_hdr;
  if (header.msg_flags & MSG_TRUNC) {
    ++counts.truncated;
    return;
  }
  const uint32_t made = made_bytes(), total = inbox.messages[message].msg_len;
  const uint32_t segment = jgudp::segment_of(header, total);
  const Address& sender = inbox.envelopes[message].sender;
  if (made != 0 && !same(sender, last_sender_)) prepare_headers(sender);
  if (const uint32_t segments = inbox.scattered(message, segment); segments > 0) {
    uint32_t left = total;
    for (uint32_t k = 0; k < segments; ++k) {
      const uint32_t length = std::min(segment, left);
      run(inbox.take(message), length, pipe, outlet, now_ns);
      left -= length;
    }
    return;
  }
  if (total >= kLongBytes && segment < total && made + segment <= kFrameBytesMax) segment_ = segment;
  const uint8_t* bytes = inbox.gather(message);
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

// Sends packets from queue_[at] on, as many as leave by one call, and moves `at` behind them.
void Port::send_batch(size_t& at) {
  const uint32_t cut = made_bytes();
  Address to;
  const Address* const target = kind_ == PortKind::interface ? nullptr : &to;
  for (; at < queue_.size(); ++at) {
    const Packet& packet = queue_[at]->packet;
    if (!destination(packet, to))
      ++counts.no_peer;
    else if (!outbox_.add(target, packet.data + cut, packet.length - cut, segmentation_))
      break;
  }
  outbox_.send(
      socket_,
      [this](size_t packets, uint32_t bytes) {
        counts.sent += packets;
        counts.sent_bytes += bytes;
      },
      [this](const msghdr& message, int reason) {
        give_up(message, reason);
        return false;
      });
}

// A message that the socket refused: its packets leave singly if together they cannot, else they are lost.
void Port::give_up(const msghdr& message, int reason) {
  if (!jgudp::cannot_segment(message, reason)) {
    (reason == EAGAIN || reason == ENOBUFS ? counts.send_blocked : counts.send_errors) += message.msg_iovlen;
    return;
  }
  segmentation_ = false;  // one datagram a packet from now on
  jgudp::send_singly(socket_, message, [this](size_t bytes, bool left) {
    ++(left ? counts.sent : counts.send_errors);
    if (left) counts.sent_bytes += bytes;
  });
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
