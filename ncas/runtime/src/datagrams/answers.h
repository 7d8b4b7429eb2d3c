// Acknowledgements of packets that arrived together, which are sent together.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "datagrams/packet.h"
#include "datagrams/socket.h"

namespace jg::datagram {

class Answers {
 public:
  void add(const Address& to, const Header& header);
  // For a flow between a host and a card: numbers [first, first + further] were received. Numbers that continue the
  // flow's latest acknowledgement join it, so that none overtakes another one of its flow.
  void acknowledge(const Address& to, const Header& flow, uint32_t first, uint32_t further);
  void send(Outgoing* outgoing);

 private:
  struct Answer {
    Address to;
    Header header;
    uint8_t bytes[kHeaderBytes];
  };
  std::vector<Answer> answers_;
  // The latest acknowledgement of each flow in answers_, if it is a run. Cards of a pool number their flows alike,
  // under secrets of their own.
  std::map<std::pair<uint64_t, uint16_t>, size_t> latest_;
};

}  // namespace jg::datagram
