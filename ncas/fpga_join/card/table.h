// The hash table of one build side in plain memory: the same buckets as the RTL's, bit for bit, as fast as a core goes.
// What has no room in its bucket is the host's (rest.h).
#pragma once
#include <memory>
#include <vector>

#include "bucket.h"

namespace jg::card {

class Table {
 public:
  virtual ~Table() = default;
  // `values` are value_bytes apart. Appends the numbers of those without room to `overflown`.
  virtual void build(const uint64_t* keys, const uint8_t* values, size_t count, std::vector<uint32_t>* overflown) = 0;
  virtual void probe(const uint64_t* keys, size_t count, Answer* out) = 0;
};

// A table of 2^bucket_bits buckets for values of so many bytes; null if there is no memory.
std::unique_ptr<Table> make_table(size_t value_bytes, int bucket_bits);

}  // namespace jg::card
