// What an end answers to the packets that it has taken from the network at once, and sends together.
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
  // For a flow between a host and a card: numbers [first, first + further] are taken. Those that follow what the flow's
  // latest answer has are one with it, so that no answer overtakes another one of its flow.
  void acknowledge(const Address& to, const Header& flow, uint32_t first, uint32_t further);
  void send(Outgoing* outgoing);

 private:
  struct Answer {
    Address to;
    Header header;
    uint8_t bytes[HEADER_BYTES];
  };
  std::vector<Answer> answers_;
  // Of each flow the latest answer, in answers_, if it is a run. Cards of a pool number their flows alike, under
  // secrets of their own.
  std::map<std::pair<uint64_t, uint16_t>, size_t> latest_;
};

}  // namespace jg::datagram
