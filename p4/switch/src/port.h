// A port: a UDP socket, or a network interface.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "address.h"
#include "inbox.h"
#include "jgudp/messages.h"
#include "pipe.h"

namespace jgsw {

inline constexpr uint32_t kQueuedMax = 256;      // packets that wait at a port for the end of a batch
inline constexpr uint32_t kLongBytes = 8 << 10;  // of messages whose copying counts
inline constexpr uint32_t kLongMessages = 4;  // of one receiving call: their packets stay in the cache until they leave
inline constexpr uint32_t kUdpFrameBytes = 14 + 20 + 8;

enum class PortKind : int32_t {
  datagrams = 0,  // a frame is Ethernet, IPv4 and UDP headers made from the datagram's addresses, and its payload
  frames = 1,     // a datagram's payload is the frame
  interface = 2,  // AF_PACKET: real frames
};

struct PortCounts {
  uint64_t received = 0, received_bytes = 0, sent = 0, sent_bytes = 0;
  uint64_t truncated = 0, receive_errors = 0, send_errors = 0, send_blocked = 0, no_peer = 0;
};

class Port {
 public:
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // `peer` port 0: outgoing datagrams go where their IPv4 and UDP headers say. `shown_port`: the UDP port that made
  // headers have as destination; 0: the socket's. `stand_ins` outlive the port. Returns null and the reason in
  // `problem`.
  static Port* open_udp(uint16_t number, PortKind kind, const Address& local, const Address& peer, uint16_t shown_port,
                        const StandIns& stand_ins, std::string& problem);
  static Port* open_interface(uint16_t number, const char* name, std::string& problem);

  int socket() const { return socket_; }
  uint16_t number() const { return number_; }
  const Address& local() const { return local_; }
  // Headers are made anew: stand-ins have changed.
  void forget_sender() { last_sender_ = Address(); }

  // Receives one batch and runs it through the pipe.
  void receive(Inbox& inbox, Pipe& pipe, Outlet& outlet, uint64_t now_ns);
  // Takes the buffer; it goes back to the pool when it is sent. The caller flushes when `queued` reaches kQueuedMax.
  void queue(Buffer* buffer) { queue_.push_back(buffer); }
  size_t queued() const { return queue_.size(); }
  void flush(BufferPool& pool);

  PortCounts counts;

 private:
  Port(uint16_t number, PortKind kind, int socket) : number_(number), kind_(kind), socket_(socket) {
    queue_.reserve(kQueuedMax);
  }
  void prepare_headers(const Address& sender);
  uint32_t made_bytes() const { return kind_ == PortKind::datagrams ? kUdpFrameBytes : 0; }
  void deliver(Inbox& inbox, uint32_t message, Pipe& pipe, Outlet& outlet, uint64_t now_ns);
  void run(Buffer* buffer, uint32_t payload_bytes, Pipe& pipe, Outlet& outlet, uint64_t now_ns);
  void fill_headers(uint8_t* frame, uint32_t payload_bytes) const;
  bool destination(const Packet& packet, Address& to) const;
  void send_batch(size_t& at);
  void give_up(const msghdr& message, int reason);

  const uint16_t number_;
  const PortKind kind_;
  const int socket_;
  bool segmentation_ = true;
  uint32_t segment_ = 0;  // of the last long message that came in other pieces than expected; 0: none yet
  const StandIns* stand_ins_ = nullptr;
  Address local_;
  Address peer_;
  uint16_t shown_port_ = 0;
  Address last_sender_;
  std::array<uint8_t, kUdpFrameBytes> headers_{};
  uint32_t header_sum_ = 0;
  std::vector<Buffer*> queue_;
  jgudp::Outbox<kMessages, kQueuedMax> outbox_;
};

}  // namespace jgsw
