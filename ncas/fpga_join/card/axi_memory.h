// The RTL of the AXI4 manager (rtl/axi4_memory.sv) with a memory behind its bus: a subordinate that takes and answers
// when it likes, and holds the manager to the rules of AXI4 (IHI 0022H, A3: what waits stays; bursts and their last
// beats). It writes as late as it may, when it answers, and reads as early, so that whoever needs more order than the
// bus gives is found out.
#pragma once
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "memory.h"

namespace jg::card {

struct AxiTiming {
  int latency;        // cycles from the last that it needs to its answer
  int ready_percent;  // of the cycles in which each channel is
  uint64_t seed;
};

template <class V, size_t DATA_BITS>
class AxiMemory : public Memory {
 public:
  AxiMemory(size_t buckets, AxiTiming timing) : Memory(buckets), timing_(timing), random_(timing.seed) {
    bus_.base = kBase;
    bus_.rst = 1;
    for (int i = 0; i < 4; i++) edge();
    bus_.rst = 0;
    offer();
  }
  ~AxiMemory() override { bus_.final(); }

  bool can_read() const override { return bus_.read_ready; }
  bool can_write() const override { return bus_.write_ready; }
  bool has_answer() const override { return bus_.answer_valid; }
  const Bucket& answer() const override { return answer_; }
  void read(uint32_t address) override {
    bus_.read_valid = 1;
    bus_.read_address = address;
  }
  void write(uint32_t address, const Bucket& bucket) override {
    bus_.write_valid = 1;
    bus_.write_address = address;
    std::memcpy(&bus_.write_data, bucket.bytes, kBucketBytes);
  }
  void take() override { bus_.answer_ready = 1; }

  void tick() override {
    bus_.eval();
    const Waiting waiting = look();
    const Waiting& was = waited_;
    if (was.read && !(waiting.read && waiting.read_address == was.read_address)) wrong("a read that waits changes");
    if (was.write && !(waiting.write && waiting.write_address == was.write_address))
      wrong("a write that waits changes");
    if (was.data && !(waiting.data && waiting.last == was.last && waiting.beat == was.beat)) {
      wrong("a beat that waits changes");
    }
    waited_ = waiting;
    if (bus_.axi_arvalid && bus_.axi_arready) {
      reads_.push_back({now_ + static_cast<uint64_t>(timing_.latency), at(bucket_of(bus_.axi_araddr))});
      check_burst(bus_.axi_arlen, bus_.axi_arsize, bus_.axi_arburst);
      waited_.read = false;
    }
    if (bus_.axi_awvalid && bus_.axi_awready) {
      addresses_.push_back(bucket_of(bus_.axi_awaddr));
      check_burst(bus_.axi_awlen, bus_.axi_awsize, bus_.axi_awburst);
      waited_.write = false;
    }
    if (bus_.axi_wvalid && bus_.axi_wready) {
      beat();
      waited_.data = false;
    }
    if (bus_.axi_rvalid && bus_.axi_rready) {
      if (++read_beat_ == kBeats) {
        reads_.pop_front();
        read_beat_ = 0;
      }
      offers_read_ = false;
    }
    if (bus_.axi_bvalid) {
      if (!bus_.axi_bready) wrong("an answer to a write waits");
      at(addresses_.front()) = whole_.front().second;
      addresses_.pop_front();
      whole_.pop_front();
    }
    edge();
    now_++;
    offer();
  }

 private:
  static constexpr size_t kBeatBytes = DATA_BITS / 8, kBeats = kBucketBytes / kBeatBytes;
  static constexpr uint64_t kBase = uint64_t{3} << 30;

  // What the manager offers, where it was not taken.
  struct Waiting {
    bool read = false, write = false, data = false, last = false;
    uint64_t read_address = 0, write_address = 0;
    std::array<uint8_t, kBeatBytes> beat{};
  };

  [[noreturn]] static void wrong(const char* what) {
    std::fprintf(stderr, "AXI4: %s\n", what);
    std::exit(1);
  }

  Waiting look() const {
    Waiting found;
    found.read = bus_.axi_arvalid;
    found.write = bus_.axi_awvalid;
    found.data = bus_.axi_wvalid;
    found.last = bus_.axi_wlast;
    found.read_address = bus_.axi_araddr;
    found.write_address = bus_.axi_awaddr;
    std::memcpy(found.beat.data(), &bus_.axi_wdata, kBeatBytes);
    return found;
  }
  static uint32_t bucket_of(uint64_t address) {
    if (address < kBase || address % kBucketBytes != 0) wrong("a burst that does not begin at a bucket");
    return static_cast<uint32_t>((address - kBase) / kBucketBytes);
  }
  static void check_burst(unsigned length, unsigned size, unsigned kind) {
    if (length != kBeats - 1 || 1u << size != kBeatBytes || kind != 1) wrong("a burst that is no bucket");
  }
  void beat() {
    const uint64_t strobes = bus_.axi_wstrb;
    if (~strobes << (64 - kBeatBytes) != 0) wrong("a beat that is not written whole");
    if (bus_.axi_wlast != (write_beat_ == kBeats - 1)) wrong("a last beat too early or too late");
    std::memcpy(coming_.bytes + kBeatBytes * write_beat_, &bus_.axi_wdata, kBeatBytes);
    if (++write_beat_ < kBeats) return;
    whole_.push_back({now_ + static_cast<uint64_t>(timing_.latency), coming_});
    write_beat_ = 0;
  }

  bool likes() { return static_cast<int>(random_() % 100) < timing_.ready_percent; }
  // The bus's inputs of the next cycle; an answer that was not taken stays.
  void offer() {
    bus_.read_valid = bus_.write_valid = bus_.answer_ready = 0;
    bus_.axi_arready = likes();
    bus_.axi_awready = likes();
    bus_.axi_wready = likes();
    offers_read_ |= !reads_.empty() && reads_.front().first <= now_ && likes();
    bus_.axi_rvalid = offers_read_;
    bus_.axi_rlast = read_beat_ == kBeats - 1;
    if (offers_read_) std::memcpy(&bus_.axi_rdata, reads_.front().second.bytes + kBeatBytes * read_beat_, kBeatBytes);
    bus_.axi_bvalid = !whole_.empty() && !addresses_.empty() && whole_.front().first <= now_ && likes();
    bus_.eval();
    if (bus_.failed) wrong("the manager says that an answer failed");
    std::memcpy(answer_.bytes, &bus_.answer_data, kBucketBytes);
  }
  void edge() {
    bus_.clk = 0;
    bus_.eval();
    bus_.clk = 1;
    bus_.eval();
    bus_.clk = 0;
  }

  const AxiTiming timing_;
  std::mt19937_64 random_;
  V bus_;
  uint64_t now_ = 0;
  Waiting waited_;
  Bucket answer_, coming_;
  size_t read_beat_ = 0, write_beat_ = 0;
  bool offers_read_ = false;
  std::deque<std::pair<uint64_t, Bucket>> reads_, whole_;  // and when they may be answered
  std::deque<uint32_t> addresses_;                         // of writes
};

}  // namespace jg::card
