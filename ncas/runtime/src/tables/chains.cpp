#include "jg/chains.h"

namespace {

// Hand out the first rows of `count` chains, some of which may be null: of all n keys, or of those `told`.
int give(JgRow* const* found, const uint16_t* told, int count, int n, int row_size, JgRow** first, uint16_t* at) {
  if (!at) {
    if (row_size) jg_prefetch_rows(found, count, row_size);
    if (!told) {
      memcpy(first, found, sizeof *first * static_cast<size_t>(n));
      return n;
    }
    for (int i = 0; i < n; i++) first[i] = nullptr;
    for (int i = 0; i < count; i++) first[told[i]] = found[i];
    return n;
  }
  int rows = 0;
  for (int i = 0; i < count; i++) {
    first[rows] = found[i];
    at[rows] = told ? told[i] : static_cast<uint16_t>(i);
    rows += found[i] != nullptr;
  }
  if (row_size) jg_prefetch_rows(first, rows, row_size);
  return rows;
}

int find_ranked(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first, uint16_t* at) {
  const bool is_large = join->count >> JG_CACHED_SLOTS_BITS;
  uint16_t told[JG_AHEAD];
  uint64_t slots[JG_AHEAD];
  const int count = jg_tell(join, keys, n, told);
  for (int i = 0; i < count; i++) {
    slots[i] = jg_ranked(join, static_cast<uint64_t>(keys[told[i]]) - static_cast<uint64_t>(join->low));
    if (is_large) __builtin_prefetch(&join->directory.slots[slots[i]]);
  }
  JgRow* found[JG_AHEAD];
  for (int i = 0; i < count; i++)
    found[i] = reinterpret_cast<JgRow*>(join->directory.slots[slots[i]] & 0x0000FFFFFFFFFFFFull);
  return give(found, told, count, n, is_large ? row_size : 0, first, at);
}

}  // namespace

int jg_find_chains(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first, uint16_t* at) {
  if (join->ranks) return find_ranked(join, keys, n, row_size, first, at);
  if (join->span) {
    JgRow* found[JG_AHEAD];
    for (int i = 0; i < n; i++) found[i] = jg_chain(join, keys[i]);
    return give(found, nullptr, n, n, join->span >> JG_CACHED_SLOTS_BITS ? row_size : 0, first, at);
  }
  uint64_t hashes[JG_AHEAD];
  for (int i = 0; i < n; i++) hashes[i] = jg_hash_int(static_cast<uint64_t>(keys[i]));
  return jg_find_hashed(join, hashes, nullptr, n, n, row_size, first, at);
}

int jg_find_hashed(const JgJoin* join, const uint64_t* hashes, const uint16_t* told, int count, int n, int row_size,
                   JgRow** first, uint16_t* at) {
  const JgDirectory* d = &join->directory;
  const bool is_large = d->shift <= 64 - JG_CACHED_SLOTS_BITS;
  if (is_large)
    for (int i = 0; i < count; i++) __builtin_prefetch(&d->slots[hashes[i] >> d->shift]);
  // NULL keys, whose chains nobody follows, have hashes of other partitions
  JgRow* found[JG_AHEAD];
  for (int i = 0; i < count; i++) found[i] = jg_lookup(d, (hashes[i] & ~join->deal_bits) | join->deal);
  return give(found, told, count, n, is_large ? row_size : 0, first, at);
}

int jg_tell(const JgJoin* join, const int64_t* keys, int n, uint16_t* told) {
  int count = 0;
  for (int i = 0; i < n; i++) {
    told[count] = static_cast<uint16_t>(i);
    count += jg_is_present(join, keys[i]);
  }
  return count;
}
