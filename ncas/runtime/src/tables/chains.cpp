#include "jg/chains.h"

namespace {

// Of most probes no row has the key: the others look at their slots together.
void find_ranked(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first) {
  const bool is_large = join->count >> JG_CACHED_SLOTS_BITS;
  uint16_t at[JG_AHEAD];
  uint64_t slots[JG_AHEAD];
  const int told = jg_tell(join, keys, n, at);
  for (int i = 0; i < n; i++) first[i] = nullptr;
  for (int i = 0; i < told; i++) {
    slots[i] = jg_ranked(join, static_cast<uint64_t>(keys[at[i]]) - static_cast<uint64_t>(join->low));
    if (is_large) __builtin_prefetch(&join->directory.slots[slots[i]]);
  }
  JgRow* found[JG_AHEAD];
  for (int i = 0; i < told; i++) {
    found[i] = reinterpret_cast<JgRow*>(join->directory.slots[slots[i]] & 0x0000FFFFFFFFFFFFull);
    first[at[i]] = found[i];
  }
  if (is_large && row_size) jg_prefetch_rows(found, told, row_size);
}

}  // namespace

void jg_find_chains(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first) {
  if (join->ranks) return find_ranked(join, keys, n, row_size, first);
  if (join->span) {
    for (int i = 0; i < n; i++) first[i] = jg_chain(join, keys[i]);
    if (row_size && join->span >> JG_CACHED_SLOTS_BITS) jg_prefetch_rows(first, n, row_size);
    return;
  }
  uint64_t hashes[JG_AHEAD];
  for (int i = 0; i < n; i++) hashes[i] = jg_hash_int(static_cast<uint64_t>(keys[i]));
  jg_find_hashed(join, hashes, n, row_size, first);
}

void jg_find_hashed(const JgJoin* join, const uint64_t* hashes, int n, int row_size, JgRow** first) {
  const JgDirectory* d = &join->directory;
  const bool is_large = d->shift <= 64 - JG_CACHED_SLOTS_BITS;
  if (is_large)
    for (int i = 0; i < n; i++) __builtin_prefetch(&d->slots[hashes[i] >> d->shift]);
  // NULL keys, whose chains nobody follows, have hashes of other partitions
  for (int i = 0; i < n; i++) first[i] = jg_lookup(d, (hashes[i] & ~join->deal_bits) | join->deal);
  if (is_large && row_size) jg_prefetch_rows(first, n, row_size);
}

int jg_tell(const JgJoin* join, const int64_t* keys, int n, uint16_t* at) {
  int told = 0;
  for (int i = 0; i < n; i++) {
    at[told] = static_cast<uint16_t>(i);
    told += jg_is_present(join, keys[i]);
  }
  return told;
}

void jg_find_told(const JgJoin* join, const uint64_t* hashes, const uint16_t* at, int told, int n, int row_size,
                  JgRow** first) {
  JgRow* found[JG_AHEAD];
  jg_find_hashed(join, hashes, told, row_size, found);
  for (int i = 0; i < n; i++) first[i] = nullptr;
  for (int i = 0; i < told; i++) first[at[i]] = found[i];
}
