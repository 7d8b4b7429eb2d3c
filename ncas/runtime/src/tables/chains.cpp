#include "jg/chains.h"

namespace {

// Of most probes no row has the key: those that some row has come together first, and look at their slots at once.
void find_ranked(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first) {
  const bool is_large = join->count >> JG_CACHED_SLOTS_BITS;
  uint64_t there[JG_BLOCK];
  uint8_t at[JG_BLOCK];
  int m = 0;
  for (int i = 0; i < n; i++) {
    first[i] = nullptr;
    there[m] = static_cast<uint64_t>(keys[i]) - static_cast<uint64_t>(join->low);
    at[m] = static_cast<uint8_t>(i);
    m += jg_is_present(join, keys[i]);
  }
  for (int i = 0; i < m; i++) {
    there[i] = jg_ranked(join, there[i]);
    if (is_large) __builtin_prefetch(&join->directory.slots[there[i]]);
  }
  for (int i = 0; i < m; i++)
    first[at[i]] = reinterpret_cast<JgRow*>(join->directory.slots[there[i]] & 0x0000FFFFFFFFFFFFull);
  if (is_large && row_size && m) jg_prefetch_rows(first, n, row_size);
}

}  // namespace

void jg_find_chains(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first) {
  if (join->ranks) return find_ranked(join, keys, n, row_size, first);
  if (join->span) {
    for (int i = 0; i < n; i++) first[i] = jg_chain(join, keys[i]);
    if (row_size && join->span >> JG_CACHED_SLOTS_BITS) jg_prefetch_rows(first, n, row_size);
    return;
  }
  uint64_t hashes[JG_BLOCK];
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
