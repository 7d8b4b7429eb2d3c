#include "datagrams/flow.h"

#include <algorithm>
#include <cmath>

namespace jg::datagram {
namespace {

constexpr double kTimeoutFirstS = 0.05, kTimeoutMinS = 0.002, kTimeoutMaxS = 0.5, kBusyS = 0.02;
constexpr double kWindowFirst = 16;  // and least
// A packet counts as lost after this many round trips, if one that was sent later has arrived (RFC 8985).
constexpr double kOvertakenTrips = 1.25;
// Time-outs before the first that is twice as long, and between further such.
constexpr int kTimeoutsEqual = 2;
// After a time-out, for so many windows of packets, those of a round trip are spread over so many bursts, of which each
// has so many packets at least: a burst that is lost is then noticed by the answers to the others.
constexpr uint32_t kSpreadWindows = 4, kSpreadBursts = 8, kSpreadLeast = 4;
// The share of packets that are answered is measured over about so many.
constexpr double kSharePackets = 128;
// Below this share the network counts as lossy: bursts are always spread, and lost packets are sent in copies, so many
// that at most one packet of ten loses them all.
constexpr double kLossyShare = 0.9;
constexpr int kCopiesMax = 8;
// Of a lossy network so many windows at most are on the way, so that one window of them is answered.
constexpr double kLossyWindows = 4;
// Round trips measured of those whose packets are on the way together: answers that a pause held up are one event.
constexpr uint32_t kSamplesPerTrip = 8;
// Losses are taken for those of a full queue if round trips are so many times the least.
constexpr double kQueuedTrips = 2;

}  // namespace

FlowSender::FlowSender(int window_bits)
    : mask_((1u << window_bits) - 1),
      cells_(mask_ + 1),
      settled_(kWindowFirst),
      answered_(kWindowFirst),
      congestion_(kWindowFirst),
      threshold_(mask_ + 1.0),
      timeout_(kTimeoutFirstS) {}

void FlowSender::send(uint32_t number, double now) {
  Sent& sent = cell(number) = {};
  sent.at = sent.repeated_at = now;
  sent.timeout_at = now + timeout_;
  sent.sends = sent.unanswered = 1;
  on_the_way_++;
  wake_at_ = std::min(wake_at_, now + timeout_);
}

bool FlowSender::due(double now, uint32_t packets, bool complete, std::vector<uint32_t>* out) {
  const size_t before = out->size();
  uint32_t room = burst(now);
  if (wake_at_ <= now && room > 0) {
    wake_at_ = kNever;
    earliest_ = now;
    const uint64_t end = busy_ ? std::min(oldest_ + 1, next_) : next_;
    for (uint64_t number = oldest_; number <= end; number++) {
      const uint32_t at = number == end ? 0 : static_cast<uint32_t>(number);  // END comes last
      Sent& sent = cell(at);
      if (sent.sends == 0) continue;
      if (lost_at(at) <= now && room > 0) {
        if (!repeat(at, now)) return false;
        out->push_back(at);
        room--;
      } else if (!busy_ && sent.copy_at <= now && room > 0) {
        copy(&sent, now);
        out->push_back(at);
        room--;
      }
      wake_at_ = std::min(wake_at_, lost_at(at));
      if (!busy_) wake_at_ = std::min(wake_at_, sent.copy_at);
      earliest_ = std::min(earliest_, sent.repeated_at);
    }
  }
  const auto last = std::min<uint64_t>(packets, uint64_t{oldest_} + mask_);
  const auto fits = [&] { return !busy_ && next_ <= last && on_the_way_ < congestion(); };
  for (; room > 0 && fits(); room--) {
    send(next_, now);
    out->push_back(next_++);
  }
  if (complete && oldest_ > packets && !ended_ && end_.sends == 0) {
    send(0, now);
    out->push_back(0);
  }
  if (is_spread()) {
    if (out->size() > before) burst_at_ = now + mean_ / kSpreadBursts;
    if (fits()) wake_at_ = std::min(wake_at_, burst_at_);
  }
  return true;
}

bool FlowSender::is_spread() const { return mean_ >= 0 && (oldest_ < spread_before_ || share() < kLossyShare); }

uint32_t FlowSender::congestion() const {
  if (share() >= kLossyShare) return static_cast<uint32_t>(congestion_);
  return static_cast<uint32_t>(std::max(congestion_, kWindowFirst / std::max(share(), 1 / kLossyWindows)));
}

uint32_t FlowSender::burst(double now) const {
  if (!is_spread()) return mask_ + 1;
  return now < burst_at_ ? 0 : std::max(congestion() / kSpreadBursts, kSpreadLeast);
}

bool FlowSender::acknowledged(uint32_t number, double now) {
  if (take(number, now)) return true;
  if (number != 0 && number < next_) settle(0, 1);
  return false;
}

bool FlowSender::take(uint32_t number, double now) {
  if (number != 0 && (number < oldest_ || number >= next_)) return false;
  Sent& sent = cell(number);
  if (sent.sends == 0) return false;
  settle(1, 1);
  if ((sent.sends == 1 && number >= measured_before_) || (mean_ < 0 && !busy_)) {
    measure(now - sent.repeated_at);
    measured_before_ = number + std::max((next_ - number) / kSamplesPerTrip, 1u);
  }
  // Earlier copies are answered sooner than any round trip, and hardly after two time-outs.
  const bool is_latest = sent.sends == 1 || timeouts_ > 1 || now - sent.repeated_at >= least_;
  if (mean_ >= 0 && is_latest) newest_ = std::max(newest_, sent.repeated_at);
  heard_at_ = now;
  timeouts_ = 0;
  sent.sends = 0;
  on_the_way_--;
  if (earliest_ < newest_) wake_at_ = std::min(wake_at_, overtaken_at(earliest_));
  if (busy_) {
    busy_ = false;
    halved_before_ = next_;
    wake_at_ = now;
  } else {
    acknowledged_at_ = now;
  }
  if (number == 0) {
    ended_ = true;
    return true;
  }
  congestion_ += congestion_ < threshold_ ? 1 : 1 / congestion_;
  congestion_ = std::min(congestion_, mask_ + 1.0);
  while (oldest_ < next_ && cell(oldest_).sends == 0) oldest_++;
  if (oldest_ < next_) wake_at_ = std::min(wake_at_, lost_at(oldest_));
  return true;
}

bool FlowSender::acknowledged_run(uint32_t first, uint32_t further, double now) {
  bool any = first > 0 && acknowledged(first, now);
  const uint64_t end = std::min<uint64_t>(uint64_t{first} + further + 1, next_);
  for (uint64_t number = std::max<uint64_t>(uint64_t{first} + 1, oldest_); number < end; number++) {
    any |= take(static_cast<uint32_t>(number), now);
  }
  return any;
}

void FlowSender::busy(double now) {
  if (on_the_way_ == 0) return;
  busy_ = true;
  settle(0, 1);
  heard_at_ = now;
  wake_at_ = now;  // looked at once more: what is waited for has changed
  timeouts_ = 0;
}

double FlowSender::overtaken_at(double sent_at) const { return sent_at + kOvertakenTrips * mean_; }

double FlowSender::lost_at(uint32_t number) const {
  const Sent& sent = cell(number);
  const bool times_out = number == oldest_ || number == 0 || heard_at_ == -kNever;
  const double timeout_at = times_out ? std::max(sent.timeout_at, acknowledged_at_ + timeout_) : kNever;
  const bool overtaken = !busy_ && mean_ >= 0 && sent.repeated_at < newest_;
  return overtaken ? std::min(timeout_at, overtaken_at(sent.at)) : timeout_at;
}

bool FlowSender::repeat(uint32_t number, double now) {
  Sent& sent = cell(number);
  if (sent.at <= heard_at_) sent.unanswered = 0;
  if (sent.unanswered >= kSendsMax) {
    given_up_ = number;
    return false;
  }
  if (!busy_ && number >= halved_before_) {
    const bool is_queued = mean_ > kQueuedTrips * least_;
    if (is_queued || (mean_ >= 0 && share() < kLossyShare)) {
      threshold_ = congestion_ = std::max(congestion_ / 2, kWindowFirst);
    }
    halved_before_ = next_;
  }
  const double timeout = busy_ ? std::max(timeout_, kBusyS) : timeout_;
  if ((number == oldest_ || number == 0) && std::max(sent.timeout_at, acknowledged_at_ + timeout_) <= now) {
    timeouts_++;
    if (!busy_) spread_before_ = uint64_t{next_} + kSpreadWindows * (mask_ + 1);
  }
  sent.at = sent.repeated_at = now;
  sent.timeout_at = now + std::min(std::ldexp(timeout, timeouts_ / kTimeoutsEqual), kTimeoutMaxS);
  sent.copies = busy_ || mean_ < 0 ? 0 : std::max(copies(), std::min(timeouts_, kCopiesMax)) - 1;
  sent.copy_at = sent.copies > 0 ? now + timeout_ / kCopiesMax : kNever;
  sent.sends++;
  sent.unanswered++;
  repeated_++;
  settle(1, 0);
  return true;
}

void FlowSender::copy(Sent* sent, double now) {
  sent->at = now;
  sent->copies--;
  sent->copy_at = sent->copies > 0 ? now + timeout_ / kCopiesMax : kNever;
  repeated_++;
  settle(1, 0);
}

int FlowSender::copies() const {
  int copies = 1;
  for (double lost = 1 - share(); lost > 1 - kLossyShare && copies < kCopiesMax; lost *= 1 - share()) copies++;
  return copies;
}

void FlowSender::settle(int settled, int answered) {
  settled_ += settled;
  answered_ = std::min(answered_ + answered, settled_);
  if (settled_ <= kSharePackets) return;
  settled_ /= 2;
  answered_ /= 2;
}

void FlowSender::measure(double trip) {
  least_ = std::min(least_, trip);
  if (mean_ < 0) {
    mean_ = trip;
    deviation_ = trip / 2;
  } else {
    deviation_ += (std::abs(mean_ - trip) - deviation_) / 4;
    mean_ += (trip - mean_) / 8;
  }
  timeout_ = std::min(std::max(mean_ + 4 * deviation_, kTimeoutMinS), kTimeoutMaxS);
}

}  // namespace jg::datagram
