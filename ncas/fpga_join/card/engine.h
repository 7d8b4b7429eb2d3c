// What holds the hash table of one build side: the buckets that an FPGA has in its memory. What has no room in its
// bucket is the host's (rest.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bucket.h"

namespace jg::card {

// The entries of a key in its bucket; `overflown`: the rest may have others.
struct Answer {
  uint8_t count = 0;
  bool overflown = false;
  uint8_t values[BUCKET_BYTES];  // one behind the other
};

class Engine {
 public:
  virtual ~Engine() = default;
  // `values` are value_bytes apart. Appends the numbers of those without room to `overflown`.
  virtual void build(const uint64_t* keys, const uint8_t* values, size_t count, std::vector<uint32_t>* overflown) = 0;
  virtual void probe(const uint64_t* keys, size_t count, Answer* out) = 0;
  // Cycles that the model has worked; 0 where there is no clock.
  virtual uint64_t cycles() const { return 0; }
};

// A table of 2^bucket_bits buckets for values of so many bytes; null if there is no memory.
std::unique_ptr<Engine> make_engine(size_t value_bytes, int bucket_bits);
extern const char* const ENGINE_NAME;

}  // namespace jg::card
