// The chains in which a join's partners are, for generated programs.
#pragma once
#include "jg/filters.h"
#include "jg/kernel.h"

// Keys that are looked up together: few of them may have rows, whose memory is waited for together.
enum { JG_AHEAD = 256 };

// The slot of a key that some row has, by its distance from the lowest one.
JG_INLINE uint64_t jg_ranked(const JgJoin* j, uint64_t at) {
  const uint64_t before = j->present[at >> 6] & ((1ull << (at & 63)) - 1);
  return j->ranks[at >> 6] + (uint64_t)__builtin_popcountll(before);
}
JG_INLINE JgRow* jg_chain(const JgJoin* j, int64_t key) {
  uint64_t at = (uint64_t)key - (uint64_t)j->low;
  if (at >= j->span) return (JgRow*)0;
  if (j->ranks) {
    if (!(j->present[at >> 6] >> (at & 63) & 1)) return (JgRow*)0;
    at = jg_ranked(j, at);
  }
  return (JgRow*)(j->directory.slots[at] & 0x0000FFFFFFFFFFFFull);
}
JG_INLINE bool jg_is_present(const JgJoin* j, int64_t key) {
  const uint64_t at = (uint64_t)key - (uint64_t)j->low;
  return at < j->range && (j->present[at >> 6] >> (at & 63) & 1);
}

extern "C" {
// Find the chains of n ≤ JG_AHEAD keys: of each, or null where no row has the key; or with `at`, of those that have
// some, and which these are. Returns how many that is. All at once, or else a large table would have each wait for its
// memory. row_size 0: the rows themselves are of no interest.
int jg_find_chains(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first, uint16_t* at);
// The same by hashes of several keys. `told`: there are hashes of `count` of them alone, those that may have rows;
// null: of all.
int jg_find_hashed(const JgJoin* join, const uint64_t* hashes, const uint16_t* told, int count, int n, int row_size,
                   JgRow** first, uint16_t* at);
// Where the build has bits of the keys of number join->told_by: which of n keys some row has. Returns how many.
int jg_tell(const JgJoin* join, const int64_t* keys, int n, uint16_t* told);
}
