// The table as the RTL computes it, cycle by cycle, with a memory that answers after LATENCY cycles.
#include "Vtable_1.h"
#include "Vtable_23.h"
#include "Vtable_55.h"
#include "Vtable_8.h"
#include "model.h"

namespace jg::card {
namespace {

constexpr int LATENCY = 40;

template <class V, size_t VALUE_BYTES>
class Verilated : public Engine {
 public:
  explicit Verilated(int bucket_bits) : model_(std::make_unique<IdealMemory>(bucket_bits, LATENCY), bucket_bits) {}

  void build(const uint64_t* keys, const uint8_t* values, size_t count, std::vector<uint32_t>* overflown) override {
    model_.set_probing(false);
    // Overflowing tuples come out in the order in which they went in: the next one that is equal.
    size_t next = 0, left = 0;
    while (next < count || !model_.idle()) {
      Cycle c;
      c.offers = next < count;
      if (c.offers) {
        c.key = keys[next];
        c.value = values + next * VALUE_BYTES;
      }
      model_.step(&c);
      if (c.overflowed) {
        while (keys[left] != c.overflow_key ||
               std::memcmp(values + left * VALUE_BYTES, c.overflow_value, VALUE_BYTES) != 0) {
          left++;
        }
        overflown->push_back(static_cast<uint32_t>(left++));
      }
      next += c.accepted;
    }
  }

  void probe(const uint64_t* keys, size_t count, Answer* out) override {
    model_.set_probing(true);
    for (size_t next = 0, answered = 0; answered < count;) {
      Cycle c;
      c.offers = next < count;
      if (c.offers) c.key = keys[next];
      model_.step(&c);
      if (c.answered) out[answered++] = c.answer;
      next += c.accepted;
    }
  }

  uint64_t cycles() const override { return model_.cycles(); }

 private:
  Model<V, VALUE_BYTES> model_;
};

}  // namespace

const char* const ENGINE_NAME = "verilated";

std::unique_ptr<Engine> make_engine(size_t value_bytes, int bucket_bits) {
  switch (value_bytes) {
    case 1:
      return std::make_unique<Verilated<Vtable_1, 1>>(bucket_bits);
    case 8:
      return std::make_unique<Verilated<Vtable_8, 8>>(bucket_bits);
    case 23:
      return std::make_unique<Verilated<Vtable_23, 23>>(bucket_bits);
    case 55:
      return std::make_unique<Verilated<Vtable_55, 55>>(bucket_bits);
    default:
      return nullptr;
  }
}

}  // namespace jg::card
