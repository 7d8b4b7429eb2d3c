// The way of all workers to a switch: each has one transaction on the way, which is sent until it is answered.
//
// One of the threads that wait leads. It sends what came meanwhile as one burst, takes the answers, logs them, and
// syncs the log once for all. While it waits for answers, who comes sends at once. A leader whose own transaction is
// done makes another thread lead.
//
// A thread is woken once, when its transaction is done. All need Python's lock then, so they are woken in turns: each
// by the next thread that comes with a transaction, which has just given that lock up, or by the leader if nobody
// comes. While turns go on, a burst leaves once as many came as are still to be woken.
#pragma once

#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jgudp/messages.h"
#include "log.h"

namespace jgtx {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// A repetition after so long, doubled each time up to the greatest.
constexpr microseconds kFirst{20'000}, kGreatest{500'000};
// If for so long nobody comes, all that are done are woken.
constexpr microseconds kTurn{200};
// Of an answer: what tells whose it is (flow, sequence, secret), its state, an instruction's bytes.
constexpr uint32_t kMineBytes = 14, kStateAt = 26, kInstructionBytes = 12;
constexpr uint8_t kRepeated = 2, kFresh = 4, kExecuted = 0x80;
constexpr uint32_t kMessages = 16, kPackets = 256;  // of a call that sends or receives
// An outcome that is no errno.
constexpr int kLost = -1;

// What a thread sleeps for.
class Signal {
 public:
  enum State : uint32_t { waits, leads, done };

  State wait() {
    uint32_t found;
    while ((found = state_.load(std::memory_order_acquire)) == waits) futex(FUTEX_WAIT_PRIVATE, waits, nullptr);
    state_.store(waits, std::memory_order_relaxed);
    return static_cast<State>(found);
  }
  // Returns false if nothing was given for about so long.
  bool wait_for(microseconds most) {
    const timespec limit{0, std::chrono::nanoseconds(most).count()};
    if (state_.load(std::memory_order_acquire) == waits) futex(FUTEX_WAIT_PRIVATE, waits, &limit);
    return state_.exchange(waits, std::memory_order_acquire) != waits;
  }
  // The signal may be gone when this returns.
  void give(State what) {
    state_.store(what, std::memory_order_release);
    futex(FUTEX_WAKE_PRIVATE, 1, nullptr);
  }

 private:
  void futex(int operation, uint32_t value, const timespec* limit) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&state_), operation, value, limit, nullptr, 0);
  }
  std::atomic<uint32_t> state_{waits};
};

inline uint16_t flow_of(const uint8_t* packet) {
  uint16_t found;
  std::memcpy(&found, packet, sizeof found);
  return found;
}

// A packet, and room for its answer. With a log the answer is put there behind `answered`, and is on the disk when the
// request is done. All are the thread's that waits.
struct Request {
  const uint8_t* packet;
  uint32_t size;
  uint8_t* answer;
  Log* log;
  const uint8_t* answered;
  uint32_t prefix;

  // The sender's.
  Clock::time_point lost{}, again{};
  microseconds wait = kFirst;
  uint64_t record = 0;
  int outcome = 0;
  Signal signal{};

  // The answer has the packet's size; each instruction, behind a header of `head` bytes, says that it was executed.
  bool is_answered_by(const uint8_t* found, uint32_t length, uint32_t head) const {
    if (length != size || std::memcmp(packet, found, kMineBytes) != 0) return false;
    if (found[kStateAt] != kRepeated && found[kStateAt] != kFresh) return false;
    for (uint32_t at = head; at + 1 < size; at += kInstructionBytes)
      if ((found[at] & kExecuted) == 0) return false;
    return true;
  }
};

