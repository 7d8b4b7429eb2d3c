// The card on the network: flows of rows arrive (p4/PROTOCOL.md), joins answer, each on a flow of its own. The card is
// an end of every flow: it acknowledges what it takes, and repeats what it sends until that is acknowledged.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "datagrams/answers.h"
#include "datagrams/flow.h"
#include "datagrams/packet.h"
#include "datagrams/socket.h"
#include "join.h"

namespace jg::card {

inline constexpr int kProbe = -1;  // in place of a table's number

class Card {
 public:
  // Binds at the host, on a port that the kernel chooses.
  Status open(const std::string& host, int* port);
  int fd() const { return socket_.get(); }

  // Empty, or what is wrong.
  std::string add_join(const std::string& id, const JoinShape& shape, int window_bits);
  // The file of the RTL for values of so many bytes; joins of such need it, where the card is the RTL's model.
  void add_bitstream(size_t value_bytes, const std::string& path) { bitstreams_[value_bytes] = path; }
  // A flow that leaves: each receiver has some of the joined rows.
  std::string add_receiver(const std::string& id, uint16_t flow, const std::string& receiver);
  std::string add_flow(const std::string& id, uint16_t flow, int table, const std::string& sender);
  // All flows of the join are there: it ends when they have.
  std::string start(const std::string& id);
  bool remove(const std::string& id);
  const Join* find(const std::string& id) const;

  // Takes what has arrived, joins, and sends what is due; seconds until there may be something again without a packet.
  double work();
  // What has happened since the last call: `ended ID`, `failed ID CODE SENTENCE`.
  std::vector<std::string> events();

 private:
  struct Arriving {
    datagram::Address from;
    int table;  // or kProbe
    uint64_t secret;
    datagram::FlowReceiver protocol;
    bool ended = false;
    std::set<uint32_t> held{};  // packets that wait, and are acknowledged when they have been looked up
  };
  // Joined rows for one receiver: packets [sender.oldest(), queued] in a ring.
  struct Leaving {
    Leaving(const datagram::Address& to, int window_bits);

    const datagram::Address to;
    datagram::FlowSender sender;
    const uint32_t capacity;
    std::vector<uint8_t> bytes;
    std::vector<uint16_t> sizes;
    uint8_t end[datagram::kHeaderBytes];
    uint32_t queued = 0;

    uint8_t* packet(uint32_t sequence) { return &bytes[sequence % capacity * datagram::kPacketBytesMax]; }
    bool has_room() const { return queued - (sender.oldest() - 1) < capacity && queued < datagram::kSequenceMax; }
  };
  struct Running {
    std::unique_ptr<Join> join;
    const JoinShape shape;
    const int window_bits;
    std::map<uint16_t, Arriving> flows{};
    std::map<uint16_t, Leaving> leaving{};  // receivers take packets in turns
    std::deque<std::pair<uint16_t, uint32_t>>
        held{};  // flow and number of the probing packets that wait, in their order
    Totals totals{};
    bool started = false, complete = false, ended = false, failed = false;

    bool have_ended(bool probing) const;
  };
  void arrived(const datagram::Address& from, const uint8_t* packet, size_t size, double now);
  void received(const std::string& id, Running* running, uint16_t number, Arriving* flow, const uint8_t* packet,
                size_t size, const datagram::Header& header);
  static uint32_t further(const Arriving& flow, uint32_t number);
  bool produce(Running* running);
  static bool add_up(Running* running);
  static void put_totals(const Running& running, uint16_t flow, Leaving* out);
  bool fill(Running* running, uint16_t flow, Leaving* out);
  void send(const std::string& id, Running* running, double now);
  void fail(const std::string& id, Running* running, const std::string& what);

  net::Fd socket_;
  std::unique_ptr<datagram::Incoming> incoming_;
  std::unique_ptr<datagram::Outgoing> outgoing_;
  std::map<size_t, std::string> bitstreams_;
  std::map<std::string, std::unique_ptr<Running>> joins_;
  std::map<uint16_t, std::string> owners_;  // of flows, those that leave too
  datagram::Answers answers_;
  std::vector<uint32_t> due_;
  std::vector<std::string> events_;
};

}  // namespace jg::card
