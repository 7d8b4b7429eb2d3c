#include "table.h"

#include <sys/mman.h>

#include <algorithm>

namespace jg::card {
namespace {

constexpr size_t kAhead = 16;  // keys whose buckets are fetched meanwhile

template <size_t VALUE_BYTES>
class Buckets : public Table {
 public:
  static constexpr size_t kEntryBytes = kKeyBytes + VALUE_BYTES, kSlots = slots_of(VALUE_BYTES);

  Buckets(Bucket* buckets, size_t count) : buckets_(buckets), mask_(count - 1) {}
  ~Buckets() override { munmap(buckets_, (mask_ + 1) * kBucketBytes); }

  void build(const uint64_t* keys, const uint8_t* values, size_t count, std::vector<uint32_t>* overflown) override {
    for (size_t i = 0; i < count; i++) {
      if (i + kAhead < count) __builtin_prefetch(at(keys[i + kAhead]), 1);
      uint8_t* bucket = at(keys[i])->bytes;
      const size_t used = bucket[0] & kCountBits;
      if (used == kSlots) {
        bucket[0] |= kOverflown;
        overflown->push_back(static_cast<uint32_t>(i));
        continue;
      }
      uint8_t* entry = bucket + 1 + used * kEntryBytes;
      std::memcpy(entry, &keys[i], kKeyBytes);
      std::memcpy(entry + kKeyBytes, values + i * VALUE_BYTES, VALUE_BYTES);
      bucket[0]++;
    }
  }

  void probe(const uint64_t* keys, size_t count, Answer* out) override {
    for (size_t i = 0; i < count; i++) {
      if (i + kAhead < count) __builtin_prefetch(at(keys[i + kAhead]));
      const uint8_t* bucket = at(keys[i])->bytes;
      const size_t used = bucket[0] & kCountBits;
      size_t found = 0;
      for (size_t slot = 0; slot < used; slot++) {
        const uint8_t* entry = bucket + 1 + slot * kEntryBytes;
        uint64_t key;
        std::memcpy(&key, entry, kKeyBytes);
        std::memcpy(out[i].values + found * VALUE_BYTES, entry + kKeyBytes, VALUE_BYTES);
        found += key == keys[i];
      }
      out[i].count = static_cast<uint8_t>(found);
      out[i].overflown = bucket[0] & kOverflown;
    }
  }

 private:
  Bucket* at(uint64_t key) const { return &buckets_[hash_of(key) & mask_]; }

  Bucket* const buckets_;
  const size_t mask_;
};

}  // namespace

std::unique_ptr<Table> make_table(size_t value_bytes, int bucket_bits) {
  const size_t count = size_t{1} << bucket_bits;
  void* memory =
      mmap(nullptr, count * kBucketBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, count * kBucketBytes, MADV_HUGEPAGE);
  auto* buckets = static_cast<Bucket*>(memory);
  switch (value_bytes) {
    case 1:
      return std::make_unique<Buckets<1>>(buckets, count);
    case 8:
      return std::make_unique<Buckets<8>>(buckets, count);
    case 23:
      return std::make_unique<Buckets<23>>(buckets, count);
    case 55:
      return std::make_unique<Buckets<55>>(buckets, count);
    default:
      munmap(memory, count * kBucketBytes);
      return nullptr;
  }
}

}  // namespace jg::card
