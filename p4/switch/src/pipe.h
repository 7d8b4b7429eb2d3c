// One pipe: a program with its tables, registers and counters, and the traffic manager between ingress and egress.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include "buffer.h"
#include "table_store.h"

namespace jgsw {

inline constexpr size_t kLineBytes = 64;
struct AlignedDelete {
  void operator()(uint8_t* bytes) const { ::operator delete[](bytes, std::align_val_t{kLineBytes}); }
};

inline constexpr uint32_t kBuffers = 4096;
inline constexpr uint32_t kLoopedMax = 512;  // packets waiting at one recirculation port, or copies waiting for egress
inline constexpr uint16_t kPorts = 512;

// Of each group of 128 ports (a Tofino's pipe) 68 … 71 lead back to ingress, whatever mode they are in.
inline constexpr bool recirculates(uint16_t port) { return (port & 0x7c) == 68; }

// What a looped packet waits for: queue 0 is egress, the others are ports that lead back to ingress.
inline constexpr uint32_t kLoopQueues = 1 + kPorts;
inline constexpr uint32_t loop_queue(uint16_t port) { return 1u + port; }

// What became of packets. Everything that is lost is counted under a reason.
struct Counts {
  uint64_t ingress_passes = 0, sent = 0, recirculated = 0, resubmitted = 0, mirrored = 0, replicated = 0;
  uint64_t to_controller = 0, digests = 0;
  uint64_t dropped_by_program = 0, no_destination = 0, malformed = 0, oversized = 0, no_buffer = 0, loop_full = 0;
  uint64_t controller_full = 0, no_such_port = 0, no_mirror_session = 0, no_multicast_group = 0;
};

// Where packets leave a pipe.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void send(uint16_t port, Buffer* buffer) = 0;  // the outlet gives the buffer back to the pool
  virtual void packet_in(const Packet& packet) = 0;
  virtual void digest(uint32_t index, const uint64_t* words, uint32_t count) = 0;
  virtual bool make_room() = 0;  // sends what waits; true if buffers came back
};

struct Replica {
  uint16_t port;
  uint16_t id;
};

class Pipe {
 public:
  Pipe(const Program& program, uint16_t cpu_port, uint64_t seed);
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // A buffer to receive into, or null (then the packet is lost and counted).
  Buffer* take(Outlet& outlet);
  // Ingress to egress; the copies it makes wait in the loop. Takes the buffer.
  void run(Buffer* buffer, Outlet& outlet);
  // Runs what waits in the loop now, not what that adds to it: by queue (qid), the highest first, and in a queue as it
  // came. Returns how much waits after it.
  size_t run_looped(Outlet& outlet);
  void drop_looped();

  const Program& program() const { return program_; }
  TableStore& table(uint32_t index) { return *tables_[index]; }
  uint8_t* register_bytes(uint32_t index) { return static_cast<uint8_t*>(register_views_[index]); }
  CounterCell* counter(uint32_t index) { return counters_[index].get(); }
  MeterCell* meter(uint32_t index) { return meters_[index].get(); }
  void reset_register(uint32_t index, uint32_t element);
  // What belongs to the entry in that slot directly starts anew.
  void reset_direct(uint32_t table, uint32_t slot);

  BufferPool pool{kBuffers};
  Counts counts;
  std::unordered_map<uint32_t, std::vector<Replica>> multicast;
  std::unordered_map<uint32_t, uint16_t> mirror_sessions;
  std::bitset<kPorts> loopback;  // ports whose packets come in again, as if a cable led from each to itself

 private:
  struct Looped {
    Buffer* buffer;
    uint32_t queue;
    uint8_t priority;
  };

  static void mirror(Context& context, const Packet& packet, uint32_t session, const uint8_t* header,
                     uint32_t header_bytes);
  static void digest(Context& context, uint32_t index, const uint64_t* words);

  void manage(Buffer* buffer);
  void replicate(const Packet& packet, uint16_t group);
  void copy_to(const Packet& packet, uint16_t port, uint16_t id, bool first);
  void egress(Buffer* buffer);
  void leave(Buffer* buffer);
  bool loop(Buffer* buffer, uint32_t queue, uint8_t priority);
  bool recentre(Buffer* buffer);
  void drop(Buffer* buffer, uint64_t& reason) {
    ++reason;
    pool.give(buffer);
  }

  const Program& program_;
  const uint16_t cpu_port_;
  std::vector<std::unique_ptr<TableStore>> tables_;
  std::vector<std::unique_ptr<uint8_t[], AlignedDelete>> registers_;  // those that are their own home
  std::vector<std::unique_ptr<CounterCell[]>> counters_;
  std::vector<std::unique_ptr<MeterCell[]>> meters_;
  std::vector<const Table*> table_views_;
  std::vector<void*> register_views_;
  std::vector<CounterCell*> counter_views_;
  std::vector<MeterCell*> meter_views_;
  std::vector<uint32_t> digest_words_;
  Context context_;
  Outlet* outlet_ = nullptr;
  std::deque<Looped> looped_;
  std::array<uint32_t, kLoopQueues> waiting_{};  // of `looped_`, by queue
};

}  // namespace jgsw
