// For generated programs that keep the first rows of partitions only, in front of a window.
#pragma once
#include "jg/kernel.h"

// One thread's partitions, of which it knows the first rows that have come: later ones are of no use to a window of
// which only the first rows are asked for.
struct JgFirst {
  JgDirectory directory;
  bool is_off;            // it drops too few
  int64_t seen, dropped;  // rows since it was judged
};
enum { JG_FIRST_TRIAL = 1 << 16 };  // rows after which it is

extern "C" {
// Room for a partition of `size` bytes, zeroed; null: there is none.
JgRow* jg_new_partition(JgTask* task, uint64_t hash, uint64_t size);
// A copy that lives as long as the partitions.
JgStr jg_keep_partition(JgTask* task, JgStr s);
// Ends the search for first rows where too few rows come later.
void jg_judge_first(JgTask* task);
}

template <int Words>
JG_INLINE int jg_compare_words(const uint64_t* a, const uint64_t* b) {
  for (int w = 0; w < Words; w++)
    if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
  return 0;
}
// Whether the row is among the `most` first ones so far, or ties with the last of them. `rows` are those there were,
// the last one first.
template <int Words>
JG_INLINE bool jg_is_first(const uint64_t (&row)[Words], uint64_t* rows, int32_t* count, int64_t most, bool ties) {
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
  return true;
}
