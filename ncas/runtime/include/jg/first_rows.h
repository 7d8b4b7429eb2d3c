// For generated programs that keep the first rows of partitions only, in front of a window.
#pragma once
#include "jg/kernel.h"

// The head of a partition; its key follows, then its first rows, the last of them first.
struct JgPart {
  int32_t count;  // of its rows
};
// The slot of a partition; hash 0: an empty slot.
struct JgPartSlot {
  uint64_t hash;
  uint64_t last;  // the first number of its last row, once it has all that are looked for
  JgPart* part;
};

// One thread's partitions with the first rows that have arrived: a window that needs only the first rows has no use for
// later ones. A partition is at the slot of its hash's top bits, or in the next empty slot.
struct JgFirst {
  JgPartSlot* slots;
  uint32_t shift;         // 64 - log2(slots)
  bool is_off;            // it drops too few
  int64_t seen, dropped;  // rows since it was judged
};
enum { JG_FIRST_TRIAL = 1 << 16 };  // rows after which it is

extern "C" {
// A new partition of `size` bytes, zeroed but for its hash; null: there is no room.
JgPartSlot* jg_new_partition(JgTask* task, uint64_t hash, uint64_t size);
// A copy that lives as long as the partitions.
JgStr jg_keep_partition(JgTask* task, JgStr s);
// Ends the search for first rows where too few rows come later.
void jg_judge_first(JgTask* task);
}

JG_INLINE JgPartSlot* jg_next_slot(const JgFirst* f, JgPartSlot* slot) {
  return slot + 1 == f->slots + ((uint64_t)1 << (64 - f->shift)) ? f->slots : slot + 1;
}
JG_INLINE void jg_prefetch_slots(const JgFirst* f, const uint64_t* hashes, int n) {
  for (int i = 0; i < n; i++) __builtin_prefetch(&f->slots[hashes[i] >> f->shift]);
}

template <int Words>
JG_INLINE int jg_compare_words(const uint64_t* a, const uint64_t* b) {
  for (int w = 0; w < Words; w++)
    if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
  return 0;
}
// Return whether the row is among the `most` first ones of a partition so far, or ties with the last of them.
template <int Words>
JG_INLINE bool jg_is_first(const uint64_t (&row)[Words], JgPartSlot* slot, uint64_t* rows, int64_t most, bool ties) {
  int32_t* const count = &slot->part->count;
  int64_t at = 0;
  if (JG_LIKELY(*count == most)) {
    const int c = jg_compare_words<Words>(row, rows);
    if (c >= 0) return ties && c == 0;
  } else {
    memmove(rows + Words, rows, (size_t)(*count)++ * sizeof row);
  }
  for (; at + 1 < *count && jg_compare_words<Words>(row, rows + (at + 1) * Words) < 0; at++)
    memcpy(rows + at * Words, rows + (at + 1) * Words, sizeof row);
  memcpy(rows + at * Words, row, sizeof row);
  if (*count == most) slot->last = rows[0];
  return true;
}
