// The rows of a batch for which a late column is loaded.
#pragma once
#include <cstdint>

#include "jg/batch.h"

namespace jg {

// The n rows of `sel` (ascending; null: all), each once: where a row has several partners in a join, in `room`.
inline const int32_t* distinct_rows(const int32_t* sel, int* n, int32_t* room) {
  static const int32_t* all = [] {
    auto* rows = new int32_t[JG_BATCH_ROWS];
    for (int i = 0; i < JG_BATCH_ROWS; i++) rows[i] = i;
    return rows;
  }();
  if (!sel) return all;
  int repeated = 0;
  for (int i = 1; i < *n; ++i) repeated += sel[i] == sel[i - 1];
  if (repeated == 0) return sel;
  int kept = 0;
  for (int i = 0; i < *n; ++i) {
    room[kept] = sel[i];
    kept += i + 1 == *n || sel[i + 1] != sel[i];
  }
  *n = kept;
  return room;
}

}  // namespace jg
