// Table lookups of generated code: exact ones inline, the others by the table's engine. Never fails: the default entry
// is what a miss finds.
//
//     uint64_t key[] = {dst_addr, vlan};                                  // see "Words" in program.h
//     const jgsw::Entry& entry = jgsw::find_exact<2>(*context.tables[0], key);   // every key field is exact
//     const jgsw::Entry& entry = jgsw::find(*context.tables[1], key);            // anything else, or no key at all
//     switch (entry.action) { case 0: set_port(entry.data()[0]); break; … }
//     if (entry.hit) …
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "jgsw/program.h"

namespace jgsw {

// Open addressing with linear probing over at least twice as many buckets as entries. A bucket holds the high half of
// the key's hash and the entry's slot + 1; 0 is empty.
struct ExactIndex {
  const uint64_t* buckets;
  uint64_t mask;             // buckets - 1; a power of two less one
  const uint64_t* keys;      // key of slot s at keys + s * words
  const std::byte* entries;  // entry of slot s at entries + s * entry_bytes
  size_t entry_bytes;
};

struct Table {
  ExactIndex exact;
  const Entry* fallback;                                            // the default
  const Entry* (*search)(const Table& table, const uint64_t* key);  // null for a miss
};

// Mixes whole words; multiplications by odd constants (the golden ratio's and those of splitmix64).
inline uint64_t hash_words(const uint64_t* key, uint32_t words) {
  uint64_t h = 0x9e3779b97f4a7c15u;
#pragma GCC unroll 4
  for (uint32_t i = 0; i < words; ++i) {
    h = (h ^ key[i]) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 32;
  }
  h *= 0x94d049bb133111ebu;
  return h ^ (h >> 29);
}

inline uint64_t bucket_of(uint64_t hash, uint32_t slot) { return (hash & 0xffffffff00000000u) | (slot + 1u); }
inline uint64_t home_of(uint64_t hash_or_bucket, uint64_t mask) { return (hash_or_bucket >> 32) & mask; }

template <uint32_t Words>
inline const Entry& find_exact(const Table& table, const uint64_t* key) {
  const ExactIndex& index = table.exact;
  const uint64_t hash = hash_words(key, Words);
  for (uint64_t i = home_of(hash, index.mask);; i = (i + 1) & index.mask) {
    const uint64_t bucket = index.buckets[i];
    if (bucket == 0) return *table.fallback;
    if ((bucket ^ hash) >> 32) continue;
    const uint32_t slot = static_cast<uint32_t>(bucket) - 1;
    if (std::memcmp(index.keys + size_t{slot} * Words, key, Words * sizeof(uint64_t)) == 0)
      return *reinterpret_cast<const Entry*>(index.entries + slot * index.entry_bytes);
  }
}

inline const Entry& find(const Table& table, const uint64_t* key) {
  const Entry* entry = table.search(table, key);
  return entry ? *entry : *table.fallback;
}

}  // namespace jgsw
