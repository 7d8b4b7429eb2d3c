// The sending end of one flow without sockets and clocks: which packets to send, when, and how acknowledgements change
// that. p4/programs/protocol.py is the reference; times are seconds of any monotonic clock.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace jg::datagram {

// A packet that was sent so often while nothing at all was answered ends the job.
inline constexpr int kSendsMax = 36;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

class FlowSender {
 public:
  explicit FlowSender(int window_bits);

  // Adds the numbers to send now: those that are lost first, then new ones as far as the windows allow, 0 for END.
  // `packets` exist; `complete`: there will be no more. False: see given_up().
  bool due(double now, uint32_t packets, bool complete, std::vector<uint32_t>* out);
  // When `due` may have something again without an acknowledgement; perhaps too early, never too late.
  double wake_at() const { return is_spread() ? std::max(wake_at_, burst_at_) : wake_at_; }
  // Return whether the packet was on its way; if not, a copy of it was answered.
  bool acknowledged(uint32_t number, double now);
  // Return whether one of the packets [first, first + further] was in flight.
  bool acknowledged_run(uint32_t first, uint32_t further, double now);
  // The receiver has no room: until it acknowledges something, only the oldest packet is repeated, however often.
  // Said when nothing is on its way, it is out of date.
  void busy(double now);

  uint32_t oldest() const { return oldest_; }  // the first that is not acknowledged
  uint32_t next() const { return next_; }      // the first that was not sent
  bool ended() const { return ended_; }
  uint32_t given_up() const { return given_up_; }  // the packet that was sent too often
  int64_t repeated() const { return repeated_; }   // packets that were sent again

 private:
  struct Sent {
    double at = 0, timeout_at = 0;
    double repeated_at = 0;  // when its latest copies began
    double copy_at = kNever;
    int copies = 0;      // further ones that may leave before it is lost again
    int sends = 0;       // 0: not on its way
    int unanswered = 0;  // sends since the receiver was last heard
  };

  Sent& cell(uint32_t number) { return number == 0 ? end_ : cells_[number & mask_]; }
  const Sent& cell(uint32_t number) const { return number == 0 ? end_ : cells_[number & mask_]; }
  void send(uint32_t number, double now);
  bool repeat(uint32_t number, double now);
  void copy(Sent* sent, double now);
  bool take(uint32_t number, double now);
  void measure(double trip);
  // Counts packets that were answered or taken for lost; the answers to copies come late, or not at all.
  void settle(int settled, int answered);
  double share() const { return answered_ / settled_; }  // of the packets of late, those that were answered
  int copies() const;
  uint32_t congestion() const;  // packets that may be on their way
  // When the packet is taken for lost: the oldest, and END, by the time-out, which each acknowledgement starts again.
  double lost_at(uint32_t number) const;
  double overtaken_at(double sent_at) const;
  // After a time-out, and in a lossy network, packets leave in small bursts.
  bool is_spread() const;
  uint32_t burst(double now) const;  // packets that may leave now

  const uint32_t mask_;
  std::vector<Sent> cells_;  // by number modulo the window
  Sent end_;
  uint32_t oldest_ = 1, next_ = 1, on_the_way_ = 0, halved_before_ = 0, given_up_ = 0;
  uint32_t measured_before_ = 0;  // no round trip of a packet below that number is measured any more
  uint64_t spread_before_ = 0;    // packets below that number go in bursts
  double burst_at_ = -kNever;     // when the next may
  int timeouts_ = 0;              // since the receiver last answered
  double settled_, answered_;     // packets that were answered or taken for lost, and those answered
  double congestion_, threshold_, mean_ = -1, deviation_ = 0, least_ = kNever, timeout_;  // mean_: of round trips
  double newest_ = -kNever;           // when the latest sent of the acknowledged packets was sent
  double earliest_ = -kNever;         // no packet on its way was sent before
  double acknowledged_at_ = -kNever;  // when a packet last was, by a receiver that had room
  double heard_at_ = -kNever;         // when the receiver last answered, if only that it has no room
  double wake_at_ = kNever;
  int64_t repeated_ = 0;
  bool ended_ = false, busy_ = false;
};

// The receiving end: which packets are new.
class FlowReceiver {
 public:
  explicit FlowReceiver(int window_bits) : mask_((1u << window_bits) - 1), cells_(mask_ + 1) {}
  bool is_new(uint32_t number) const { return number > cells_[number & mask_]; }
  void delivered(uint32_t number) { cells_[number & mask_] = number; }
  bool has(uint32_t number) const { return cells_[number & mask_] == number; }

 private:
  const uint32_t mask_;
  std::vector<uint32_t> cells_;  // the highest number of those that fall on a cell
};

}  // namespace jg::datagram
