// Buckets of 512 bits, as the RTL has them (rtl/bucket_pkg.sv): byte 0 holds the number of entries (bits 2 to 0) and
// whether an entry had no room (bit 7); then entries of a key (8 bytes, little endian) and a value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

namespace jg::card {

inline constexpr size_t kBucketBytes = 64, kKeyBytes = 8, kSlotsMax = 7;
inline constexpr uint8_t kCountBits = 0x07, kOverflown = 0x80;

struct Bucket {
  uint8_t bytes[kBucketBytes];
};
static_assert(sizeof(Bucket) == kBucketBytes);

// The entries of a key in its bucket; `overflown`: the rest may have others.
struct Answer {
  uint8_t count = 0;
  bool overflown = false;
  uint8_t values[kBucketBytes];  // one behind the other
};

constexpr size_t slots_of(size_t value_bytes) {
  const size_t slots = (kBucketBytes - 1) / (kKeyBytes + value_bytes);
  return slots < kSlotsMax ? slots : kSlotsMax;
}
static_assert(slots_of(1) == 7 && slots_of(8) == 3 && slots_of(23) == 2 && slots_of(55) == 1);

// CRC-32C of the key's bytes: in hardware a few exclusive ors. Each bit of a key that others share spreads.
inline uint32_t hash_of(uint64_t key) {
#if defined(__SSE4_2__)
  return static_cast<uint32_t>(_mm_crc32_u64(0, key));
#else
  uint64_t crc = 0;
  for (int bit = 0; bit < 64; bit++) {
    const bool feedback = (crc ^ key >> bit) & 1;
    crc = crc >> 1 ^ (feedback ? 0x82F63B78u : 0);
  }
  return static_cast<uint32_t>(crc);
#endif
}

}  // namespace jg::card