class Sender {
 public:
  // `socket` is connected to the switch; `head`: bytes of a packet's header; `lost`: for so long a packet is repeated.
  Sender(int socket, uint32_t head, microseconds lost)
      : socket_(socket), head_(head), lost_(lost), room_(new uint8_t[kMessages * jgudp::kMessageBytesMax]) {
    const int on = 1;
    setsockopt(socket, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
  }

  // Until the request is done. Returns 0, kLost, or an errno of the log.
  int run(Request& mine) {
    const auto now = Clock::now();
    mine.lost = now + lost_;
    std::unique_lock lock(mutex_);
    Request* const next = take_ready(now);
    const bool is_receiving = is_receiving_, is_led = is_led_;
    if (is_receiving)
      expect(mine, now);
    else
      fresh_.push_back(&mine);
    Request* const gatherer = is_burst() ? std::exchange(gatherer_, nullptr) : nullptr;
    is_led_ = true;
    if (is_led) lock.unlock();
    if (next != nullptr) next->signal.give(Signal::done);
    if (gatherer != nullptr) gatherer->signal.give(Signal::leads);
    if (is_receiving) send(socket_, mine.packet, mine.size, MSG_DONTWAIT);
    if (!is_led) {
      lead(mine, lock);
      return mine.outcome;
    }
    if (mine.signal.wait() == Signal::leads) {
      lock.lock();
      lead(mine, lock);
    }
    return mine.outcome;
  }

 private:
  using Requests = std::vector<Request*>;

  // Until the leader's own request is done.
  void lead(Request& mine, std::unique_lock<std::mutex>& lock) {
    Requests done;
    for (bool is_done = false; !is_done;) {
      gather(mine, lock);
      send_fresh(lock);
      is_receiving_ = true;
      const microseconds wait = ready_.empty() ? kFirst : kTurn;
      lock.unlock();
      done.clear();
      receive(wait);
      lock.lock();
      is_receiving_ = false;
      take_answers(done);
      const auto answered = static_cast<std::ptrdiff_t>(done.size());
      if (received_ < static_cast<int>(kMessages)) look_about(done);
      lock.unlock();
      keep(done.begin(), done.begin() + answered);
      is_done = std::find(done.begin(), done.end(), &mine) != done.end();
      lock.lock();
      wake(done, mine, is_done && open_.empty() && fresh_.empty(), lock);
    }
    if (is_burst()) send_fresh(lock);
    Request* const next = !open_.empty() ? open_.begin()->second : !fresh_.empty() ? fresh_.front() : nullptr;
    is_led_ = next != nullptr;
    lock.unlock();
    if (next != nullptr) next->signal.give(Signal::leads);
  }

  // As many came as are still to be woken.
  bool is_burst() const { return fresh_.size() >= ready_.size(); }

  // Waits for a burst as long as threads come.
  void gather(Request& mine, std::unique_lock<std::mutex>& lock) {
    while (open_.empty() && !is_burst()) {
      gatherer_ = &mine;
      lock.unlock();
      const bool is_woken = mine.signal.wait_for(kTurn);
      lock.lock();
      if (!is_woken && gatherer_ == nullptr) mine.signal.wait();
      gatherer_ = nullptr;
      if (!is_woken && Clock::now() - turn_ >= kTurn) wake({}, mine, true, lock);
    }
  }

  // The next of those that are done, for a thread that comes. Null if there is none.
  Request* take_ready(Clock::time_point now) {
    if (ready_.empty()) return nullptr;
    Request* const next = ready_.front();
    ready_.pop_front();
    turn_ = now;
    return next;
  }

  // Wakes one, if no other is to come before those that are done, or all if nobody came in time.
  void wake(const Requests& done, const Request& mine, bool is_all, std::unique_lock<std::mutex>& lock) {
    const auto now = Clock::now();
    const bool is_first = ready_.empty(), is_late = is_all || now - turn_ >= kTurn;
    for (Request* request : done)
      if (request != &mine) ready_.push_back(request);
    Requests woken;
    while (!ready_.empty() && (is_late || (is_first && woken.empty()))) woken.push_back(take_ready(now));
    if (woken.empty()) return;
    lock.unlock();
    for (Request* request : woken) request->signal.give(Signal::done);
    lock.lock();
  }

  // The request's packet leaves now.
  void expect(Request& request, Clock::time_point now) {
    request.again = std::min(now + request.wait, request.lost);
    request.wait = std::min(2 * request.wait, kGreatest);
    open_[flow_of(request.packet)] = &request;
  }

  // Whoever comes while a burst is sent is in the next one.
  void send_fresh(std::unique_lock<std::mutex>& lock) {
    while (!fresh_.empty()) {
      Requests burst;
      burst.swap(fresh_);
      lock.unlock();
      for (const Request* request : burst) {
        void* const packet = const_cast<uint8_t*>(request->packet);
        if (outbox_.add(nullptr, packet, request->size, is_segmented_)) continue;
        send_burst();
        outbox_.add(nullptr, packet, request->size, is_segmented_);
      }
      send_burst();
      const auto now = Clock::now();
      lock.lock();
      for (Request* request : burst) expect(*request, now);
    }
  }

  // What is refused counts as lost on the way: if nobody listens just now, the next repetition may find somebody.
  void send_burst() {
    outbox_.send(
        socket_, [](size_t, uint32_t) {},
        [this](const msghdr& message, int reason) {
          if (jgudp::cannot_segment(message, reason)) {
            is_segmented_ = false;
            jgudp::send_singly(socket_, message, [](size_t, bool) {});
          }
          return false;
        });
  }

  void receive(microseconds wait) {
    pollfd ready{socket_, POLLIN, 0};
    const timespec most{0, std::chrono::nanoseconds(wait).count()};
    ppoll(&ready, 1, &most, nullptr);
    for (uint32_t i = 0; i < kMessages; ++i) {
      vectors_[i] = {&room_[i * jgudp::kMessageBytesMax], jgudp::kMessageBytesMax};
      messages_[i] = {};
      messages_[i].msg_hdr.msg_iov = &vectors_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      envelopes_[i].prepare(&messages_[i].msg_hdr);
    }
    received_ = recvmmsg(socket_, messages_.data(), kMessages, MSG_DONTWAIT, nullptr);
  }

  void take_answers(Requests& answered) {
    for (int i = 0; i < received_; ++i) {
      const uint8_t* const found = &room_[static_cast<uint32_t>(i) * jgudp::kMessageBytesMax];
      const uint32_t total = messages_[i].msg_len, each = jgudp::segment_of(messages_[i].msg_hdr, total);
      for (uint32_t at = 0; at < total; at += each) take_answer(found + at, std::min(each, total - at), answered);
    }
  }

  void take_answer(const uint8_t* found, uint32_t size, Requests& answered) {
    if (size < kMineBytes) return;
    const auto at = open_.find(flow_of(found));
    if (at == open_.end() || !at->second->is_answered_by(found, size, head_)) return;
    std::memcpy(at->second->answer, found, size);
    answered.push_back(at->second);
    open_.erase(at);
  }

  // Repeats packets and gives up those that are lost, once all answers that came were taken.
  void look_about(Requests& done) {
    const auto now = Clock::now();
    for (auto at = open_.begin(); at != open_.end();) {
      Request* const request = at->second;
      if (now < request->again) {
        ++at;
        continue;
      }
      if (now >= request->lost) request->outcome = kLost;
      (now >= request->lost ? done : fresh_).push_back(request);
      at = open_.erase(at);
    }
  }

  // Logs answers. The sync for the last one serves all.
  static void keep(Requests::iterator first, Requests::iterator last) {
    for (auto at = first; at != last; ++at)
      if (Request& r = **at; r.log != nullptr) r.record = r.log->append(r.answered, r.prefix, r.answer, r.size);
    while (last != first)
      if (Request& r = **--last; r.log != nullptr) r.outcome = r.log->sync(r.record);
  }

  const int socket_;
  const uint32_t head_;
  const microseconds lost_;

  std::mutex mutex_;
  bool is_led_ = false, is_receiving_ = false;
  Requests fresh_;                               // to be sent
  std::deque<Request*> ready_;                   // done, whose threads sleep
  Clock::time_point turn_{};                     // when one of them was woken
  Request* gatherer_ = nullptr;                  // the leader's, while it waits for a burst
  std::unordered_map<uint16_t, Request*> open_;  // sent, by flow

  // The leader's.
  jgudp::Outbox<kMessages, kPackets> outbox_;
  bool is_segmented_ = true;
  std::unique_ptr<uint8_t[]> room_;
  std::array<iovec, kMessages> vectors_;
  std::array<mmsghdr, kMessages> messages_;
  std::array<jgudp::Envelope, kMessages> envelopes_;
  int received_ = 0;
};

}  // namespace jgtx
