// The RTL of the whole card as Verilator compiled it, with a memory behind each bank: a cycle at a time.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "bucket.h"
#include "frames.h"
#include "memory.h"

namespace jg::card {

inline constexpr size_t kRowMax = 64;
enum RtlKind { UNUSED, INNER, LEFT, SEMI, ANTI };  // of a table, as rtl/bucket_pkg.sv has them

// Copies bytes into a port of Verilator's, whose words are little endian, and back.
template <class Port>
void put(Port* port, const void* from, size_t size) {
  std::memset(port, 0, sizeof *port);
  std::memcpy(port, from, size);
}

// Writes bits [at, at + bits) of a port.
template <class Port>
void set_field(Port* port, size_t at, size_t bits, uint64_t value) {
  auto* bytes = reinterpret_cast<uint8_t*>(port);
  for (size_t i = 0; i < bits; i++) {
    uint8_t& byte = bytes[(at + i) / 8];
    byte = static_cast<uint8_t>((byte & ~(1u << ((at + i) % 8))) | (value >> i & 1) << ((at + i) % 8));
  }
}

// The levels of a network (rtl/gather.sv) that moves the chosen items of so many together.
inline Bytes gathering(const std::vector<size_t>& chosen, size_t items) {
  size_t levels = 0;
  while ((size_t{1} << levels) < items) levels++;
  Bytes bits((levels * items + 7) / 8);
  for (size_t i = 0; i < chosen.size(); i++) {
    size_t at = chosen[i];
    for (size_t level = 0; level < levels; level++) {
      if (!((chosen[i] - i) >> level & 1)) continue;
      at -= size_t{1} << level;
      bits[(level * items + at) / 8] |= static_cast<uint8_t>(1u << ((level * items + at) % 8));
    }
  }
  return bits;
}

template <class V, size_t kBanks, int kMemoryBits>
class CardModel {
 public:
  using Memories = std::vector<std::unique_ptr<Memory>>;

  explicit CardModel(Memories memories) : memories_(std::move(memories)) {
    card.memory_rst = 1;
    reset();
    card.memory_rst = 0;
  }
  ~CardModel() { card.final(); }

  V card;  // configuration and counters are its ports
  std::function<bool()> offers = [] { return true; }, takes = [] { return true; };
  std::function<void()> overflowed, rested;  // those ports have something
  std::vector<Bytes> sent;                   // frames

  // Of the card alone: the memories go on. Frames that have not entered are forgotten.
  void reset() {
    arriving_.clear();
    at_ = 0;
    card.rst = 1;
    for (int i = 0; i < 4; i++) step();
    card.rst = 0;
    leaving_.clear();
    sent.clear();
  }
  void clear() {
    for (const auto& memory : memories_) memory->clear();
  }
  uint64_t cycles() const { return cycles_; }

  void push(Bytes frame) { arriving_.push_back(std::move(frame)); }
  // Frames of which the card has not taken all.
  size_t arriving() const { return arriving_.size(); }
  bool idle() const { return arriving_.empty() && card.idle; }
  // Until the frames are in and the card is idle; false if it stands still.
  bool run(const std::vector<Bytes>& frames, uint64_t cycles_max) {
    for (const Bytes& frame : frames) push(frame);
    for (const uint64_t end = cycles_ + cycles_max; cycles_ < end; step()) {
      if (idle()) return true;
    }
    return false;
  }
  // A cycle. Frames that are not full leave when none arrives.
  void step() {
    card.flush = arriving_.empty();
    card.in_valid = !arriving_.empty() && offers();
    if (card.in_valid) {
      const Bytes& frame = arriving_.front();
      put(&card.in_data, &frame[at_], std::min(kBusBytes, frame.size() - at_));
      card.in_last = at_ + kBusBytes >= frame.size();
    }
    card.out_ready = takes();
    card.overflow_ready = takes();
    card.rest_ready = takes();
    for (size_t b = 0; b < kBanks; b++) {
      set(&card.read_ready, b, memories_[b]->can_read());
      set(&card.write_ready, b, memories_[b]->can_write());
      set(&card.answer_valid, b, memories_[b]->has_answer());
      if (memories_[b]->has_answer()) {
        std::memcpy(reinterpret_cast<uint8_t*>(&card.answer_data) + b * kBucketBytes, memories_[b]->answer().bytes,
                    kBucketBytes);
      }
    }
    card.eval();  // what is combinational follows its inputs
    const bool taken = card.in_valid && card.in_ready;
    if (card.overflow_valid && card.overflow_ready) overflowed();
    if (card.rest_valid && card.rest_ready) rested();
    if (card.out_valid && card.out_ready) {
      const auto* word = reinterpret_cast<const uint8_t*>(&card.out_data);
      leaving_.insert(leaving_.end(), word, word + card.out_bytes);
      if (card.out_last) sent.push_back(std::exchange(leaving_, {}));
    }
    for (size_t b = 0; b < kBanks; b++) {
      Memory& memory = *memories_[b];
      const bool answered = card.answer_valid >> b & card.answer_ready >> b & 1;
      if (card.read_valid >> b & card.read_ready >> b & 1) memory.read(address(card.read_address, b));
      if (card.write_valid >> b & card.write_ready >> b & 1) {
        Bucket bucket;
        std::memcpy(bucket.bytes, reinterpret_cast<const uint8_t*>(&card.write_data) + b * kBucketBytes, kBucketBytes);
        memory.write(address(card.write_address, b), bucket);
      }
      if (answered) memory.take();
      memory.tick();
    }
    edge();
    cycles_++;
    if (!taken) return;
    at_ += kBusBytes;
    if (at_ >= arriving_.front().size()) {
      arriving_.pop_front();
      at_ = 0;
    }
  }

 private:
  template <class Port>
  static void set(Port* port, size_t bit, bool to) {
    *port = static_cast<Port>((*port & ~(Port{1} << bit)) | static_cast<Port>(to) << bit);
  }
  template <class Port>
  static uint32_t address(const Port& port, size_t bank) {
    uint32_t found = 0;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&port);
    for (size_t i = 0; i < kMemoryBits; i++) {
      const size_t bit = bank * kMemoryBits + i;
      found |= static_cast<uint32_t>(bytes[bit / 8] >> (bit % 8) & 1) << i;
    }
    return found;
  }
  void edge() {
    card.clk = 0;
    card.eval();
    card.clk = 1;
    card.eval();
    card.clk = 0;
  }

  Memories memories_;
  std::deque<Bytes> arriving_;
  size_t at_ = 0;  // in the oldest
  Bytes leaving_;
  uint64_t cycles_ = 0;
};

}  // namespace jg::card
