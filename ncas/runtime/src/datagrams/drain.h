// Reads and clears a device's buckets of groups, once all flows have ended: without sockets and clocks, as
// FlowSender is. Each request is repeated until it is answered; reading changes nothing, and a bucket is cleared once
// both its answers are here, so that a late answer is never of a bucket that was cleared.
#pragma once
#include <optional>
#include <vector>

#include "datagrams/blocks.h"
#include "datagrams/flow.h"
#include "datagrams/packet.h"

namespace jg::datagram {

class Drain {
 public:
  Drain(int slots, uint16_t flow, uint64_t secret, uint32_t first, uint32_t buckets);

  // Headers of the requests to send now. False if one was sent kSendsMax times without an answer.
  bool due(double now, std::vector<Header>* out);
  double wake_at() const { return sender_->wake_at(); }
  // An answer whose header was parsed; groups go to `block`, null if there is no room for any (then it is asked for
  // again). False if it is malformed or was not asked for.
  bool answered(const uint8_t* packet, size_t size, const Header& header, double now, Block* block);
  bool done() const { return kind_ == CLEAR && number() > wanted_.size(); }

 private:
  struct Answered {
    uint8_t present = 0;
    uint32_t at = 0;  // in firsts_
  };

  // READ_FIRST tells which slots are occupied; only those are asked for the rest, and only such buckets are cleared.
  void next_phase();
  const Answered& of(uint32_t bucket) const { return answered_[bucket - first_]; }
  size_t number() const { return sender_->oldest(); }

  const int slots_;
  const uint16_t flow_;
  const uint64_t secret_;
  const uint32_t first_;
  Kind kind_ = READ_FIRST;
  std::optional<FlowSender> sender_;  // of this phase: packet i is the request for wanted_[i - 1]
  std::vector<uint32_t> wanted_;      // buckets, ascending
  std::vector<Answered> answered_;    // by bucket
  std::vector<FirstWords> firsts_;
  std::vector<uint32_t> numbers_;
};

}  // namespace jg::datagram
