// A switch: one pipe, its ports, a worker that moves packets between them, and what waits for the controller.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pipe.h"
#include "port.h"

namespace jgsw {

inline constexpr size_t kPacketInsMax = 1024;
inline constexpr size_t kDigestsMax = 4096;
inline constexpr int kIdleMs = 200;  // the worker looks about at least that often

struct Event {
  enum class Kind : int32_t { packet_in = 0, digest = 1 };
  Kind kind;
  uint32_t index;              // the port it came in at, or the digest
  std::vector<uint8_t> bytes;  // the frame, or the digest's words
};

// The worker holds the gate for a batch at a time; who wants to change what packets see waits for the end of a batch.
class Gate {
 public:
  void enter() { mutex_.lock(); }
  void leave() {
    mutex_.unlock();
    while (waiting_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
  }
  template <typename Change>
  auto between_batches(Change change) {
    waiting_.fetch_add(1, std::memory_order_acq_rel);
    std::unique_lock lock(mutex_);
    waiting_.fetch_sub(1, std::memory_order_acq_rel);
    return change();
  }

 private:
  std::mutex mutex_;
  std::atomic<int> waiting_{0};
};

// Frames that left during Switch::process, in their order.
struct Collected {
  std::vector<uint16_t> ports;
  std::vector<uint32_t> lengths;
  std::vector<uint8_t> bytes;
};

class Switch : private Outlet {
 public:
  Switch(const Program& program, uint16_t cpu_port, uint64_t seed);
  ~Switch() override;

  // Runs frames through the pipe as if they came in at these ports; ports are not used. What still circulates after
  // `passes_max` more passes is dropped and counted. The result lives until the next call.
  const Collected& process(const uint16_t* ports, const uint32_t* lengths, const uint8_t* bytes, uint32_t count,
                           uint32_t passes_max);
  // A frame from the controller: it comes in at the CPU port, and what leaves goes out of the switch's ports.
  void packet_out(const uint8_t* bytes, uint32_t length);

  bool add_port(Port* port, std::string& problem);        // takes the port; before start() only
  bool loop_port(uint16_t number, std::string& problem);  // its packets come in again; before start() only
  bool start(std::string& problem);
  void stop();

  // Waits for what the program sent to the controller; false if nothing came.
  bool next_event(Event& event, int timeout_ms);

  Gate gate;
  Pipe pipe;
  StandIns stand_ins;  // of the gate
  std::array<std::unique_ptr<Port>, kPorts> ports;

 private:
  bool is_taken(uint16_t number) const { return ports[number] != nullptr || pipe.loopback[number]; }
  void send(uint16_t port, Buffer* buffer) override;
  void packet_in(const Packet& packet) override;
  void digest(uint32_t index, const uint64_t* words, uint32_t count) override;
  bool make_room() override;

  void work();
  void flush();
  void announce(Event::Kind kind, uint32_t index, const void* bytes, size_t size, size_t& held, size_t most);

  const uint16_t cpu_port_;
  Inbox inbox_;
  Collected collected_;
  bool collects_ = false;
  std::vector<Port*> waiting_;  // ports with queued packets

  int poll_ = -1, wake_ = -1;
  std::atomic<bool> stopping_{false};
  std::thread worker_;

  std::mutex events_mutex_;
  std::condition_variable events_ready_;
  std::deque<Event> events_;
  size_t packet_ins_ = 0, digests_ = 0;
};

uint64_t now_ns();

}  // namespace jgsw
