// The RTL of a table as Verilator compiled it, with a memory behind its port: a cycle at a time.
#pragma once
#include <memory>

#include "bucket.h"
#include "memory.h"

namespace jg::card {

// What a cycle brings to the table's ports and takes from them.
struct Cycle {
  bool offers = false;  // a tuple, in the next fields
  uint64_t key = 0;
  bool null = false;
  const uint8_t* value = nullptr;
  bool takes_overflow = true, takes_answer = true;
  // of the table
  bool accepted = false, overflowed = false, answered = false;
  uint64_t overflow_key = 0;
  uint8_t overflow_value[kBucketBytes];
  Answer answer;
};

template <class V, size_t VALUE_BYTES>
class Model {
 public:
  static constexpr size_t kSlots = slots_of(VALUE_BYTES);

  Model(std::unique_ptr<Memory> memory, int address_bits) : memory_(std::move(memory)) {
    table_.mask = static_cast<uint32_t>((uint64_t{1} << address_bits) - 1);
    table_.rst = 1;
    table_.probing = 0;
    table_.in_valid = 0;
    for (int i = 0; i < 4; i++) edge();
    table_.rst = 0;
  }
  ~Model() { table_.final(); }

  void set_probing(bool probing) { table_.probing = probing; }
  bool idle() const { return table_.idle; }
  uint64_t cycles() const { return cycles_; }
  const V& table() const { return table_; }
  Memory& memory() { return *memory_; }

  void step(Cycle* c) {
    table_.in_valid = c->offers;
    table_.in_key = c->key;
    table_.in_null = c->null;
    if (c->value) put(&table_.in_value, sizeof table_.in_value, c->value, VALUE_BYTES);
    table_.overflow_ready = c->takes_overflow;
    table_.out_ready = c->takes_answer;
    table_.read_ready = memory_->can_read();
    table_.write_ready = memory_->can_write();
    table_.answer_valid = memory_->has_answer();
    if (table_.answer_valid) std::memcpy(&table_.answer_data, memory_->answer().bytes, kBucketBytes);
    table_.eval();  // what is combinational follows its inputs
    c->accepted = table_.in_valid && table_.in_ready;
    c->overflowed = table_.overflow_valid && table_.overflow_ready;
    if (c->overflowed) {
      c->overflow_key = table_.overflow_key;
      std::memcpy(c->overflow_value, &table_.overflow_value, VALUE_BYTES);
    }
    c->answered = table_.out_valid && table_.out_ready;
    if (c->answered) read_answer(&c->answer);
    const bool takes = table_.answer_valid && table_.answer_ready;
    if (table_.read_valid && table_.read_ready) memory_->read(table_.read_address);
    if (table_.write_valid && table_.write_ready) {
      Bucket bucket;
      std::memcpy(bucket.bytes, &table_.write_data, kBucketBytes);
      memory_->write(table_.write_address, bucket);
    }
    if (takes) memory_->take();
    memory_->tick();
    edge();
    cycles_++;
  }

 private:
  template <class To>
  static void put(To* to, size_t room, const uint8_t* from, size_t size) {
    std::memset(to, 0, room);
    std::memcpy(to, from, size);
  }
  void read_answer(Answer* out) {
    const auto* values = reinterpret_cast<const uint8_t*>(&table_.out_values);
    out->count = 0;
    out->overflown = table_.out_overflown;
    for (size_t slot = 0; slot < kSlots; slot++) {
      if (!(table_.out_matches >> slot & 1)) continue;
      std::memcpy(out->values + out->count * VALUE_BYTES, values + slot * VALUE_BYTES, VALUE_BYTES);
      out->count++;
    }
  }
  void edge() {
    table_.clk = 0;
    table_.eval();
    table_.clk = 1;
    table_.eval();
    table_.clk = 0;
  }

  V table_;
  std::unique_ptr<Memory> memory_;
  uint64_t cycles_ = 0;
};

}  // namespace jg::card
